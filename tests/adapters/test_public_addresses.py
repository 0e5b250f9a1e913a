import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.adapters.public_addresses import checked_addresses, is_public, networks
from nacre.adapters.public_https import PublicHttpsConnection
from nacre.errors import PrivateAddressError, UnavailableError


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "0.0.0.0", "255.255.255.255", "224.0.0.1", "240.0.0.1", "192.0.2.1", "198.18.0.1",
        "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1",
        "2001:db8::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "2002:7f00:1::",
        "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "::127.0.0.1", "2001::1", "nonsense", "",
    ],
)  # fmt: skip
def test_every_other_address_is_private_also_within_another(address: str) -> None:
    assert not is_public(address)


def test_an_address_of_the_internet_is_public_within_another_too() -> None:
    assert is_public("::ffff:1.1.1.1")
    assert is_public("64:ff9b::101:101")


@given(st.ip_addresses(network="10.0.0.0/8") | st.ip_addresses(network="fc00::/7"))
def test_no_address_of_a_private_network_is_public(address: object) -> None:
    assert not is_public(str(address))


def test_one_private_address_among_others_refuses_the_host() -> None:
    with pytest.raises(PrivateAddressError) as refused:
        checked_addresses("x.test", 443, resolve=lambda _host, _port: ["1.1.1.1", "10.0.0.1"])

    assert "x.test" in str(refused.value)
    assert "10.0.0.1" not in str(refused.value)


def test_an_allowed_network_is_connected_to() -> None:
    found = checked_addresses(
        "x.test",
        443,
        allowed=networks(["10.0.0.0/8"]),
        resolve=lambda _host, _port: ["10.0.0.1", "::ffff:10.0.0.2"],
    )

    assert found == ["10.0.0.1", "::ffff:10.0.0.2"]


def test_what_a_spelling_of_loopback_leads_to_is_refused() -> None:
    for host in ("localhost", "127.1", "2130706433", "0x7f.1", "[::1]"):
        with pytest.raises(PrivateAddressError):
            checked_addresses(host, 443)


def test_a_host_without_an_address_is_unavailable() -> None:
    def nothing(_host: str, _port: int) -> list[str]:
        raise OSError("no such name")

    with pytest.raises(UnavailableError, match=r"'x\.test' has no address"):
        checked_addresses("x.test", 443, resolve=nothing)


def test_a_https_connection_goes_to_no_private_address() -> None:
    connection = PublicHttpsConnection("localhost", timeout=1)

    with pytest.raises(PrivateAddressError):
        connection.request("GET", "/")

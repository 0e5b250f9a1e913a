from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.core.errors import PrivateAddressError, UnavailableError
from nacre.http_client.public_addresses import checked_addresses, is_public, networks


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


def inside(network: str, place: int = 1) -> str:
    return str(ip_network(network)[place])


TEN = inside("10.0.0.0/8")
METADATA = inside("169.254.0.0/16", 169 * 256 + 254)
NOT_PUBLIC = [
    *(
        inside(network)
        for network in (
            *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "100.64.0.0/10"),
            *("192.0.2.0/24", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4", "0.0.0.0/8"),
            *("fe80::/10", "fc00::/7", "ff00::/8", "2001:db8::/32", "2001::/32", "64:ff9b:1::/48"),
            *("fec0::/10",),
        )
    ),
    *(METADATA, f"::ffff:{METADATA}", f"64:ff9b::{METADATA}", f"::{inside('127.0.0.0/8')}"),
    *("::1", "::", "fe80::1%eth0", "fd00:ec2::254", "2002:7f00:1::", "nonsense", ""),
]


@pytest.mark.parametrize("address", NOT_PUBLIC)
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
        checked_addresses("x.test", 443, resolve=lambda _host, _port: ["1.1.1.1", TEN])

    assert "x.test" in str(refused.value)
    assert TEN not in str(refused.value)


def test_an_allowed_network_is_connected_to() -> None:
    addresses = checked_addresses(
        "x.test",
        443,
        allowed=networks(["10.0.0.0/8"]),
        resolve=lambda _host, _port: [TEN, f"::ffff:{TEN}"],
    )

    assert addresses == [TEN, f"::ffff:{TEN}"]


def test_every_spelling_of_loopback_is_refused() -> None:
    for host in ("localhost", "127.1", "2130706433", "0x7f.1", "[::1]"):
        with pytest.raises(PrivateAddressError):
            checked_addresses(host, 443)


def test_a_host_without_an_address_is_unavailable() -> None:
    def nothing(_host: str, _port: int) -> list[str]:
        raise OSError("no such name")

    with pytest.raises(UnavailableError, match=r"'x\.test' has no address"):
        checked_addresses("x.test", 443, resolve=nothing)

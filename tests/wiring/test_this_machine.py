"""Servers that run on this machine, so that their links are followed."""

import socket

import pytest

from nacre.adapters.files.real_paths import resolved
from nacre.firewall.rules.rule import NOWHERE
from nacre.wiring.this_machine import at_host, at_url, is_this_machine


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LocalHost.", "x.localhost", "127.0.0.1", "127.9.9.9", "127.1", "0.0.0.0"),
        *("2130706433", socket.gethostname()),
    ],
)
def test_a_host_that_is_this_machine_is_known(host: str) -> None:
    assert is_this_machine(host)


@pytest.mark.parametrize(
    "host", ["", "example.org", "192.0.2.1", "2001:db8::1", "localhost.example.org", "\0", "a b"]
)
def test_any_other_host_is_elsewhere(host: str) -> None:
    assert not is_this_machine(host)
    assert at_host(host) == NOWHERE


def test_an_ipv6_address_of_this_machine_is_known() -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    assert is_this_machine("::1")
    assert at_url("http://[::1]:8080/mcp").is_local


def test_the_links_of_a_server_at_an_own_url_are_followed() -> None:
    where = at_url("http://127.0.0.1:8080/mcp")

    assert where.is_local
    assert where.follow is resolved
    assert where.home is None
    assert at_url("http://[bad") == at_url("") == at_url("https://example.org/mcp") == NOWHERE

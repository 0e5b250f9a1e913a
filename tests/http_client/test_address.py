"""Addresses of remote servers, as their owners write them and as the servers themselves do."""

import pytest

from nacre.core.errors import InvalidInputError
from nacre.http_client.address import Address, parse_address

HERE = Address(is_tls=True, host="api.example", port=443, target="/mcp/sse")


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("http://localhost:8080/mcp", "localhost:8080"),
        ("https://api.example", "api.example"),
        ("https://my_server.local/mcp", "my_server.local"),
        ("https://b\u00fccher.example/mcp", "xn--bcher-kva.example"),
        ("http://[::1]:8080/mcp", "[::1]:8080"),
    ],
)
def test_an_address_is_read(url: str, authority: str) -> None:
    assert parse_address(url).authority == authority


@pytest.mark.parametrize("host", ["a b", "a\x01b", 'a"b', "a\\b", "a%0d%0ab", "\u2024", "a,b", "-"])
def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(InvalidInputError, match=r"host name is not valid|not a URL"):
        parse_address(f"http://{host}/mcp")


@pytest.mark.parametrize("said", ["//[", "https://[::1/x", "//api.example:99999999/x"])
def test_a_server_that_names_what_is_no_url_is_refused(said: str) -> None:
    with pytest.raises(InvalidInputError):
        HERE.resolve(said)

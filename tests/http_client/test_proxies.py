"""Which connections go through which proxy."""

import pytest

from nacre.core.errors import ConfigurationError
from nacre.http_client.address import parse_address
from nacre.http_client.proxies import Proxies, is_excepted
from nacre.wiring.outgoing import outgoing_of
from nacre.wiring.settings import Settings

PROXY = "http://ann:s3cret%40@proxy.example:3128"


@pytest.mark.parametrize(
    ("exceptions", "host", "port", "is_direct"),
    [
        ("", "a.example", 443, False),
        ("*", "a.example", 443, True),
        ("b.example, a.example", "a.example", 443, True),
        ("A.Example", "a.example", 443, True),
        ("example", "a.example", 443, True),
        (".example", "a.example", 443, True),
        ("*.example", "a.example", 443, True),
        ("a.example", "ba.example", 443, False),
        ("xample", "a.example", 443, False),
        ("a.example", "a.example.evil", 443, False),
        ("a.example:443", "a.example", 443, True),
        ("a.example:80", "a.example", 443, False),
        ("a.example", "a.example.", 443, True),
        ("192.0.2.1", "192.0.2.1", 443, True),
        ("192.0.2.1:80", "192.0.2.1", 443, False),
        ("192.0.2.0/24", "192.0.2.9", 443, True),
        ("192.0.2.0/24", "198.51.100.1", 443, False),
        ("192.0.2.0/24", "ten.example", 443, False),
        ("fd00::/8", "fd00::1", 443, True),
        ("[fd00::1]:443", "fd00::1", 443, True),
        ("fd00::1", "fd00::1", 443, True),
        ("192.0.2.0/24", "::ffff:192.0.2.1", 443, True),
        ("192.0.2.0/24", "::ffff:198.51.100.1", 443, False),
        ("192.0.2.1:443", "::ffff:c000:201", 443, True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1", 443, True),
        ("::ffff:192.0.2.0/120", "192.0.2.1", 443, True),
        ("bücher.de", "xn--bcher-kva.de", 443, True),
        (".Bücher.de:443", "www.xn--bcher-kva.de", 443, True),
        ("xn--bcher-kva.de", "xn--bcher-kva.de", 443, True),
        ("ü" * 70, "a.example", 443, False),
        ("http://a.example", "a.example", 443, True),
        ("https://a.example/path", "www.a.example", 443, True),
        ("http://a.example:80/", "a.example", 443, False),
        ("http://[fd00::1]:443/", "fd00::1", 443, True),
        ("http://", "a.example", 443, False),
        ("2.1", "192.0.2.1", 443, False),
        (",, ,", "a.example", 443, False),
        ("not/a/network", "192.0.2.1", 443, False),
    ],
)
def test_no_proxy_lists_hosts_that_are_reached_directly(
    exceptions: str, host: str, port: int, *, is_direct: bool
) -> None:
    assert is_excepted(host, port, exceptions) is is_direct


@pytest.mark.parametrize(
    "host", ["localhost", "x.localhost", "127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]"]
)
def test_this_machine_is_reached_directly(host: str) -> None:
    proxies = Proxies(PROXY, PROXY)
    assert proxies.route(parse_address(f"http://{host}:80/")) is None
    assert proxies.route(parse_address(f"https://{host}:80/")) is None


def test_credentials_are_decoded_and_never_shown() -> None:
    proxies = Proxies(PROXY, "")
    proxy = proxies.route(parse_address("https://a.example/"))
    assert proxy is not None
    assert (proxy.host, proxy.port, proxy.user, proxy.password) == (
        *("proxy.example", 3128, "ann"),
        "s3cret@",
    )
    assert "s3cret" not in f"{proxy!r}{proxies!r}"
    assert proxies.route(parse_address("http://a.example/")) is None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("socks5h://ann:s3cret@proxy.example:1080", "names a SOCKS proxy"),
        ("ftp://ann:s3cret@proxy.example", "not of the form"),
        ("http://ann:s3cret@", "not of the form"),
        ("http://ann:s3cret@proxy.example:port", "not of the form"),
        ("http://[s3cret", "not of the form"),
        ("http://s3cret:12/34@proxy.example:8080", "not of the form"),
        ("http://s3cret:12?34@proxy.example:8080", "not of the form"),
        ("http://s3cret:12#34@proxy.example:8080", "not of the form"),
        ("s3cret:12/34@proxy.example", "not of the form"),
        ("http://s3cret:99?@proxy.example", "not of the form"),
        ("http://proxy.example:3128/s3cret", "not of the form"),
        ("http://proxy.example:3128?s3cret", "not of the form"),
        ("http://proxy.example:3128/#s3cret", "not of the form"),
        ("http://proxy.example:3128?", "not of the form"),
        ("http://proxy.example:3128#", "not of the form"),
    ],
)
def test_an_unusable_proxy_is_an_error_that_does_not_quote_it(url: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason) as raised:
        Proxies(url, "").route(parse_address("https://a.example/"))
    assert "HTTPS_PROXY or ALL_PROXY" in str(raised.value)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("end", ["", "/"])
def test_a_slash_may_end_a_proxy(end: str) -> None:
    proxy = Proxies(f"{PROXY}{end}").route(parse_address("https://a.example/"))
    assert proxy is not None
    assert proxy.authority == "proxy.example:3128"


def environment(**variables: str) -> Proxies:
    return outgoing_of(Settings.from_environment({"HOME": "/h", **variables})).proxies


def test_the_environment_names_the_proxies() -> None:
    secure, plain = parse_address("https://a.example/"), parse_address("http://a.example/")

    def hosts(proxies: Proxies) -> list[str | None]:
        routes = (proxies.route(secure), proxies.route(plain))
        return [None if route is None else route.host for route in routes]

    assert hosts(environment()) == [None, None]
    assert hosts(environment(HTTPS_PROXY="s:1", HTTP_PROXY="p:1")) == ["s", "p"]
    assert hosts(environment(https_proxy="s:1", HTTPS_PROXY="other:1")) == ["s", None]
    assert hosts(environment(https_proxy="", HTTPS_PROXY="other:1")) == [None, None]
    assert hosts(environment(no_proxy="", NO_PROXY="*", HTTP_PROXY="p:1")) == [None, "p"]
    assert hosts(environment(ALL_PROXY="all:1", http_proxy="p:1")) == ["all", "p"]
    assert hosts(environment(all_proxy="all:1", no_proxy="a.example")) == [None, None]
    # A caller of a CGI program chooses this variable.
    assert hosts(environment(HTTP_PROXY="evil:1", REQUEST_METHOD="GET")) == [None, None]

"""Laws of addresses and resources, whatever is asked."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.access.oauth.client_metadata import document_host
from nacre.access.oauth.redirects import checked_redirect, is_loopback, is_registered
from nacre.access.oauth.server_metadata import part_of_resource
from nacre.access.tokens.token_format import form, kind_of
from nacre.core.errors import OAuthError
from nacre.protocol.http.server_address import base_of, resource_of
from nacre.web.page_session import own_path

BASE = "https://nacre.example"
BEING = "11111111-1111-4111-8111-111111111111"
pieces = st.sampled_from(
    [
        *("http", "https", "HTTPS", "javascript", "data", "cursor", ":", "/", "//", "\\", "@", "#"),
        *("?", "*", " ", "\n", "%2f", "%00", "..", "localhost", "127.0.0.1", "[::1]", ":80", ":x"),
        *("[", "]"),
        *("evil.example", "nacre.example", "a", "é", "\u202e", "0x7f000001", "user:pw@", "mcp"),
        *("callback", BEING, "<", ">", '"', "&", "=", "xn--a", ".", "-", "_"),
    ]
)
texts = st.lists(pieces, max_size=9).map("".join) | st.text(max_size=40)


@given(texts)
def test_an_address_that_is_taken_is_read_alike_by_everybody(text: str) -> None:
    try:
        uri = checked_redirect(text)
    except OAuthError:
        return
    parts = urlsplit(uri)
    assert uri.isascii()
    assert uri.isprintable()
    assert not set(uri) & set(" #*<>\\\"'`{|}^") - {"'"}
    assert "@" not in parts.netloc
    assert parts.scheme not in ("javascript", "data", "file")
    if parts.scheme == "http":
        assert parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme == "https":
        assert parts.hostname


@given(texts, texts)
def test_an_answer_goes_to_what_was_registered_or_to_the_own_machine(left: str, right: str) -> None:
    try:
        asked, registered = checked_redirect(left), checked_redirect(right)
    except OAuthError:
        return
    if is_registered(asked, (registered,)):
        assert asked == registered or (is_loopback(asked) and is_loopback(registered))
    if asked == registered:
        assert is_registered(asked, (registered,))


@given(texts)
def test_a_document_is_at_a_public_name_and_nowhere_else(text: str) -> None:
    try:
        host = document_host(text)
    except OAuthError:
        return
    assert text.startswith(f"https://{host}/")
    assert host == host.lower()
    assert any(letter.isalpha() for letter in host.rpartition(".")[2])
    assert urlsplit(text).hostname == host


@given(texts)
def test_a_resource_is_this_servers_or_refused(text: str) -> None:
    try:
        being = part_of_resource(text, BASE)
    except OAuthError:
        return
    named = resource_of(BASE, being)
    assert text.lower().startswith(BASE)
    assert text.lower().rstrip("/") in (BASE, named)


@given(texts)
def test_one_goes_on_to_a_path_of_ours(text: str) -> None:
    path = own_path(text)
    parts = urlsplit(path)

    assert path.startswith("/")
    assert not path.startswith("//")
    assert (parts.scheme, parts.netloc) == ("", "")
    assert "\n" not in path


@given(texts)
def test_a_host_that_is_no_name_has_no_address(text: str) -> None:
    base = base_of(text, public_url="", scheme="https")
    if base is not None:
        parts = urlsplit(base)
        assert (parts.path, parts.query, parts.fragment) == ("", "", "")
        assert base == f"https://{text.lower()}"
        assert "@" not in base


@given(st.integers(0, 2**256 - 1))
def test_every_token_of_256_bits_is_well_formed(bits: int) -> None:
    assert kind_of(form("btr", bits)) == "btr"


@pytest.mark.parametrize(
    ("host", "base"),
    [
        ("[::1]:8080", "https://[::1]:8080"),
        ("Nacre.Example", "https://nacre.example"),
        ("a:65536", None),
        ("[:1::1]", None),
        ("[::1]:", None),
        ("[1.2.3.4]", None),
    ],
)
def test_an_address_that_others_could_not_read_is_none(host: str, base: str | None) -> None:
    assert base_of(host, public_url="", scheme="https") == base

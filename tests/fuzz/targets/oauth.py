"""What clients and callers say of themselves: what is taken, browsers read as we do."""

import json
import re
from urllib.parse import urlsplit

from nacre.access.oauth.authorization_requests import read_access_request, requested_redirect
from nacre.access.oauth.client_metadata import document_host, read_document, read_request
from nacre.access.oauth.clients import OAuthClient
from nacre.access.oauth.redirects import (
    LOOPBACK,
    checked_redirect,
    displayed_host,
    is_private_scheme,
    is_registered,
)
from nacre.access.oauth.server_metadata import part_of_resource, requested_scopes
from nacre.access.tokens.token_check import admission, bearer_token
from nacre.access.tokens.token_format import form, hint, kind_of
from nacre.core.errors import InvalidInputError, OAuthError
from nacre.core.token_prefixes import API
from nacre.protocol.http.allowed_origins import Fences, hostname
from nacre.protocol.http.server_address import base_of, resource_of
from nacre.protocol.principal import READ
from nacre.web.forms import parse_fields

BASE = "https://nacre.example"
BEING = "0191f6a0-0000-7000-8000-000000000001"
REGISTERED = ("https://app.example/cb", "http://127.0.0.1:8080/cb?x=1", "app.own:/cb")
CLIENT = OAuthClient("c", "App", REGISTERED, "none")
CHALLENGE = "a" * 43
FENCES = Fences(frozenset(("localhost", "[::1]")), frozenset(("localhost",)))
TOKEN = form(API, 1 << 200)
# As browsers take a URL apart: a backslash is a slash, tabs and ends of lines are nothing.
_BROWSER = re.compile(r"([a-z][a-z0-9+.-]*):/*([^/?#\\]*)", re.IGNORECASE)
LENGTH = 300
SEEDS = (
    b"",
    *(b"\0" + each.encode() for each in REGISTERED),
    *(b"\0" + each for each in (b"http://localhost:1@evil.example/cb", b"https://a\\@b/c",
                                 b"http://[::1]:99/cb", b"javascript:alert(1)", b"https:///a",
                                 b"http://127.0.0.1:/cb?x=1", b"com.example:/x", b"HTTPS://a/b")),
    b"\1" + json.dumps({"redirect_uris": list(REGISTERED), "client_name": "a\u202e b"}).encode(),
    b'\1{"redirect_uris":["https://a.example/"],"grant_types":["authorization_code"]}',
    b"\2https://app.example/client.json",
    b"\2https://app.example/%2e%2e/client.json",
    b"\3redirect_uri=https%3A%2F%2Fapp.example%2Fcb&response_type=code&code_challenge="
    + CHALLENGE.encode() + b"&code_challenge_method=S256&resource=https%3A%2F%2Fnacre.example%2Fmcp"
    b"&scope=mcp%3Aread&state=%F0%9F%8C%8A",
    b"\3a=1&a=2&%ff=%zz",
    b"\4Bearer " + TOKEN.encode(),
    b"\4bearer\t" + TOKEN.encode(),
    b"\5localhost:8000",
    b"\5[::1]:80",
    b"\5a.example:99999/x@[",
    b"\6" + f"{BASE}/mcp/{BEING}".encode(),
    b"\6https://[nacre",
)  # fmt: skip


def one(data: bytes) -> None:
    """Take the input for what its first byte says."""
    kind, rest = (data[:1] or b"\0")[0] % 7, data[1:]
    text = rest.decode("utf-8", "surrogateescape")
    try:
        match kind:
            case 0:
                _redirect(text)
            case 1:
                _metadata(rest)
            case 2:
                _document_address(text)
            case 3:
                _fields(rest.decode("latin-1"))
            case 4:
                _token(text)
            case 5:
                _host(text)
            case _:
                _resource(text)
    except OAuthError as error:
        assert error.code.isidentifier()
        assert len(str(error)) < 300
    except InvalidInputError as error:
        str(error).encode()


def _redirect(text: str) -> None:
    is_listed = text in REGISTERED
    assert checked_redirect(text) == text
    parts = urlsplit(text)
    found = _BROWSER.match(text)
    assert found is not None
    host = re.sub(r":[0-9]*$", "", found[2]).strip("[]").lower()
    assert "@" not in parts.netloc
    assert displayed_host(text).isprintable()
    if is_private_scheme(text):
        assert found[1].lower() not in ("http", "https", "javascript", "data", "file")
    else:
        assert host == (parts.hostname or "")
        assert host
        if found[1] == "http":
            assert host in LOOPBACK
    if is_registered(text, REGISTERED) and not is_listed:
        assert host == "127.0.0.1" or host in LOOPBACK
        assert (parts.path, parts.query) == ("/cb", "x=1")


def _metadata(raw: bytes) -> None:
    said = read_request(raw)
    for uri in said.redirect_uris:
        assert checked_redirect(uri) == uri
    assert said.name.isprintable()
    json.dumps(said.as_registration_response()).encode()
    document = json.loads(raw) | {"client_id": "https://app.example/c"}
    document |= {"token_endpoint_auth_method": "none"}
    document.pop("client_secret", None)
    kept = read_document(json.dumps(document).encode(), "https://app.example/c")
    assert kept.redirect_uris == said.redirect_uris


def _document_address(text: str) -> None:
    host = document_host(text)
    found = _BROWSER.match(text)
    assert found is not None
    assert (found[1], found[2]) == ("https", host)
    assert host == host.lower()
    assert re.fullmatch(r"[a-z0-9.-]+\.[a-z][a-z0-9-]*", host)
    assert not {"..", "."} & set(urlsplit(text).path.split("/"))


def _fields(text: str) -> None:
    fields = parse_fields(text)
    json.dumps(fields).encode()
    for name, value in fields.items():
        (name + value).encode()
    address = requested_redirect(fields, CLIENT)
    assert is_registered(address, CLIENT.redirect_uris)
    asked = read_access_request(fields, CLIENT, redirect_uri=address, base=BASE)
    assert READ in asked.scopes
    assert asked.resource == resource_of(BASE, asked.being_id)


def _token(text: str) -> None:
    hint(text)
    kind = kind_of(text)
    assert kind is None or form(kind, 0)[:4] == text[:4]
    asked: list[str] = []

    def lookup(sha256: str) -> None:
        asked.append(sha256)

    assert admission(text, lookup, now=0) == {"auth": "invalid"}
    found = bearer_token(text)
    assert bool(asked) == (found is not None and kind_of(found) is not None)


def _host(text: str) -> None:
    base = base_of(text, public_url="", scheme="https")
    if base is not None:
        parts = urlsplit(base)
        assert parts.path == parts.query == parts.fragment == ""
        assert "@" not in parts.netloc
    name = hostname(text)
    try:
        FENCES.check({"host": text})
    except Exception as error:
        if type(error).__name__ != "ForbiddenError":
            raise
        assert name not in ("localhost", "[::1]")
        return
    assert re.fullmatch(r"(?:localhost|\[::1\])(?:[:/\]].*)?", text, re.DOTALL | re.IGNORECASE)


def _resource(text: str) -> None:
    assert requested_scopes(text)
    being = part_of_resource(text, BASE)
    assert "nacre.example" in text.lower()
    assert being is None or being in text

"""Thousands of requests that no client would send: never a fault of ours, never a way in."""

import json
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.scaffolding.oauth import asking, challenge, connected, register
from tests.scaffolding.web_site import Browser, Site, site

pytestmark = pytest.mark.slow

PATHS = [
    *("/mcp", "/authorize", "/token", "/register", "/revoke", "/sign-in", "/sign-out", "/account"),
    *("/account/password", "/account/sessions/end", "/", "/healthz", "/static/nacre.css"),
    *("/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"),
    *("/.well-known/oauth-protected-resource/mcp", "/.well-known/openid-configuration"),
    *("/.well-known/jwks.json", "/mcp/x", "/.well-known/oauth-protected-resource/mcp/x"),
]
NAMES = [
    *("client_id", "redirect_uri", "response_type", "code_challenge", "code_challenge_method"),
    *("state", "scope", "resource", "grant_type", "code", "code_verifier", "refresh_token"),
    *("token", "client_secret", "csrf", "then", "secret", "owner", "password", "again", "request"),
    *("decision", "being", "session", "remove", "everywhere", "redirect_uris", "client_name"),
]
ODD = [
    *("", "x", "\x00", "\r\nX: y", "é", "\ud800", "%", "%zz", "../", "//", "\\", '"', "<script>"),
    *("null", "-1", "1e999", "a" * 3000, "[]", "{}", "https://evil.example", "javascript:x"),
    *("http://127.0.0.1:33418/callback", "code", "S256", "authorization_code", "refresh_token"),
    *("mcp:read", "allow", "full", "me", "/account", "bos_" + "0" * 49, "client_" + "0" * 16),
]
KINDS = ["application/x-www-form-urlencoded", "application/json", "text/plain", "", "x;;", "é"]


def body_of(rng: Random, known: list[str]) -> bytes:
    values = [*ODD, *known]
    fields = {rng.choice(NAMES): rng.choice(values) for _ in range(rng.randrange(9))}
    match rng.randrange(5):
        case 0:
            return rng.randbytes(rng.randrange(60))
        case 1:
            listed: dict[str, Any] = {
                name: rng.choice([value, [value], {"x": value}, 1, None, True])
                for name, value in fields.items()
            }
            return json.dumps(listed).encode("utf-8", "surrogatepass")
        case _:
            pairs = list(fields.items())
            if pairs and rng.random() < 0.2:
                pairs.append(rng.choice(pairs))
            return urlencode(pairs, errors="surrogatepass").encode()


@pytest.mark.parametrize("front", ["laptop", "gateway"])
def test_no_request_is_answered_by_a_fault(front: str) -> None:
    rng = Random(20261118)
    with site(front) as place:
        browser = Browser(place)
        browser.sign_in()
        client_id, tokens = connected(place, browser)
        other = register(place)["client_id"]
        page = browser.get(asking(place, other))
        known = [client_id, other, tokens.access, tokens.refresh, place.being, challenge()]
        known += [*browser.cookies.values(), page.text.partition('value="')[2].partition('"')[0]]
        for _ in range(3000):
            place.time.pass_(seconds=rng.randrange(60))
            one_request(place, browser, rng, known)

        assert place.calls == []
        assert '"level": "error"' not in place.log.getvalue()


def one_request(place: Site, browser: Browser, rng: Random, known: list[str]) -> None:
    path, method = rng.choice(PATHS), rng.choice(["GET", "POST", "POST", "PUT", "DELETE", "HEAD"])
    if rng.random() < 0.5:
        query = body_of(rng, known).decode("latin-1")
        path += "?" + "".join(letter for letter in query if "!" <= letter <= "~" and letter != "#")
    headers = {"content-type": rng.choice(KINDS), "accept": rng.choice(["text/html", "*/*", ""])}
    if rng.random() < 0.5:
        headers["cookie"] = "; ".join(f"{n}={v}" for n, v in browser.cookies.items())
    if rng.random() < 0.3:
        value = rng.choice([*ODD, *known]).encode("latin-1", "replace").decode("latin-1")
        headers["authorization"] = rng.choice(["Basic ", "Bearer ", ""]) + value
    if rng.random() < 0.2:
        headers["origin"] = rng.choice(["null", place.base, "https://evil.example", "x"])
    body = b"" if method in ("GET", "HEAD") else body_of(rng, known)
    answer = place.send(method, path, body=body, headers=headers)

    assert answer.status < 500, (method, path, headers, body, answer.text)
    assert answer.status != 200 or "evil" not in answer["location"]
    assert "\r" not in str(answer.pairs)
    assert place.authority.beings.get(place.being) is not None

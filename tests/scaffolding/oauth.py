"""An OAuth client and its owner, as a test drives them through a place's front."""

import base64
import hashlib
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.scaffolding.web_site import Answer, Browser, Site

REDIRECT = "http://127.0.0.1:33418/callback"
VERIFIER = "v" * 43


def challenge(verifier: str = VERIFIER) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@dataclass(frozen=True)
class Tokens:
    """What a client was given."""

    access: str
    refresh: str
    scope: str


def register(place: Site, **changes: Any) -> Any:
    """Return what a new public client is told."""
    body = {
        "client_name": "Editor",
        "redirect_uris": [REDIRECT],
        "token_endpoint_auth_method": "none",
        **changes,
    }
    answer = place.post_json("/register", body)
    assert answer.status == 201, answer.text
    return answer.json


def asking(place: Site, client_id: str, **changes: str | None) -> str:
    """Return the address to which a client sends its owner's browser."""
    fields = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": REDIRECT,
        "state": "xyz",
        "code_challenge": challenge(),
        "code_challenge_method": "S256",
        "resource": f"{place.base}/mcp",
        "scope": "mcp:read mcp:write",
        **changes,
    }
    return "/authorize?" + urlencode({name: v for name, v in fields.items() if v is not None})


def told(answer: Answer) -> dict[str, str]:
    """Return what a redirect tells the client, with the address it goes to."""
    assert answer.status == 303, (answer.status, answer.text)
    parts = urlsplit(answer["location"])
    fields = {name: values[0] for name, values in parse_qs(parts.query).items()}
    return {"to": f"{parts.scheme}://{parts.netloc}{parts.path}", **fields}


def consent(browser: Browser, target: str, **changes: str) -> Answer:
    """Let the owner look at a request and allow it."""
    page = browser.get(target)
    assert page.status == 200, (page.status, page["location"], page.text)
    return browser.submit(page, "/authorize", **{"decision": "allow", **changes})


def code_for(browser: Browser, client_id: str, **changes: str | None) -> str:
    return told(consent(browser, asking(browser.site, client_id, **changes)))["code"]


def exchange(place: Site, client_id: str, code: str, **changes: str | None) -> Answer:
    fields = {
        "grant_type": "authorization_code",
        "client_id": client_id,
        "code": code,
        "redirect_uri": REDIRECT,
        "code_verifier": VERIFIER,
        **changes,
    }
    return place.post_form("/token", {n: v for n, v in fields.items() if v is not None})


def renew(place: Site, client_id: str, refresh: str, **changes: str) -> Answer:
    fields = {
        "grant_type": "refresh_token",
        "client_id": client_id,
        "refresh_token": refresh,
        **changes,
    }
    return place.post_form("/token", fields)


def tokens_of(answer: Answer) -> Tokens:
    assert answer.status == 200, answer.text
    found = answer.json
    assert found["token_type"] == "Bearer"
    return Tokens(found["access_token"], found["refresh_token"], found["scope"])


def connected(place: Site, browser: Browser | None = None, **changes: str) -> tuple[str, Tokens]:
    """Return a client that its owner has let in, and its tokens."""
    if browser is None:
        browser = Browser(place)
        assert browser.sign_in().status == 303
    client_id = register(place)["client_id"]
    answer = consent(browser, asking(place, client_id), **changes)
    return client_id, tokens_of(exchange(place, client_id, told(answer)["code"]))


def challenge_of(answer: Answer) -> str:
    """Return the challenge of a refusal, under the name that the front gives its header."""
    return answer["www-authenticate"] or answer["x-amzn-remapped-www-authenticate"]


def fields_of(header: str) -> dict[str, str]:
    """Return the fields of a Bearer challenge."""
    assert header.startswith("Bearer "), header
    return dict(re.findall(r'(\w+)="([^"]*)"', header))

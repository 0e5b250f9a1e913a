"""Attacks on the registration of clients."""

from typing import Any

import pytest

from nacre.core.limits import MAX_REDIRECT_URIS, REGISTRATIONS_A_MINUTE
from tests.end_to_end.attacks.rows import attack
from tests.scaffolding.oauth import asking, consent, exchange, register, tokens_of, told
from tests.scaffolding.web_site import Browser, Site

REFUSED = [
    *("javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "file:///etc/passwd"),
    *("intent://x#Intent;end", "vbscript:x", "about:blank", "blob:https://a.example/x"),
    *(
        "http://evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "http://localhost@evil.example",
    ),
    *("http://localhost:80@evil.example/", "https://user@a.example/cb", "https://u:p@a.example/cb"),
    *("https://a.example/cb#frag", "https://a.example/cb#", "https://*.example/cb"),
    *("https://a.example/*", "//a.example/cb", "/cb", "cb", "", " https://a.example/cb"),
    *("https://a.example/c b", "https://a.example/cb\n", "https://a.example/\\@evil.example"),
    *("https://", "https:///cb", "https:cb", "http:127.0.0.1/cb", "https://a.example:x/cb"),
    *("HTTPS://a.example/cb", "ms-msdt:/x", "ws://a.example/", "mailto:a@b.example", "x:cb"),
    *("https://a.éxample/cb", "https://[::1", "http://0x7f000001/cb", "http://2130706433/cb"),
    *("http://[::ffff:127.0.0.1]/cb", "http://127.1/cb", "http://0.0.0.0/cb"),
    "https://a.example/" + "x" * 5000,
]
TAKEN = [
    *("http://localhost:1234/callback", "http://127.0.0.1/", "http://[::1]:9/cb?x=1"),
    *("https://claude.ai/api/mcp/auth_callback", "https://a.example:8443/cb?x=1&y=2"),
    *("cursor://anysphere.cursor-mcp/oauth/callback", "vscode://vscode.github-authentication/x"),
    *("com.example.app:/callback", "https://vscode.dev/redirect"),
]


@attack("D3")
def test_an_address_that_a_browser_must_not_be_sent_to_is_refused(place: Site) -> None:
    for uri in REFUSED:
        place.time.pass_(minutes=1)
        answer = place.post_json(
            "/register", {"redirect_uris": [uri], "token_endpoint_auth_method": "none"}
        )

        assert (answer.status, answer.json["error"]) == (400, "invalid_redirect_uri"), uri
        assert answer["cache-control"] == "no-store"


@attack("D3")
def test_one_dangerous_address_among_good_ones_is_enough(place: Site) -> None:
    answer = place.post_json("/register", {"redirect_uris": [TAKEN[0], "javascript:alert(1)"]})

    assert answer.status == 400


@attack("D4")
@pytest.mark.parametrize("uri", TAKEN)
def test_the_addresses_that_clients_register_are_taken_and_work(place: Site, uri: str) -> None:
    client_id = register(place, redirect_uris=[uri])["client_id"]
    browser = Browser(place)
    browser.sign_in()
    answer = consent(browser, asking(place, client_id, redirect_uri=uri))
    code = answer["location"].partition("code=")[2].partition("&")[0]

    assert answer["location"].startswith(uri)
    assert tokens_of(exchange(place, client_id, code, redirect_uri=uri)).access


def test_a_registration_is_answered_in_full(place: Site) -> None:
    told = register(
        place, application_type="native", scope="everything", logo_uri="https://a.example/x"
    )

    assert told.pop("client_id").startswith("client_")
    assert told.pop("client_id_issued_at") == int(place.time().timestamp())
    assert told == {
        "client_name": "Editor",
        "redirect_uris": ["http://127.0.0.1:33418/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "scope": "mcp:read mcp:write",
        "application_type": "native",
    }


GOOD = {"redirect_uris": [TAKEN[0]]}


@attack("D5")
@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{", "invalid_client_metadata"),
        (b"", "invalid_client_metadata"),
        (b"[]", "invalid_client_metadata"),
        (b"null", "invalid_client_metadata"),
        (b"\xff", "invalid_client_metadata"),
        (b'{"redirect_uris":["http://localhost/"],"redirect_uris":[]}', "invalid_client_metadata"),
        (b"[" * 5000, "invalid_client_metadata"),
        ({}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": "http://localhost/"}, "invalid_redirect_uri"),
        ({"redirect_uris": [1]}, "invalid_redirect_uri"),
        ({"redirect_uris": [None]}, "invalid_redirect_uri"),
        ({"redirect_uris": [["http://localhost/"]]}, "invalid_redirect_uri"),
        ({"redirect_uris": [TAKEN[0]] * (MAX_REDIRECT_URIS + 1)}, "invalid_redirect_uri"),
        ({"redirect_uris": [TAKEN[0]] * 50}, "invalid_redirect_uri"),
        ({**GOOD, "token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
        ({**GOOD, "token_endpoint_auth_method": 1}, "invalid_client_metadata"),
        ({**GOOD, "client_name": {"en": "x"}}, "invalid_client_metadata"),
        ({**GOOD, "grant_types": ["client_credentials"]}, "invalid_client_metadata"),
        ({**GOOD, "grant_types": "authorization_code"}, "invalid_client_metadata"),
        ({**GOOD, "response_types": ["token"]}, "invalid_client_metadata"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_malformed_registration_is_refused(place: Site, body: Any, error: str) -> None:
    answer = place.post_json("/register", body)

    assert (answer.status, answer.json["error"]) == (400, error)


@attack("D5")
def test_a_registration_that_is_too_long_is_refused(place: Site) -> None:
    answer = place.post_json("/register", {**GOOD, "client_name": "x" * 200_000})
    more = place.post_json("/register?limit=999999999", {**GOOD, "client_name": "x" * 200_000})

    assert (answer.status, more.status) == (413, 413)


@attack("D6")
def test_too_many_registrations_have_to_wait(place: Site) -> None:
    answers = [place.post_json("/register", GOOD) for _ in range(REGISTRATIONS_A_MINUTE + 2)]
    waits = int(answers[-1]["retry-after"])
    place.time.pass_(seconds=waits)
    later = place.post_json("/register", GOOD)

    assert [answer.status for answer in answers] == [201] * REGISTRATIONS_A_MINUTE + [429, 429]
    assert 0 < waits <= 60
    assert later.status == 201


@attack("D6")
def test_attempts_are_counted_in_the_store_so_that_a_cold_start_forgets_nothing(
    place: Site,
) -> None:
    for _ in range(REGISTRATIONS_A_MINUTE):
        place.post_json("/register", GOOD)
    again = place.authority.limits.__class__(place.tokens, clock=place.time)
    with pytest.raises(Exception, match="too many registrations"):
        again.take("registrations", "203.0.113.1", most=REGISTRATIONS_A_MINUTE, seconds=60)


def test_hostile_text_in_a_registration_stays_text(place: Site) -> None:
    name = "<img src=x onerror=alert(1)>\u202e\x1b[31m\r\nSet-Cookie: a=b"
    answer = place.post_json("/register", {**GOOD, "client_name": name})
    made = told_name = answer.json["client_name"]

    assert answer.status == 201
    assert made == told_name
    assert all(letter.isprintable() for letter in made)
    assert told(consented(place, answer.json["client_id"]))["code"]


def consented(place: Site, client_id: str) -> Any:
    browser = Browser(place)
    browser.sign_in()
    return consent(browser, asking(place, client_id, redirect_uri=TAKEN[0]))

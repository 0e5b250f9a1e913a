"""Attacks on the owner's decision: requests, sign-in, and the page that asks."""

from contextlib import suppress
from html.parser import HTMLParser
from urllib.parse import quote, urlencode

import pytest

from nacre.core.errors import InvalidInputError, RateLimitedError
from nacre.core.limits import CONSENT_SECONDS, SIGN_IN_ATTEMPTS
from tests.end_to_end.attacks.rows import attack
from tests.scaffolding.oauth import (
    REDIRECT,
    asking,
    challenge,
    code_for,
    connected,
    consent,
    exchange,
    register,
    tokens_of,
    told,
)
from tests.scaffolding.web_site import Answer, Browser, Site, form_of


@pytest.fixture
def browser(place: Site) -> Browser:
    made = Browser(place)
    assert made.sign_in().status == 303
    return made


@attack("A1")
@pytest.mark.parametrize(
    "client_id",
    ["client_none", "", "x", "client_" + "0" * 16, "é", "a" * 5000, "client_\x00"],
    ids=lambda value: repr(value)[:30],
)
def test_an_unknown_client_gets_a_page_and_nobody_is_sent_anywhere(
    place: Site, client_id: str
) -> None:
    answer = Browser(place).get(asking(place, client_id))

    assert answer.status == 400
    assert not answer["location"]
    assert "unknown here" in answer.text


OTHERS = [
    *("http://127.0.0.1:33418/other", "http://127.0.0.1:33418/callback/", REDIRECT + "?x=1"),
    *(REDIRECT.replace("callback", "Callback"), REDIRECT + "#x", "http://localhost:33418/callback"),
    *("http://u@127.0.0.1:33418/callback", "https://127.0.0.1:33418/callback"),
    *("http://127.0.0.1:33418/../callback", "http://127.0.0.1:33418/%63allback"),
    *("https://evil.example/callback", "javascript:alert(1)", "//evil.example", "", "x"),
    *("http://127.0.0.1:33418@evil.example/callback", "http://[::1]:33418/callback"),
    *("http://127.0.0.1:33418\\@evil.example/callback", "HTTP://127.0.0.1:33418/callback"),
]


@attack("A2")
def test_an_address_that_was_not_registered_gets_nothing(browser: Browser, place: Site) -> None:
    client_id = register(place)["client_id"]
    for uri in OTHERS:
        answer = browser.get(asking(place, client_id, redirect_uri=uri))

        assert (answer.status, answer["location"]) == (400, ""), uri
        assert "evil" not in answer.text


@attack("A2")
def test_a_request_without_an_address_gets_a_page(browser: Browser, place: Site) -> None:
    answer = browser.get(asking(place, register(place)["client_id"], redirect_uri=None))

    assert (answer.status, answer["location"]) == (400, "")


@attack("A3")
@pytest.mark.parametrize(
    ("registered", "asked"),
    [
        ("http://127.0.0.1:33418/callback", "http://127.0.0.1:50999/callback"),
        ("http://localhost/callback", "http://localhost:8080/callback"),
        ("http://[::1]:1/cb?x=1", "http://[::1]:2/cb?x=1"),
        ("http://127.0.0.1/", "http://127.0.0.1:33418"),
    ],
)
def test_a_program_on_the_owners_machine_takes_the_port_that_is_free(
    browser: Browser, place: Site, registered: str, asked: str
) -> None:
    client_id = register(place, redirect_uris=[registered])["client_id"]
    answer = consent(browser, asking(place, client_id, redirect_uri=asked))

    assert answer["location"].startswith(asked)


@attack("A3")
def test_a_host_of_the_internet_keeps_its_port(browser: Browser, place: Site) -> None:
    client_id = register(place, redirect_uris=["https://a.example/cb"])["client_id"]
    answer = browser.get(asking(place, client_id, redirect_uri="https://a.example:8443/cb"))

    assert answer.status == 400


@attack("A4")
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge": challenge() + "="}, "invalid_request"),
        ({"code_challenge": "!" * 43}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": "code token"}, "unsupported_response_type"),
        ({"response_type": None}, "unsupported_response_type"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"resource": "BASE/mcp/Not-a-being"}, "invalid_target"),
        ({"resource": "BASE/mcpx"}, "invalid_target"),
        ({"resource": "BASE/mcp#x"}, "invalid_target"),
        ({"resource": "https://[/mcp"}, "invalid_target"),
        ({"resource": "BASE.evil.example/mcp"}, "invalid_target"),
        ({"resource": "BASE/mcp/11111111-1111-4111-8111-111111111111"}, "invalid_target"),
        ({"scope": "admin"}, "invalid_scope"),
        ({"scope": "openid profile"}, "invalid_scope"),
        ({"request": "eyJhbGciOiJub25lIn0."}, "request_not_supported"),
        ({"request_uri": "https://evil.example/x"}, "request_not_supported"),
        ({"prompt": "none"}, "consent_required"),
        ({"state": "s" * 3000}, "invalid_request"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_request_that_cannot_be_met_is_answered_to_the_client(
    browser: Browser, place: Site, changes: dict[str, str | None], error: str
) -> None:
    client_id = register(place)["client_id"]
    made = {name: value and value.replace("BASE", place.base) for name, value in changes.items()}
    answer = browser.get(asking(place, client_id, **made))
    said = told(answer)

    assert (said["to"], said["error"], said["iss"]) == (REDIRECT, error, place.base)
    assert said["state"] == (changes.get("state") or "xyz")
    assert "code" not in said
    assert answer["cache-control"] == "no-store"


@attack("A4")
@pytest.mark.parametrize(
    "changes",
    [
        {"resource": None},
        {"resource": "BASE"},
        {"resource": "BASE/"},
        {"resource": "BASE/mcp/"},
        {"scope": None},
        {"scope": "mcp:write offline_access unknown"},
        {"state": None},
        {"redirect_uri": REDIRECT + "?a=1"},
    ],
    ids=str,
)
def test_what_clients_leave_out_or_add_does_no_harm(
    browser: Browser, place: Site, changes: dict[str, str | None]
) -> None:
    uri = changes.get("redirect_uri") or REDIRECT
    client_id = register(place, redirect_uris=[uri])["client_id"]
    made = {name: value and value.replace("BASE", place.base) for name, value in changes.items()}
    answer = consent(browser, asking(place, client_id, **made))
    said = told(answer)
    tokens = tokens_of(exchange(place, client_id, said["code"], redirect_uri=uri))

    assert tokens.scope == "mcp:read mcp:write"
    assert answer["location"].startswith(f"{uri}&code=" if "?" in uri else f"{uri}?code=")
    assert ("state" in said) == ("state" not in changes)
    assert place.call(tokens.access).status == 200


@attack("A5")
@pytest.mark.parametrize(
    "name", ["client_id", "redirect_uri", "state", "scope", "resource", "code_challenge", "x"]
)
def test_a_parameter_that_comes_twice_gets_a_page(browser: Browser, place: Site, name: str) -> None:
    target = asking(place, register(place)["client_id"], x="1") + "&" + urlencode({name: "2"})
    answer = browser.get(target)

    assert (answer.status, answer["location"]) == (400, "")


@attack("C1")
def test_a_wrong_secret_opens_no_session(place: Site) -> None:
    browser = Browser(place)
    answer = browser.submit(browser.get("/sign-in"), "/sign-in", secret="bos_" + "0" * 49)

    assert answer.status == 401
    assert browser.get("/account").status == 303


@attack("C2")
@attack("C3")
@pytest.mark.parametrize("csrf", ["", "x", "é", "0" * 64, "another's"])
def test_a_form_without_the_sessions_own_text_does_nothing(
    browser: Browser, place: Site, csrf: str
) -> None:
    if csrf == "another's":
        other = Browser(place)
        other.sign_in()
        csrf = form_of(other.get("/account"), "/sign-out")["csrf"]
    page = browser.get(asking(place, register(place)["client_id"]))
    decided = browser.submit(page, "/authorize", decision="allow", csrf=csrf)
    password = browser.post(
        "/account/password", {"csrf": csrf, "password": "a b c d e f g", "again": "a b c d e f g"}
    )
    left = browser.post("/sign-out", {"csrf": csrf})
    entered = Browser(place).post("/sign-in", {"csrf": csrf, "secret": place.link()})

    assert [each.status for each in (decided, password, left, entered)] == [403] * 4
    assert browser.get("/account").status == 200
    assert not place.authority.sign_in.passwords.has("me")


@attack("C2")
def test_every_form_on_every_page_carries_it(browser: Browser, place: Site) -> None:
    place.authority.sign_in.passwords.set("me", "four slow brown snails")
    Browser(place).sign_in()
    pages = [browser.get("/account"), browser.get(asking(place, register(place)["client_id"]))]
    pages.append(Browser(place).get("/sign-in"))
    for page in pages:
        forms = page.text.split("<form")[1:]
        assert forms
        assert all('name="csrf"' in form.partition("</form>")[0] for form in forms)
        assert all('method="post"' in form for form in forms)


@attack("C4")
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://localhost"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": "null", "sec-fetch-site": "same-site"},
    ],
    ids=str,
)
def test_a_form_from_a_foreign_origin_does_nothing(
    browser: Browser, place: Site, headers: dict[str, str]
) -> None:
    page = browser.get("/account")
    fields = form_of(page, "/sign-out")
    answer = browser.post("/sign-out", fields, **headers)
    fresh = Browser(place)
    entered = fresh.post(
        "/sign-in",
        {**form_of(fresh.get("/sign-in"), "/sign-in"), "secret": place.link()},
        **headers,
    )

    assert (answer.status, entered.status) == (403, 403)
    assert browser.get("/account").status == 200


@attack("C4")
def test_our_own_origin_may_be_named(browser: Browser, place: Site) -> None:
    fields = form_of(browser.get("/account"), "/sign-out")

    assert browser.post("/sign-out", fields, origin=place.base).status == 303


@attack("C5")
@attack("C6")
def test_pages_are_never_framed_or_kept(browser: Browser, place: Site) -> None:
    client_id = register(place)["client_id"]
    answers = [
        *(browser.get("/account"), browser.get(asking(place, client_id))),
        *(browser.get(asking(place, "none")), Browser(place).get("/sign-in")),
        *(browser.post("/sign-out", {}), Browser(place).get("/account")),
    ]
    for answer in answers:
        assert "frame-ancestors 'none'" in answer["content-security-policy"]
        assert "form-action" not in answer["content-security-policy"]
        assert answer["x-frame-options"] == "DENY"
        assert answer["cache-control"] == "no-store"
        assert answer["referrer-policy"] == "no-referrer"
        assert answer["x-content-type-options"] == "nosniff"


@attack("C8")
def test_a_no_is_told_to_the_client(browser: Browser, place: Site) -> None:
    page = browser.get(asking(place, register(place)["client_id"]))
    for decision in ("deny", "", "Allow"):
        page = browser.get(asking(place, register(place)["client_id"]))
        said = told(browser.submit(page, "/authorize", decision=decision))

        assert said["error"] == "access_denied"
        assert (said["state"], said["iss"]) == ("xyz", place.base)
        assert "code" not in said
    assert place.authority.grants.of_owner("me") == []


HOSTILE = [
    *("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onmouseover=alert(1) x='"),
    *("</title><svg onload=alert(1)>", "{{7*7}}{% raw %}", "javascript:alert(1)", "&lt;b&gt;"),
    *("\u202eevil", "a\x00b", "<!--", "${7*7}", "\u2028alert(1)", "\u202e<b>"),
]


class _Structure(HTMLParser):
    """The elements of a page with the names of their attributes, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, *(name for name, _ in attrs)))


def structure(page: Answer) -> list[tuple[str, ...]]:
    parser = _Structure()
    parser.feed(page.text)
    return parser.found


@attack("C9")
def test_hostile_text_stays_text(browser: Browser, place: Site) -> None:
    """In the names of clients and Beings, on the page that asks: its elements stay the same."""
    place.authority.beings.create("Bob", owner="me")
    plain = structure(browser.get(asking(place, register(place)["client_id"])))
    for number, text in enumerate(HOSTILE):
        owner = f"o{number}"
        place.authority.owners.add(owner)
        for name in (text, f"{text}2"):
            with suppress(InvalidInputError):  # not every text can be a name
                place.authority.beings.create(name, owner=owner)
        while len(place.authority.beings.of_owner(owner)) < 2:
            count = len(place.authority.beings.of_owner(owner))
            place.authority.beings.create(f"B{count}", owner=owner)
        other = Browser(place)
        other.sign_in(place.authority.sign_in.links.make(owner).secret)
        place.time.pass_(minutes=20)
        page = other.get(asking(place, register(place, client_name=text)["client_id"], state=text))

        assert structure(page) == plain, text
        assert "\u202e" not in page.text
        assert "\x00" not in page.text


@attack("C9")
def test_hostile_text_in_a_request_changes_no_page(place: Site) -> None:
    def pages(text: str) -> list[list[tuple[str, ...]]]:
        browser = Browser(place)
        targets = [
            "/authorize?" + urlencode({"client_id": text, "redirect_uri": text}),
            "/authorize?" + urlencode([(text, text), (text, text)]),
            "/sign-in?" + urlencode({"then": text}),
            "/nowhere/" + quote(text, safe=""),
        ]
        return [structure(browser.get(target)) for target in targets]

    plain = pages("x")
    assert [each for each in HOSTILE if pages(each) != plain] == []


@attack("C10")
def test_a_decision_counts_once(browser: Browser, place: Site) -> None:
    client_id = register(place)["client_id"]
    page = browser.get(asking(place, client_id))
    first = browser.submit(page, "/authorize", decision="allow")
    again = browser.submit(page, "/authorize", decision="allow")
    otherwise = browser.submit(page, "/authorize", decision="deny")

    assert told(first)["code"]
    assert (again.status, otherwise.status) == (400, 400)
    assert "decided already" in again.text


@attack("C10")
def test_a_page_that_was_left_open_decides_nothing(browser: Browser, place: Site) -> None:
    page = browser.get(asking(place, register(place)["client_id"]))
    place.time.pass_(seconds=CONSENT_SECONDS)

    assert browser.submit(page, "/authorize", decision="allow").status == 400


@attack("C11")
def test_a_request_is_decided_in_the_session_that_saw_it(browser: Browser, place: Site) -> None:
    other = Browser(place)
    other.sign_in()
    client_id = register(place)["client_id"]
    name = form_of(browser.get(asking(place, client_id)), "/authorize")["request"]
    page = other.get(asking(place, client_id))
    stolen = other.submit(page, "/authorize", decision="allow", request=name)
    own = browser.post(
        "/authorize",
        {
            **form_of(browser.get("/account"), "/sign-out"),
            "request": name,
            "decision": "allow",
            "being": place.being,
            "scope": "full",
        },
    )

    assert stolen.status == 400
    assert told(own)["code"]


@attack("C11")
def test_the_form_decides_only_what_the_page_offered(browser: Browser, place: Site) -> None:
    client_id = register(place)["client_id"]
    foreign = place.authority.beings.create("Eve", owner="eve").being_id
    for changes in ({"being": foreign}, {"being": "x"}, {"scope": "admin"}, {"scope": ""}):
        page = browser.get(asking(place, client_id))
        answer = browser.submit(page, "/authorize", decision="allow", **changes)

        assert (answer.status, answer["location"]) == (400, ""), changes


@attack("C12")
def test_who_consented_before_is_asked_again(browser: Browser, place: Site) -> None:
    client_id, _ = connected(place, browser)
    again = browser.get(asking(place, client_id))

    assert again.status == 200
    assert "Allow" in again.text


@attack("C13")
def test_many_wrong_secrets_have_to_wait(place: Site) -> None:
    browser = Browser(place)
    page = browser.get("/sign-in")
    answers = [browser.submit(page, "/sign-in", secret="wrong") for _ in range(14)]

    assert [a.status for a in answers] == [401] * SIGN_IN_ATTEMPTS + [429] * (14 - SIGN_IN_ATTEMPTS)
    assert 0 < int(answers[-1]["retry-after"]) <= 900


@attack("C13")
def test_guessing_one_owners_password_from_many_places_ends_too(place: Site) -> None:
    ways = place.authority.sign_in
    for number in range(SIGN_IN_ATTEMPTS):
        assert ways.by_password("me", "x" * 300, address=f"198.51.100.{number}") is None

    with pytest.raises(RateLimitedError):
        ways.by_password("me", "x" * 300, address="198.51.100.99")
    assert Browser(place).sign_in().status == 303  # a link is another way


def test_a_code_travels_to_the_client_alone(browser: Browser, place: Site) -> None:
    client_id = register(place)["client_id"]
    code = code_for(browser, client_id)

    assert code not in place.log.getvalue()
    assert code not in place.dump()

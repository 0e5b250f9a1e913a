"""The pages on which an owner signs in and out."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

from nacre.access.rate_limits import RateLimits
from nacre.core.errors import RateLimitedError
from nacre.core.limits import (
    FRESH_SIGN_IN_SECONDS,
    SESSION_DAYS,
    SIGN_IN_ATTEMPTS,
    SIGN_IN_LINK_SECONDS,
)
from tests.scaffolding.web_site import ADDRESS, Browser, Site, form_of, site

PASSWORD = "four slow brown snails"


@pytest.fixture(params=["laptop", pytest.param("gateway", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest) -> Iterator[Site]:
    with site(request.param) as made:
        yield made


def test_a_link_signs_in_once(place: Site) -> None:
    link = place.link()
    first, second = Browser(place), Browser(place)

    entered = first.sign_in(link)
    late = second.sign_in(link)

    assert (entered.status, entered["location"]) == (303, "/")
    assert first.get("/account").status == 200
    assert late.status == 401
    assert "This link is not valid" in late.text
    assert second.get("/account")["location"] == "/sign-in?then=%2Faccount"


def test_a_link_that_is_not_needed_does_not_stay_in_the_address(place: Site) -> None:
    """A browser takes what stands behind the # along, unless the answer names another."""
    browser = Browser(place)
    browser.sign_in()

    answers = [browser.get(f"/sign-in{each}") for each in ("", "?then=%2Fa%23b")]

    assert [answer["location"] for answer in answers] == ["/#", "/a#b"]


def test_of_two_who_race_for_one_link_one_gets_in(place: Site) -> None:
    links = place.authority.sign_in.links
    for _ in range(10):
        link = place.link()
        with ThreadPoolExecutor(4) as pool:
            owners = list(pool.map(links.use, [link] * 4))

        assert sorted(owner or "" for owner in owners) == ["", "", "", "me"]


def test_a_link_ends_within_the_hour(place: Site) -> None:
    link = place.link()
    place.time.pass_(seconds=SIGN_IN_LINK_SECONDS)

    assert Browser(place).sign_in(link).status == 401


def test_a_whole_link_may_be_pasted(place: Site) -> None:
    link = f"{place.base}/sign-in#{place.link()}"

    assert Browser(place).sign_in(f" {link}\n").status == 303


def test_looking_at_the_page_uses_no_link(place: Site) -> None:
    link = place.link()
    place.get(f"/sign-in?then=/#{link}")
    place.get(f"/sign-in?secret={link}")

    assert Browser(place).sign_in(link).status == 303


@pytest.mark.parametrize("secret", ["", "x", "brt_" + "0" * 49, "bos_" + "0" * 49, "é" * 60])
def test_anything_else_does_not_sign_in(place: Site, secret: str) -> None:
    browser = Browser(place)
    answer = browser.submit(browser.get("/sign-in"), "/sign-in", secret=secret)

    assert answer.status == 401
    assert not any("session" in name for name in browser.cookies)


def test_the_session_is_the_browsers_alone(place: Site) -> None:
    browser = Browser(place)
    entered = browser.sign_in()
    [cookie] = [each for each in entered.all("set-cookie") if "session" in each]

    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(cookie.split("; "))
    assert "Domain" not in cookie
    assert f"Max-Age={SESSION_DAYS * 86_400}" in cookie
    if place.base.startswith("https"):
        assert cookie.startswith("__Host-nacre-session=")
        assert "; Secure" in cookie
    else:
        assert cookie.startswith("nacre-8642-session=")


def test_a_session_ends_after_a_month(place: Site) -> None:
    browser = Browser(place)
    browser.sign_in()
    place.time.pass_(days=SESSION_DAYS)

    assert browser.get("/account").status == 303


def test_after_signing_out_the_back_button_shows_nothing_and_old_forms_do_nothing(
    place: Site,
) -> None:
    browser = Browser(place)
    browser.sign_in()
    page = browser.get("/account")
    kept = dict(browser.cookies)
    left = browser.submit(page, "/sign-out")
    browser.cookies = kept

    assert (left.status, left["location"]) == (303, "/sign-in")
    assert page["cache-control"] == "no-store"
    assert browser.get("/account")["location"] == "/sign-in?then=%2Faccount"
    assert (
        browser.submit(page, "/account/password", password=PASSWORD, again=PASSWORD)["location"]
        == "/sign-in?then=%2F"
    )
    assert not place.authority.sign_in.passwords.has("me")


def test_signing_in_leads_back_to_where_one_was(place: Site) -> None:
    browser = Browser(place)
    asked = browser.get("/account?tab=1&x=%2Fy")
    page = browser.get(asked["location"])
    entered = browser.submit(page, "/sign-in", secret=place.link())

    assert asked["location"] == "/sign-in?then=" + quote("/account?tab=1&x=%2Fy", safe="")
    assert entered["location"] == "/account?tab=1&x=%2Fy"


@pytest.mark.parametrize(
    "then", ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nX: y", "evil", ""]
)
def test_signing_in_leads_nowhere_else(place: Site, then: str) -> None:
    browser = Browser(place)
    page = browser.get(f"/sign-in?then={quote(then, safe='')}")

    assert browser.submit(page, "/sign-in", secret=place.link(), then=then)["location"] == "/"


def test_a_password_signs_in_until_it_is_removed(place: Site) -> None:
    browser, other = Browser(place), Browser(place)
    browser.sign_in()
    other.sign_in()
    changed = browser.submit(
        browser.get("/account"), "/account/password", password=PASSWORD, again=PASSWORD
    )
    elsewhere = other.get("/account")
    third = Browser(place)
    wrong = third.post("/sign-in", credentials(third, password="four slow brown snakes"))
    right = third.post("/sign-in", credentials(third, password=PASSWORD))
    place.authority.sign_in.passwords.remove("me")
    removed = third.post("/sign-in", credentials(Browser(place), password=PASSWORD))

    assert changed["location"] == "/account"
    assert browser.get("/account").status == 200
    assert elsewhere.status == 303  # the others have to sign in again
    assert wrong.status == 401
    assert right.status == 303
    assert removed.status == 403  # it is another browser's form


def credentials(browser: Browser, **fields: str) -> dict[str, str]:
    form = form_of(browser.get("/sign-in"), "/sign-in")
    return {"csrf": form["csrf"], "then": "/", "owner": "me", **fields}


def test_who_signed_in_a_while_ago_shows_who_they_are_before_the_ways_in_change(
    place: Site,
) -> None:
    """Whoever finds a browser open, or takes its cookie, makes no way in of their own."""
    browser = Browser(place)
    browser.sign_in()
    page = browser.get("/account")
    place.time.pass_(seconds=FRESH_SIGN_IN_SECONDS + 1)
    late = browser.submit(page, "/account/password", password=PASSWORD, again=PASSWORD)
    removed = browser.submit(page, "/account/password", remove="1")
    shown = browser.get("/account")
    out = browser.post("/sign-out", {**form_of(shown, "/sign-out"), "then": "/account"})
    kept = place.authority.sign_in.passwords.has("me")
    back = browser.submit(browser.get(out["location"]), "/sign-in", secret=place.link())
    changed = browser.submit(
        browser.get("/account"), "/account/password", password=PASSWORD, again=PASSWORD
    )

    assert (late.status, removed.status) == (403, 403)
    assert "more than 15 minutes ago; sign in again" in late.text
    assert not kept
    assert "Sign in again" in shown.text
    assert "/account/password" not in shown.text
    assert (out["location"], back["location"]) == ("/sign-in?then=%2Faccount", "/account")
    assert changed["location"] == "/account"
    assert place.authority.sign_in.passwords.has("me")


def test_within_a_quarter_of_an_hour_the_ways_in_may_be_changed(place: Site) -> None:
    browser = Browser(place)
    browser.sign_in()
    place.time.pass_(seconds=FRESH_SIGN_IN_SECONDS)
    page = browser.get("/account")

    assert "Sign in again" not in page.text
    assert (
        browser.submit(page, "/account/password", password=PASSWORD, again=PASSWORD).status == 303
    )


@pytest.mark.parametrize("then", ["//evil.example", "https://evil.example"])
def test_signing_out_leads_nowhere_else(place: Site, then: str) -> None:
    browser = Browser(place)
    browser.sign_in()
    page = browser.get("/account")

    assert browser.submit(page, "/sign-out", then=then)["location"] == "/sign-in?then=%2F"


@pytest.mark.parametrize(
    ("password", "again", "said"),
    [
        ("short", "short", "12 to 256"),
        (PASSWORD, PASSWORD + "!", "do not match"),
        ("aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa", "too easy"),
    ],
)
def test_a_bad_password_is_not_kept(place: Site, password: str, again: str, said: str) -> None:
    browser = Browser(place)
    browser.sign_in()
    answer = browser.submit(
        browser.get("/account"), "/account/password", password=password, again=again
    )

    assert answer.status == 400
    assert said in answer.text
    assert not place.authority.sign_in.passwords.has("me")


def test_who_tries_too_often_waits_and_a_restart_forgets_nothing(place: Site) -> None:
    browser = Browser(place)
    page = browser.get("/sign-in")
    tries = [browser.submit(page, "/sign-in", secret="wrong") for _ in range(SIGN_IN_ATTEMPTS + 1)]
    again = RateLimits(place.tokens, clock=place.time)
    with pytest.raises(RateLimitedError):
        again.take("attempts to sign in", f"link {ADDRESS}", most=SIGN_IN_ATTEMPTS, seconds=900)
    place.time.pass_(seconds=int(tries[-1]["retry-after"]))
    later = browser.submit(page, "/sign-in", secret="wrong")

    assert {answer.status for answer in tries[:-1]} == {401}
    assert (tries[-1].status, later.status) == (429, 401)


def test_whoever_shares_an_address_with_a_guesser_still_gets_in(place: Site) -> None:
    browser = Browser(place)
    page = browser.get("/sign-in")
    for _ in range(SIGN_IN_ATTEMPTS + 5):
        browser.submit(page, "/sign-in", secret="wrong")

    assert Browser(place).sign_in().status == 303


def test_a_session_elsewhere_can_be_ended(place: Site) -> None:
    browser, other = Browser(place), Browser(place)
    browser.sign_in()
    other.sign_in()
    [foreign] = [
        each.session
        for each in place.authority.sessions.of_owner("me")
        if each.session not in form_of(browser.get("/account"), "/account/sessions/end")["session"]
    ][:1]
    page = browser.get("/account")
    browser.submit(page, "/account/sessions/end")

    assert foreign
    assert browser.get("/account").status == 200
    assert other.get("/account").status == 303


def test_everywhere_means_everywhere(place: Site) -> None:
    browser, other = Browser(place), Browser(place)
    browser.sign_in()
    other.sign_in()
    browser.submit(browser.get("/account"), "/sign-out", everywhere="1")

    assert place.authority.sessions.of_owner("me") == []
    assert other.get("/account").status == 303


def test_what_a_browser_calls_itself_is_shown_as_text(place: Site) -> None:
    browser = Browser(place)
    form = form_of(browser.get("/sign-in"), "/sign-in")
    browser.post(
        "/sign-in",
        {**form, "secret": place.link()},
        **{"user-agent": "<script>alert(1)</script>" + "x" * 500},
    )
    page = browser.get("/account").text

    assert "&lt;script&gt;alert(1)&lt;/script&gt;xxx" in page
    assert "<script>" not in page
    assert "x" * 80 not in page


def test_nothing_that_signs_in_is_stored_or_logged(place: Site) -> None:
    browser = Browser(place)
    link = place.link()
    browser.sign_in(link)
    browser.submit(browser.get("/account"), "/account/password", password=PASSWORD, again=PASSWORD)
    secrets = [link, PASSWORD, *browser.cookies.values()]
    stored = place.dump()

    assert browser.cookies
    assert [
        secret for secret in secrets if secret in stored or secret in place.log.getvalue()
    ] == []

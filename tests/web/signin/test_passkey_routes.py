"""Passkeys on the web: added on the account page, used on the sign-in page."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from nacre.access.signin.passkeys import PasskeySignature
from nacre.access.signin.webauthn import Site as Webauthn
from nacre.core.errors import InvalidInputError, RateLimitedError
from nacre.core.limits import (
    FRESH_SIGN_IN_SECONDS,
    MAX_PASSKEYS,
    PASSKEY_CHALLENGE_SECONDS,
    PASSKEY_CHALLENGES,
    PASSWORD_ATTEMPTS,
    SIGN_IN_ATTEMPTS,
)
from tests.scaffolding.passkeys import USER, Device, add, ask, enter, said, text
from tests.scaffolding.web_site import Browser, Site, form_of, site

LOCAL = "http://localhost:8642"


@pytest.fixture(params=["laptop", "gateway"])
def place(request: pytest.FixtureRequest) -> Iterator[Site]:
    with site(request.param, public_url=LOCAL if request.param == "laptop" else "") as made:
        yield made


@pytest.fixture
def owner(place: Site) -> Browser:
    browser = Browser(place)
    browser.sign_in()
    return browser


@pytest.fixture
def device(place: Site) -> Device:
    return Device(urlsplit(place.base).hostname or "", place.base)


def test_a_passkey_signs_in(place: Site, owner: Browser, device: Device) -> None:
    added = add(owner, device, "Phone <b>")
    shown = owner.get("/account").text
    device.counter += 1
    browser = Browser(place)
    entered = enter(browser, device)

    assert (added.status, added["location"]) == (303, "/account")
    assert "Phone &lt;b&gt;" in shown
    assert "never used" in shown
    assert (entered.status, entered["location"]) == (303, "/account")
    assert "last used 2026-11-18" in browser.get("/account").text


def test_what_is_asked_for_is_strict(place: Site, owner: Browser, device: Device) -> None:
    add(owner, device)
    new = ask(owner, "/account/passkeys")
    old = ask(Browser(place), "/sign-in/passkey")

    assert new["rp"]["id"] == old["rpId"] == device.host
    assert new["authenticatorSelection"] == {
        "residentKey": "required",
        "userVerification": "required",
    }
    assert [each["id"] for each in new["excludeCredentials"]] == [text(device.credential)]
    assert old["userVerification"] == "required"
    assert "allowCredentials" not in old  # nobody learns who has a passkey
    assert len({new["challenge"], old["challenge"]}) == 2


BENT: list[tuple[dict[str, Any], str]] = [
    ({"origin": "https://evil.example"}, "used on another site"),
    ({"origin": "https://localhost:8642/"}, "used on another site"),
    ({"host": "evil.example"}, "is for another site"),
    ({"flags": 0x01}, "did not check who you are"),
    ({"flags": 0x04}, "did not check who you are"),
    ({"flags": USER | 0x10}, "contradicts itself"),
    ({"crossOrigin": True}, "inside another site"),
    ({"topOrigin": "https://evil.example"}, "inside another site"),
    ({"type": "webauthn.other"}, "another kind of request"),
    ({"challenge": text(b"x" * 32)}, "took too long"),
    ({"challenge": 5}, "names no challenge"),
]


@pytest.mark.parametrize(("bent", "why"), BENT)
def test_what_is_not_for_this_site_by_a_person_does_not_sign_in(
    place: Site, owner: Browser, device: Device, bent: dict[str, Any], why: str
) -> None:
    add(owner, device)
    device.counter += 1
    browser = Browser(place)
    answer = enter(browser, device, **bent)

    assert answer.status == 401
    assert why in said(answer)
    assert not any("session" in name for name in browser.cookies)


@pytest.mark.parametrize(("bent", "why"), BENT)
def test_nor_is_it_added(
    place: Site, owner: Browser, device: Device, bent: dict[str, Any], why: str
) -> None:
    if "flags" in bent:
        bent = {"flags": bent["flags"] | 0x40}
    answer = add(owner, device, **bent)

    assert answer.status == 400
    assert why in said(answer)
    assert place.authority.sign_in.passkeys.of_owner("me") == []


def test_a_challenge_counts_once(place: Site, owner: Browser, device: Device) -> None:
    add(owner, device)
    device.counter += 1
    browser = Browser(place)
    asked = ask(browser, "/sign-in/passkey")
    fields = {"csrf": asked["csrf"], **device.signed(asked["challenge"])}
    cookies = dict(browser.cookies)
    first = browser.post("/sign-in/passkey", fields)
    browser.cookies = cookies
    again = browser.post("/sign-in/passkey", fields)

    assert (first.status, again.status) == (303, 401)
    assert "used already" in said(again)


def test_a_challenge_ends_after_five_minutes(place: Site, owner: Browser, device: Device) -> None:
    add(owner, device)
    browser = Browser(place)
    asked = ask(browser, "/sign-in/passkey")
    place.time.pass_(seconds=PASSKEY_CHALLENGE_SECONDS)
    fields = {"csrf": asked["csrf"], **device.signed(asked["challenge"])}

    assert "took too long" in said(browser.post("/sign-in/passkey", fields))


def test_a_challenge_is_one_browsers_for_one_purpose(
    place: Site, owner: Browser, device: Device
) -> None:
    add(owner, device)
    device.counter += 1
    first, second = Browser(place), Browser(place)
    stolen = [ask(first, "/sign-in/passkey"), ask(owner, "/account/passkeys")]
    own = ask(second, "/sign-in/passkey")["csrf"]
    answers = [
        second.post("/sign-in/passkey", {"csrf": own, **device.signed(each["challenge"])})
        for each in stolen
    ]

    assert [answer.status for answer in answers] == [401, 401]


def test_a_challenge_is_given_to_own_pages_only(place: Site, owner: Browser) -> None:
    browser = Browser(place)
    csrf = form_of(browser.get("/sign-in"), "/sign-in")["csrf"]
    paths = [(browser, "/sign-in/passkey/challenge"), (owner, "/account/passkeys/challenge")]
    without = [each.post(path, {"csrf": "no"}) for each, path in paths]
    foreign = browser.post(paths[0][1], {"csrf": csrf}, origin="https://evil.example")

    assert [answer.status for answer in (*without, foreign)] == [403] * 3


@pytest.mark.parametrize("part", ["signature", "data", "client_data"])
def test_what_was_changed_after_signing_does_not_count(
    place: Site, owner: Browser, device: Device, part: str
) -> None:
    add(owner, device)
    device.counter += 1
    browser = Browser(place)
    asked = ask(browser, "/sign-in/passkey")
    fields = device.signed(asked["challenge"])
    device.counter += 1
    other = device.signed(asked["challenge"], more=1)
    answer = browser.post("/sign-in/passkey", {"csrf": asked["csrf"], **fields, part: other[part]})

    assert answer.status == 401
    assert "signature is wrong" in said(answer)


def test_rubbish_is_refused_clearly(place: Site, owner: Browser, device: Device) -> None:
    add(owner, device)
    device.counter += 1
    wrong = []
    for part in ("credential", "client_data", "data", "signature", "user"):
        for value in ("", "é", "=", "AAA", "%00", "AB"):
            browser = Browser(place)
            asked = ask(browser, "/sign-in/passkey")
            fields = {"csrf": asked["csrf"], **device.signed(asked["challenge"]), part: value}
            answer = browser.post("/sign-in/passkey", fields)
            if answer.status != 401 or not re.search("passkey|browser", said(answer)):
                wrong.append((part, value, answer.status))
            place.time.pass_(minutes=15)

    assert wrong == []


def test_a_counter_never_goes_back(place: Site, owner: Browser, device: Device) -> None:
    device.counter = 7
    add(owner, device)
    tries = []
    for counter in (8, 8, 3, 0, 9):
        device.counter = counter
        tries.append(enter(Browser(place), device))

    assert [answer.status for answer in tries] == [303, 401, 401, 401, 303]
    assert "went backwards" in said(tries[1])


def test_a_passkey_that_does_not_count_signs_in_again_and_again(
    place: Site, owner: Browser, device: Device
) -> None:
    device.counter = 0
    add(owner, device)

    assert [enter(Browser(place), device).status for _ in range(3)] == [303] * 3


def test_another_owners_passkey_is_theirs(place: Site, owner: Browser, device: Device) -> None:
    place.authority.owners.add("bob")
    add(owner, device)
    device.counter += 1
    [mine] = place.authority.sign_in.passkeys.of_owner("me")
    bob = Browser(place)
    bob.sign_in(place.authority.sign_in.links.make("bob").secret)
    taken = add(bob, device)
    removed = bob.post(
        "/account/passkeys/remove",
        {"csrf": form_of(bob.get("/account"), "/account/passkeys")["csrf"], "passkey": mine.mark},
    )
    device.user = Device("", "", user="Ym9i").user
    pretended = enter(Browser(place), device)

    assert (taken.status, removed.status, pretended.status) == (400, 404, 401)
    assert "added already" in said(taken)
    assert "unknown here" in said(pretended)
    assert place.authority.sign_in.passkeys.of_owner("me") == [mine]


def test_a_removed_passkey_does_not_sign_in_and_sessions_elsewhere_end(
    place: Site, owner: Browser, device: Device
) -> None:
    add(owner, device)
    device.counter += 1
    other = Browser(place)
    enter(other, device)
    owner.submit(owner.get("/account"), "/account/passkeys/remove")
    device.counter += 1

    assert "was removed" in said(enter(Browser(place), device))
    assert owner.get("/account").status == 200
    assert other.get("/account").status == 303


def test_no_passkey_comes_or_goes_long_after_signing_in(
    place: Site, owner: Browser, device: Device
) -> None:
    add(owner, device)
    page = owner.get("/account")
    asked = ask(owner, "/account/passkeys")
    place.time.pass_(seconds=FRESH_SIGN_IN_SECONDS + 1)
    device.credential = b"other"
    fields = {"csrf": asked["csrf"], "name": "Other", **device.made(asked["challenge"])}
    late = [
        owner.post("/account/passkeys", fields),
        owner.submit(page, "/account/passkeys/remove"),
        owner.post("/account/passkeys/challenge", {"csrf": asked["csrf"]}, accept="*/*"),
    ]
    shown = owner.get("/account").text

    assert [answer.status for answer in late] == [403] * 3
    assert "sign in again" in late[2].json["error"]  # which the page's script shows
    assert [each.name for each in place.authority.sign_in.passkeys.of_owner("me")] == ["Phone"]
    assert "Phone" in shown
    assert "/account/passkeys" not in shown


def test_attempts_are_counted(place: Site, owner: Browser, device: Device) -> None:
    tries = [enter(Browser(place), device) for _ in range(SIGN_IN_ATTEMPTS + 1)]

    assert [answer.status for answer in tries] == [401] * SIGN_IN_ATTEMPTS + [429]
    assert int(tries[-1]["retry-after"]) > 0
    assert Browser(place).sign_in().status == 303


def test_one_passkey_is_tried_ten_times_from_wherever(place: Site, device: Device) -> None:
    ways, here = place.authority.sign_in, Webauthn(device.host, device.origin)

    def attempt(number: int) -> None:
        challenge = ways.ask_passkey("sign-in", browser="one", address=f"{number}")
        fields = {**device.signed(challenge), "signature": ""}
        ways.by_passkey(PasskeySignature(**fields), browser="one", address=f"{number}", site=here)

    for number in range(PASSWORD_ATTEMPTS):
        with pytest.raises(InvalidInputError):
            attempt(number)
    with pytest.raises(RateLimitedError):
        attempt(PASSWORD_ATTEMPTS)


def test_challenges_are_counted(place: Site) -> None:
    browser = Browser(place)
    csrf = form_of(browser.get("/sign-in"), "/sign-in/passkey")["csrf"]
    path = "/sign-in/passkey/challenge"
    tries = [browser.post(path, {"csrf": csrf}).status for _ in range(PASSKEY_CHALLENGES + 1)]

    assert tries == [200] * PASSKEY_CHALLENGES + [429]


def test_names_and_numbers_of_passkeys_have_a_limit(
    place: Site, owner: Browser, device: Device
) -> None:
    unnamed = add(owner, device, " ")
    for number in range(MAX_PASSKEYS):
        device.credential = b"%d" % number
        assert add(owner, device).status == 303
    device.credential = b"more"
    full = add(owner, device)

    assert "1 to 64 characters" in said(unnamed)
    assert f"at most {MAX_PASSKEYS}" in said(full)


def test_under_a_bare_address_there_are_no_passkeys() -> None:
    with site("laptop") as made:
        browser = Browser(made)
        page = browser.get("/sign-in")
        csrf = form_of(page, "/sign-in")["csrf"]
        answer = browser.post("/sign-in/passkey/challenge", {"csrf": csrf}, accept="*/*")
        browser.sign_in()

        assert "passkey" not in page.text
        assert (answer.status, "localhost" in answer.json["error"]) == (403, True)
        assert "or for <code>localhost</code>" in browser.get("/account").text


def test_no_name_of_an_owner_goes_to_a_device_as_its_handle_and_no_challenge_is_kept(
    place: Site, owner: Browser, device: Device
) -> None:
    asked = ask(owner, "/account/passkeys")

    assert asked["user"]["id"] != text(b"me")
    assert asked["challenge"] not in place.dump() + place.log.getvalue()

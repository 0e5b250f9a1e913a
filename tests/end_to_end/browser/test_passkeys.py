"""A passkey of a device that Chromium plays: made on the account page, used on the sign-in page."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, CDPSession, Page, expect

from infra.browser import NARROW, window
from tests.end_to_end.browser.places import laptop

pytestmark = pytest.mark.slow


def device(page: Page) -> tuple[CDPSession, str]:
    """Give the page a device that holds passkeys and knows its owner."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    made = session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return session, made["authenticatorId"]


def test_a_passkey_is_added_signs_in_and_is_removed(browser: Browser, tmp_path: Path) -> None:
    with laptop(tmp_path / "data") as place:
        base = place.base.replace("127.0.0.1", "localhost")  # an address has no passkeys
        with window(browser, base, size=NARROW) as made:
            session, name = device(made.page)
            made.sign_in(place.link())
            page = made.go("/account")
            page.get_by_label("Name of a new passkey").fill("Phone <b>")
            page.get_by_role("button", name="Add a passkey").click()
            expect(page.get_by_text("Phone <b>")).to_be_visible()
            looks = [*made.barriers(), made.overflow()]
            page.get_by_role("button", name="Sign out", exact=True).click()
            page.wait_for_url(f"{base}/sign-in")
            looks += [*made.barriers(), made.overflow()]

            made.go("/sign-in?then=/account")
            page.get_by_role("button", name="Sign in with a passkey").click()
            page.wait_for_url(f"{base}/account")
            expect(page.get_by_text("last used")).to_be_visible()
            page.get_by_label("Name of a new passkey").fill("Again")
            page.get_by_role("button", name="Add a passkey").click()
            expect(page.get_by_role("alert")).to_have_text(
                "This device has a passkey of yours already."
            )

            page.get_by_role("button", name="Remove Phone <b>").click()
            expect(page.get_by_text("Phone <b>")).to_have_count(0)
            page.get_by_role("button", name="Sign out", exact=True).click()
            page.wait_for_url(f"{base}/sign-in")
            page.get_by_role("button", name="Sign in with a passkey").click()
            expect(page.get_by_role("alert")).to_contain_text("was removed")
            kept = session.send("WebAuthn.getCredentials", {"authenticatorId": name})

            assert looks == [0, 0]
            assert made.wrong == []
            assert len(kept["credentials"]) == 1
            assert kept["credentials"][0]["rpId"] == "localhost"


def test_without_scripts_or_under_an_address_nobody_is_offered_a_passkey(
    browser: Browser, tmp_path: Path
) -> None:
    with laptop(tmp_path / "data") as place:
        local = place.base.replace("127.0.0.1", "localhost")
        for base, scripts in ((local, False), (place.base, True)):
            with window(browser, base, scripts=scripts) as made:
                page = made.go("/sign-in")
                button = page.get_by_role("button", name="Sign in with a passkey")

                expect(page.get_by_label("Sign-in link")).to_be_visible()
                expect(button).to_have_count(0)
                assert made.wrong == []

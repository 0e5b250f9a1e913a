"""Signing in and letting a client in, as an owner does it in Chromium."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from infra.browser import NARROW, Scheme, Window, window
from tests.end_to_end.browser.places import Place, laptop, visitor
from tests.scaffolding.oauth import VERIFIER, challenge
from tests.scaffolding.server_threads import answering

pytestmark = pytest.mark.slow

HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>'


@pytest.fixture
def place(browser: Browser, tmp_path: Path) -> Iterator[Place]:
    with laptop(tmp_path / "data") as made:
        yield made


class Client:
    """A client on the owner's machine, which listens for its answer."""

    def __init__(self, place: Place, port: int, name: str) -> None:
        self.place = place
        self.redirect = f"http://127.0.0.1:{port}/callback"
        self.answers: list[dict[str, str]] = []
        body = {
            "client_name": name,
            "redirect_uris": [self.redirect],
            "token_endpoint_auth_method": "none",
        }
        self.client_id = httpx2.post(f"{place.base}/register", json=body).json()["client_id"]

    @property
    def path(self) -> str:
        """Where the owner's browser is sent."""
        fields = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect,
            "state": "xyz",
            "code_challenge": challenge(),
            "code_challenge_method": "S256",
            "resource": f"{self.place.base}/mcp",
        }
        return f"/authorize?{urlencode(fields)}"

    def token(self) -> str:
        """Exchange the code that came, and return the access token."""
        fields = {
            "grant_type": "authorization_code",
            "client_id": self.client_id,
            "code": self.answers[-1]["code"],
            "redirect_uri": self.redirect,
            "code_verifier": VERIFIER,
        }
        told = httpx2.post(f"{self.place.base}/token", data=fields).json()
        return str(told["access_token"])


@contextmanager
def client(place: Place, name: str = "Editor") -> Iterator[Client]:
    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            fields = parse_qs(urlsplit(self.path).query)
            if fields:
                made.answers.append({name: values[0] for name, values in fields.items()})
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>done</title>You may close this window.")

        def log_message(self, *_: object) -> None:
            """Say nothing: the tests look at the answers."""

    server = HTTPServer(("127.0.0.1", 0), Listener)
    made = Client(place, server.server_port, name)
    with answering(server):
        yield made


def test_a_link_signs_in_and_its_secret_leaves_the_address(browser: Browser, place: Place) -> None:
    with window(browser, place.base) as made:
        page = made.go(f"/sign-in?then=/account#{place.link()}")
        expect(page.get_by_text("Your sign-in link is ready.")).to_be_visible()
        filled = page.url
        page.keyboard.press("Enter")  # the button has the focus
        page.wait_for_url(f"{place.base}/account")

        assert filled.endswith("/sign-in?then=/account")
        assert made.wrong == []
        assert page.evaluate("document.cookie") == ""  # no script reads the session


def test_an_owner_lets_a_client_in_on_the_way_through_signing_in(
    browser: Browser, place: Place
) -> None:
    with client(place) as asking, window(browser, place.base) as made:
        page = made.go(asking.path)
        page.get_by_label("Sign-in link").fill(place.link())
        page.get_by_role("button", name="Sign in").first.click()
        expect(page.get_by_role("heading", name="Let “Editor” in?")).to_be_visible()
        assert page.get_by_text("127.0.0.1", exact=True).is_visible()
        page.get_by_label("Read only").check()
        page.get_by_role("button", name="Allow").click()
        page.wait_for_url(f"{asking.redirect}?*")
        token = asking.token()

        assert asking.answers[0]["state"] == "xyz"
        assert asking.answers[0]["iss"] == place.base
        assert token.startswith("bto_")
        page.go_back()  # nothing was kept: the client's request is looked at anew
        expect(page.get_by_role("heading", name="Let “Editor” in?")).to_be_visible()
        assert len(asking.answers) == 1


def test_a_no_reaches_the_client(browser: Browser, place: Place) -> None:
    with client(place) as asking, visitor_of(browser, place) as made:
        made.go(asking.path).get_by_role("button", name="Deny").click()
        made.page.wait_for_url(f"{asking.redirect}?*")

        assert asking.answers[0]["error"] == "access_denied"


@contextmanager
def visitor_of(browser: Browser, place: Place) -> Iterator[Window]:
    with window(browser, place.base) as made:
        yield place.signed_in(made)


def test_after_signing_out_going_back_shows_nothing(browser: Browser, place: Place) -> None:
    with visitor(browser, place) as made:
        page = made.go("/account")
        page.get_by_role("button", name="Sign out", exact=True).click()
        page.wait_for_url(f"{place.base}/sign-in")
        page.go_back()

        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_password_signs_in_without_scripts(browser: Browser, place: Place) -> None:
    with visitor(browser, place) as made:
        page = made.go("/account")
        page.get_by_label("New password").fill("four slow brown snails")
        page.get_by_label("Repeat the password").fill("four slow brown snails")
        page.get_by_role("button", name="Set the password").click()
        expect(page.get_by_role("button", name="Change the password")).to_be_visible()
    with window(browser, place.base, scripts=False) as made:
        page = made.go("/sign-in?then=/account")
        page.get_by_text("With a password").click()
        page.get_by_label("Password").fill("four slow brown snails")
        page.get_by_role("button", name="Sign in").last.click()
        page.wait_for_url(f"{place.base}/account")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_keep_nobody_out(browser: Browser, place: Place, scheme: Scheme) -> None:
    with client(place, HOSTILE) as asking:
        with window(browser, place.base, scheme=scheme, size=NARROW) as made:
            made.go("/sign-in")
            assert (made.barriers(), made.overflow(), made.wrong) == ([], 0, [])
        with visitor(browser, place, scheme=scheme, size=NARROW) as made:
            for path in ("/account", asking.path, "/authorize", "/nowhere"):
                made.go(path)
                assert (path, made.barriers(), made.overflow()) == (path, [], 0)


def test_a_link_that_is_pasted_where_the_page_is_open_counts_too(
    browser: Browser, place: Place
) -> None:
    with window(browser, place.base) as made:
        made.go("/sign-in")
        made.go(f"/sign-in#{place.link()}")
        expect(made.page.get_by_text("Your sign-in link is ready.")).to_be_visible()
        made.page.get_by_role("button", name="Sign in").first.click()
        made.page.wait_for_url(lambda url: "/sign-in" not in url)

        assert made.wrong == []


def test_a_link_that_is_not_needed_leaves_the_address_too(browser: Browser, place: Place) -> None:
    with visitor(browser, place) as made:
        page = made.go(f"/sign-in#{place.link()}")

        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert "/sign-in" not in page.url
        assert "bos_" not in page.url

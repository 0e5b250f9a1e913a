"""One walk through the portal, as an owner takes it on the first day, on both fronts."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from infra.browser import Window, window
from nacre.firewall.approvals.approver import ApprovalRequest, Granted
from nacre.firewall.content.digests import arguments_sha256
from nacre.firewall.rules.rule import Decision, Subject
from tests.console.filled import patrolled
from tests.end_to_end.browser.client import CALLBACK, NAME, Client
from tests.end_to_end.browser.places import Place, gateway, laptop, sampled

pytestmark = pytest.mark.slow

TOM = {"entity_name": "Tom", "relation_type": "person", "action": "upsert", "content": "Tea"}


@pytest.fixture(params=["laptop", "gateway"])
def place(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path) -> Iterator[Place]:
    """A server with memories; whatever it needs is closed before the browser is."""
    if request.param == "laptop":
        with sampled(tmp_path / "data") as made:
            yield made
        return
    with gateway() as made:
        desk = made.desk
        assert desk is not None
        made.elsewhere(lambda: patrolled(desk, "Ann feeds the hens", "Bo sails to Malta"))
        yield made


def heading(page: Page) -> str:
    return page.locator("h1").inner_text()


def menu(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Pages").get_by_role("link", name=name, exact=True).click()


def test_an_owner_signs_in_connects_reads_edits_approves_and_revokes(
    browser: Browser, place: Place
) -> None:
    with window(browser, place.base) as made:
        page = made.page
        client = Client(place.base)
        connect(made, place, client)
        assert client.call("get_current_time")[0] == 200

        read_the_map(page, place)
        edit_a_memory(page)
        (approve_a_call if place.sample else approve_a_ticket)(page, place, client)

        menu(page, "Access")
        row = page.get_by_role("listitem").filter(has_text=NAME)
        row.get_by_role("button", name=f"Disconnect {NAME}").click()
        assert page.get_by_role("status").inner_text().startswith("The client was disconnected")
        assert client.call("get_current_time")[0] == 401
        make_and_revoke_a_token(page, client)
        assert [each for each in made.wrong if CALLBACK not in each] == []


def connect(made: Window, place: Place, client: Client) -> None:
    """Follow the client's address: sign in on the way, and allow it."""
    heard = client.listen(made.page)
    made.page.goto(client.address())
    assert heading(made.page) == "Sign in"
    made.page.fill("#secret", f"{place.base}/sign-in#{place.link()}")
    made.page.click("#by-link button")
    assert heading(made.page) == f"Let “{NAME}” in?"
    assert made.barriers() == []
    made.page.get_by_role("button", name="Allow").click()
    made.page.wait_for_url(f"{CALLBACK}*")
    client.redeem(heard[0])
    made.go("/")


def read_the_map(page: Page, place: Place) -> None:
    """Look at the picture, and click on a memory."""
    menu(page, "Map")
    dots = page.locator("svg a circle.dot")
    dots.first.wait_for(state="attached")
    count = dots.count()
    assert count >= (30 if place.sample else 2)
    told = dots.first.locator("title").text_content()
    dots.first.dispatch_event("click")
    page.wait_for_url(re.compile(r"/memories/[0-9a-f-]{36}$"))
    assert told is not None
    assert page.locator("article .text").inner_text().startswith(told[:40])


def edit_a_memory(page: Page) -> None:
    page.get_by_role("link", name="Edit", exact=True).click()
    page.fill("#action", "Ann feeds the hens <b>& geese</b>")
    page.get_by_role("button", name="Save").click()
    assert page.locator("article .text").inner_text() == "Ann feeds the hens <b>& geese</b>"
    assert page.get_by_role("status").inner_text() == "Saved."


def approve_a_call(page: Page, _place: Place, client: Client) -> None:
    """A rule makes a call wait; its owner allows it, and it is made."""
    assert client.call("update_relation", **TOM)[1]["isError"] is True
    menu(page, "Approvals")
    case = page.get_by_role("article")
    assert f"{NAME}, for Pearl" in case.inner_text()
    case.get_by_role("button", name="Allow once").click()
    assert page.get_by_role("status").first.inner_text().startswith("Allowed.")
    assert "isError" not in client.call("update_relation", **TOM)[1]
    assert client.call("update_relation", **TOM)[1]["isError"] is True
    menu(page, "Audit")
    assert "update_relation" in page.get_by_role("region", name="Records").inner_text()


def approve_a_ticket(page: Page, place: Place, _client: Client) -> None:
    """The same where the test asks as the entry does."""
    desk = place.desk
    assert desk is not None
    [record] = desk.place.authority.tokens.of_being(desk.being)
    asked = ApprovalRequest(
        principal=record.token_id,
        subject=Subject("tool", "update_relation", "nacre", TOM),
        decision=Decision("prompt", 1, "Ask first", "Ask first"),
        policy="digest",
        arguments_sha256=arguments_sha256(TOM),
    )
    approvals = desk.controls.approvals()
    approvals.ask(asked, can_elicit=False)
    menu(page, "Approvals")
    page.get_by_role("button", name="Allow once").click()
    assert page.get_by_role("status").first.inner_text().startswith("Allowed.")
    assert isinstance(approvals.ask(asked, can_elicit=False), Granted)


def make_and_revoke_a_token(page: Page, client: Client) -> None:
    page.get_by_label("What it is for").fill("walk")
    page.get_by_role("button", name="Create the token").click()
    client.token = page.get_by_role("region", name="Token").inner_text().strip()
    being = page.get_by_role("region", name="URL").inner_text().rpartition("/")[2]
    assert client.at(being).call("get_current_time")[0] == 200
    menu(page, "Access")
    page.get_by_role("button", name="Revoke walk").click()
    assert page.get_by_role("status").inner_text() == "The token was revoked."
    assert client.at(being).call("get_current_time")[0] == 401


def test_rules_are_changed_and_a_patrol_runs_without_scripts(
    browser: Browser, tmp_path: Path
) -> None:
    with laptop(tmp_path) as place, window(browser, place.base, scripts=False) as made:
        page = made.page
        made.go("/sign-in")
        page.fill("#secret", place.link())
        page.click("#by-link button")
        menu(page, "Rules")
        allow = '[[rule]]\naction = "allow"\ntool = "*"\n'
        page.fill("#text", allow.replace("allow", "alow"))
        page.get_by_role("button", name="Check").click()
        assert "unknown action" in page.get_by_role("alert").inner_text()
        page.fill("#text", allow)
        page.get_by_role("button", name="Check").click()
        page.get_by_role("button", name="Save as version 1").click()
        assert page.get_by_role("status").inner_text() == "The rules are in force."
        menu(page, "Patrols")
        page.get_by_role("button", name="Run one now").click()
        again(page, lambda: page.locator("tr:has-text('manual'):has-text('done')").count() > 0)
        page.get_by_role("link", name="1", exact=True).click()
        assert heading(page) == "Patrol 1"


def again(page: Page, is_there: Callable[[], bool]) -> None:
    """Load the page again until something is there, as somebody without scripts does."""
    for _ in range(240):
        if is_there():
            return
        page.wait_for_timeout(250)
        page.reload()
    raise AssertionError(page.locator("main").inner_text())


def test_pages_that_wait_for_something_show_it_by_themselves(
    browser: Browser, tmp_path: Path
) -> None:
    with laptop(tmp_path) as place, window(browser, place.base) as made:
        page = made.page
        made.sign_in(place.link())
        menu(page, "Patrols")
        page.get_by_role("button", name="Run one now").click()
        page.locator("tr:has-text('manual'):has-text('done')").wait_for()
        page.get_by_role("button", name="Show what one would do").click()
        page.get_by_text("Nothing was written.").wait_for()
        assert made.wrong == []

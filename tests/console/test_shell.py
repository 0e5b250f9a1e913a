"""The frame of the owner's pages: whose Being they are about, and the way to the others."""

from nacre.faces.console_shell import MENU
from tests.console.conftest import Desk
from tests.web import Browser


def test_the_first_page_leads_on_to_the_only_being(desk: Desk) -> None:
    answer = desk.browser.get("/")

    assert (answer.status, answer["location"]) == (303, desk.at("overview"))
    assert "<h1>Ann</h1>" in desk.get("overview").text


def test_of_several_beings_one_is_chosen_and_the_page_stays(desk: Desk) -> None:
    bob = desk.place.authority.beings.create("Bob", owner="me").being_id

    assert f'href="/beings/{bob}/overview"' in desk.browser.get("/").text
    assert f'href="/beings/{bob}/overview"' in desk.get("overview").text


def test_nobody_sees_the_being_of_another_owner(desk: Desk) -> None:
    foreign = desk.place.authority.beings.create("Eve", owner="other").being_id

    answers = [desk.browser.get(f"/beings/{each}/overview") for each in (foreign, "x", "0" * 36)]

    assert [each.status for each in answers] == [404] * 3
    assert all("You have no such Being." in each.text for each in answers)


def test_who_is_not_signed_in_signs_in_first(desk: Desk) -> None:
    answer = Browser(desk.place).get(desk.at("overview"))

    assert answer.status == 303
    assert answer["location"].startswith("/sign-in?then=%2Fbeings%2F")


def test_a_being_is_made_on_a_page(desk: Desk) -> None:
    page = desk.browser.get("/beings")

    made = desk.browser.submit(page, "/beings", name="Carla")
    again = desk.browser.submit(page, "/beings", name="carla")

    assert made.status == 303
    assert "<h1>Carla</h1>" in desk.browser.get(made["location"]).text
    assert again.status == 400
    assert "already has a Being" in again.text


def test_every_page_of_the_menu_is_there(desk: Desk) -> None:
    paths = [entry.path for group in MENU if group.of_being for entry in group.entries]

    for path in paths:
        page = desk.get(*path.split("/"))
        assert page.text.count('aria-current="page"') == 1, path
        assert "'unsafe" not in page["content-security-policy"]

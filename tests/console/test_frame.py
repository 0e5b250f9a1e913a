"""The frame of the owner's pages: whose Being they are about, and the way to the others."""

import re

from fastapi.routing import APIRoute

from nacre.console.frame import MENU
from nacre.console.pages import CONTROL_ROUTES, MEMORY_ROUTES
from tests.console.conftest import Desk
from tests.scaffolding.web_site import Browser, form_of


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


def routes_of(method: str) -> list[str]:
    """Return the addresses of the owner's pages, about memories and about control."""
    found = [
        route.path
        for each in (*MEMORY_ROUTES, *CONTROL_ROUTES)
        for route in each.routes
        if isinstance(route, APIRoute) and method in (route.methods or ())
    ]
    assert len(found) > 25
    return sorted(found)


def filled(path: str, being: str) -> str:
    return re.sub(r"\{\w+\}", "x", path.replace("{being_id}", being))


def test_no_form_is_taken_from_another_page(desk: Desk) -> None:
    for path in routes_of("POST"):
        address = filled(path, desk.being)
        assert desk.browser.post(address, {"csrf": "x"}).status == 403, path
        own = {"csrf": form_of(desk.browser.get("/beings"), "/beings")["csrf"]}
        foreign = desk.browser.post(address, own, **{"sec-fetch-site": "cross-site"})
        assert foreign.status == 403, path


def test_no_page_is_shown_or_changed_without_signing_in(desk: Desk) -> None:
    stranger = Browser(desk.place)

    # A document that authorization servers read, with nothing of an owner in it.
    pages = set(routes_of("GET")) - {"/logins/client.json"}
    for path in pages:
        answer = stranger.get(filled(path, desk.being))
        assert answer.status == 303, path
        assert answer["location"].startswith("/sign-in"), path
    for path in routes_of("POST"):
        assert stranger.post(filled(path, desk.being), {}).status == 303, path


def test_no_page_is_about_the_being_of_another_owner(desk: Desk) -> None:
    foreign = desk.place.authority.beings.create("Eve", owner="other").being_id
    own = {"csrf": form_of(desk.browser.get("/beings"), "/beings")["csrf"]}
    got, sent = (
        {filled(path, foreign) for path in routes_of(method) if "{being_id}" in path}
        for method in ("GET", "POST")
    )

    shown = {path for path in got if desk.browser.get(path).status != 404}
    done = {path for path in sent if desk.browser.post(path, own).status != 404}

    assert len(got) > 20
    assert len(sent) > 20
    assert (shown, done) == (set(), set())


def test_no_address_breaks_a_page(desk: Desk) -> None:
    odd = ("%00", "x" * 5000, "%E2%80%AE", "..%2f..", "%22%3E", "%F0%9F%90%88")
    pages = ("memories/{}", "memories/{}/edit", "scenes/{}", "map?group={}", "memories?group={}",
             "memories?place={}", "relations?place={}", "history?before={}", "profile/{}",
             "profile/notes?place={}", "profile/knowledge/entry?key={}", "memories/merge?pick-{}=1",
             "profile/souls/entry?key=voice&version={}", "memories?q={}",
             "overview?said={}")  # fmt: skip

    for page in pages:
        for text in odd:
            answer = desk.browser.get(desk.at(page.format(text)))
            assert answer.status in (200, 400, 404), (page, text, answer.status)
            assert "x" * 3000 not in answer.text or "q=" in page, page
    assert desk.browser.get(desk.at("memories?q=a&q=b")).status == 400


def test_a_being_that_is_erased_meanwhile_is_not_there(desk: Desk) -> None:
    beings = desk.place.authority.beings
    being = beings.get(desk.being)
    assert being is not None

    beings.close(being)
    half = [desk.browser.get(desk.at(page)).status for page in ("overview", "map", "memories")]
    beings.remove(being)

    assert half[:2] == [404, 404]
    assert desk.browser.get(desk.at("overview")).status == 404
    assert "Your first Being" in desk.browser.get("/").text

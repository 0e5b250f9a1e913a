"""What the portal answers to anybody."""

from collections.abc import Iterator

import pytest

from nacre.web.rendering import HEADERS
from nacre.web.templates import STATIC
from tests.scaffolding.web_site import Browser, Site, site


@pytest.fixture(params=["laptop", "gateway"])
def place(request: pytest.FixtureRequest) -> Iterator[Site]:
    with site(request.param) as made:
        yield made


def test_it_says_what_this_is_and_where_mcp_is_spoken(place: Site) -> None:
    answer = place.get("/")

    assert answer.status == 200
    assert answer.json["mcp"] == "/mcp"


def test_it_says_that_it_is_alive(place: Site) -> None:
    assert place.get("/healthz").json["status"] == "ok"


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/redoc", "/static/", "/static/none"])
def test_there_is_nothing_else(place: Site, path: str) -> None:
    assert place.get(path).status == 404


@pytest.mark.parametrize(
    "name", ["..%2f..%2fportal.py", "..%2fbase.html", "%2e%2e", "base.html", "x%00.css"]
)
def test_static_files_are_those_of_one_folder(place: Site, name: str) -> None:
    answer = place.get(f"/static/{name}")

    assert answer.status == 404
    assert b"html" not in answer.body


def test_a_page_loads_every_file_it_names_and_they_are_kept_by_their_content(place: Site) -> None:
    page = Browser(place).get("/sign-in")
    named = {part.split('"')[0] for part in page.text.split('="/static/')[1:]}

    known = {"nacre.css", "icon.svg", "sign-in.js"}
    if place.base.startswith("https"):  # where browsers take passkeys
        known.add("passkeys.js")
    assert {name.partition("?")[0] for name in named} == known
    for name in named:
        answer = place.get(f"/static/{name}")
        assert answer.status == 200
        assert "immutable" in answer["cache-control"]
        assert answer.body == (STATIC / name.partition("?")[0]).read_bytes()


@pytest.mark.parametrize("mark", ["", "?v=", "?v=0123456789ab"])
def test_a_file_is_not_kept_under_another_releases_mark(place: Site, mark: str) -> None:
    answer = place.get(f"/static/nacre.css{mark}")

    assert (answer.status, answer["cache-control"]) == (200, "no-cache")


def test_pages_carry_a_strict_policy_and_no_inline_script_or_style(place: Site) -> None:
    page = Browser(place).get("/sign-in")

    assert {name: page[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in page["content-security-policy"]
    assert "<style" not in page.text
    assert " style=" not in page.text
    assert "<script>" not in page.text
    assert " on" not in page.text.split("<body", 1)[0]


def test_over_tls_browsers_are_told_to_keep_to_it(place: Site) -> None:
    told = Browser(place).get("/sign-in")["strict-transport-security"]

    assert told == ("max-age=31536000" if place.base.startswith("https") else "")


def test_a_page_that_is_not_there_is_a_page(place: Site) -> None:
    answer = Browser(place).get("/nowhere")

    assert answer.status == 404
    assert "<h1>" in answer.text
    assert "frame-ancestors 'none'" in answer["content-security-policy"]


def test_a_foreign_name_is_not_served_on_the_laptop() -> None:
    with site("laptop") as place:
        answer = place.send("GET", "/sign-in", headers={"host": "rebound.example:8642"})

    assert answer.status == 421

"""Every kind of page, as people have it before them: light, dark, narrow, and without scripts."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from infra.browser import NARROW, WIDE, Scheme, window
from infra.crawl import crawl, form_of
from nacre.console.frame import MENU
from tests.end_to_end.browser.places import Place, sampled, visitor

pytestmark = pytest.mark.slow

VIEWS: tuple[tuple[Scheme, tuple[int, int]], ...] = (
    ("light", WIDE),
    ("dark", WIDE),
    ("light", NARROW),
    ("dark", NARROW),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server that the tests of this file only look at."""
    with sampled(tmp_path_factory.mktemp("sample") / "data") as made:
        yield made


def test_no_page_keeps_anybody_out_or_is_wider_than_its_window(
    browser: Browser, place: Place
) -> None:
    with visitor(browser, place) as made:
        pages = crawl(made.page, place.base)
        cookies = made.page.context.cookies()
    assert place.sample is not None
    own = f"/beings/{place.sample.being_id}/"
    menu = {
        form_of((own if group.of_being else "/") + entry.path)
        for group in MENU
        for entry in group.entries
    }
    assert menu <= {form_of(each) for each in pages}
    assert len(pages) > 30

    found = []
    for scheme, size in VIEWS:
        with window(browser, place.base, scheme=scheme, size=size) as made:
            made.page.context.add_cookies(cookies)  # type: ignore[arg-type]  # what it gave
            for address in ["/sign-in", *pages]:
                made.go(address)
                wrong = [*made.wrong, *made.barriers()]
                if made.overflow():
                    wrong.append(f"{made.overflow()} pixels too wide")
                found += [f"{address} {scheme} {size[0]}: {each}" for each in wrong]
                made.wrong.clear()

    assert found == []


def test_every_page_reads_the_same_without_scripts(browser: Browser, place: Place) -> None:
    with visitor(browser, place) as made:
        cookies = made.page.context.cookies()
        pages = crawl(made.page, place.base)

        def read() -> dict[str, str]:
            return {each: made.go(each).locator("main").inner_text() for each in pages}

        with_scripts = read()
    with window(browser, place.base, scripts=False) as made:
        made.page.context.add_cookies(cookies)  # type: ignore[arg-type]  # as above
        without = read()

    assert {each: text.replace("\nCopy", "") for each, text in with_scripts.items()} == without


def test_a_page_is_reached_and_used_by_the_keyboard_alone(browser: Browser, place: Place) -> None:
    with visitor(browser, place, size=NARROW) as made:
        page = made.page
        made.go("/approvals")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        page.locator(".menu-button").focus()
        page.keyboard.press("Enter")
        entry = page.get_by_role("link", name="Language model")
        assert entry.is_visible()
        entry.focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/model")
        assert page.locator("h1").inner_text() == "Language model"


def test_what_is_to_be_pasted_is_copied(browser: Browser, place: Place) -> None:
    with visitor(browser, place) as made:
        made.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        assert place.sample is not None
        made.go(f"/beings/{place.sample.being_id}/connect")
        made.page.get_by_role("button", name="Copy: Step 1 for Claude Code").click()
        copied = made.page.evaluate("() => navigator.clipboard.readText()")

    url = f"{place.base}/mcp/{place.sample.being_id}"
    assert copied == f"claude mcp add --transport http nacre {url}"

"""The first page in a browser: empty, in other languages, on a phone, and by the keyboard."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from infra.browser import NARROW, WIDE
from tests.console.filled import captured, patrolled
from tests.end_to_end.browser.places import Place, gateway, laptop, visitor

pytestmark = pytest.mark.slow

LONG = (
    "Die Donaudampfschifffahrtsgesellschaftskapitänswitwe aus Passau mag am liebsten Roggenbrot",
    "アンは日曜日の朝に庭でトマトに水をやり、それから隣の家の猫のミソにえさをあげる",
    "Ann wohnt seit März in Kiel",
)


@pytest.fixture(params=["laptop", "gateway"])
def empty_place(
    request: pytest.FixtureRequest, browser: Browser, tmp_path: Path
) -> Iterator[Place]:
    """A server that was just installed; it is closed before the browser is."""
    with laptop(tmp_path / "data") if request.param == "laptop" else gateway() as made:
        yield made


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_after_an_install_the_first_page_says_what_to_do(
    browser: Browser, empty_place: Place, size: tuple[int, int]
) -> None:
    with visitor(browser, empty_place, size=size) as made:
        made.go("/")
        main = made.page.locator("main").inner_text()

        assert "Connect a client" in main
        assert "nothing yet." in main
        assert (made.barriers(), made.overflow()) == ([], 0)


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_german_and_japanese_memories_fit_and_are_corrected_by_the_keyboard(
    browser: Browser, size: tuple[int, int]
) -> None:
    with gateway() as place:
        desk = place.desk
        assert desk is not None
        place.elsewhere(
            lambda: [patrolled(desk, *LONG), captured(desk, "/home/ann/庭/" + "x" * 90)]
        )
        with visitor(browser, place, size=size) as made:
            page = made.page
            for path in ("/", "/map", "/memories", "/history"):
                made.go(path if path == "/" else f"/beings/{desk.being}{path}")
                assert (made.barriers(), made.overflow()) == ([], 0), path

            made.go("/")
            today = page.get_by_role("region", name="Learned today")
            edit = today.get_by_role("link", name=f"Edit: {LONG[1][:20]}")
            edit.focus()
            page.keyboard.press("Enter")
            page.wait_for_url("**/edit")
            page.locator("#action").focus()
            page.keyboard.press("Control+a")
            page.keyboard.type("アンは庭で働く")
            page.get_by_role("button", name="Save").focus()
            page.keyboard.press("Enter")
            page.wait_for_url("**said=saved")
            made.go("/")
            assert "アンは庭で働く" in page.get_by_role("region", name="Learned today").inner_text()

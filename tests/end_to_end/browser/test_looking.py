"""The check itself: it sees what keeps people out, and what a page may not do."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from infra.browser import NARROW, window
from tests.end_to_end.browser.places import laptop, visitor

pytestmark = pytest.mark.slow

BAD = """<!doctype html><html><title>x</title><body><img src="data:,"><input>
<p style="color:#bbb;background:#ccc">pale</p><div style="width:2000px">wide</div>"""


def test_what_keeps_people_out_is_found(browser: Browser) -> None:
    with window(browser, "http://127.0.0.1:9", size=NARROW) as made:
        made.page.set_content(BAD)

        rules = {line.partition(" ")[0] for line in made.barriers()}

        assert {"image-alt", "label", "color-contrast", "html-has-lang"} <= rules
        assert made.overflow() > 1000


def test_errors_and_strangers_are_kept(browser: Browser) -> None:
    with window(browser, "http://127.0.0.1:9") as made:
        made.page.set_content(
            "<script>setTimeout(() => { throw new Error('oh') });"
            "fetch('http://127.0.0.1:10/x').catch(() => 0); alert(1)</script>"
        )
        for _ in range(600):
            if len(made.wrong) >= 3:
                break
            made.page.wait_for_timeout(100)

        assert [each.partition(":")[0] for each in sorted(made.wrong)] == [
            "a dialog opened",
            "a request went elsewhere",
            "error",
        ]


def test_a_link_signs_in_with_and_without_scripts(browser: Browser, tmp_path: Path) -> None:
    with laptop(tmp_path) as place:
        with visitor(browser, place) as made:
            assert made.page.locator("form[action='/sign-out']").count() == 1
        with window(browser, place.base, scripts=False) as made:
            made.go("/sign-in")
            made.page.fill("#secret", f"{place.base}/sign-in#{place.link()}")
            made.page.click("#by-link button")
            assert made.page.locator("form[action='/sign-out']").count() == 1

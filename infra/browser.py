"""A real browser, without a window: Debian's Chromium, driven by Playwright.

To look at a page of a server that runs: python -m infra.browser LINK PATH FILE.png [--dark]
[--narrow], where LINK is the sign-in link that `nacre serve` shows.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Response, sync_playwright

AXE = Path(__file__).parents[1] / ".tools" / "node" / "node_modules" / "axe-core" / "axe.min.js"
NAMES = ("chromium", "chromium-browser", "google-chrome")
Scheme = Literal["light", "dark"]
WIDE = (1280, 800)
NARROW = (360, 740)  # a small phone

# What the rules of WCAG 2.0 to 2.2 at level A and AA are called, and axe's own advice.
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def chromium_path() -> str | None:
    """Return where Chromium is, if it is installed."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Window:
    """One window with separate cookies, and a list of everything that went wrong in it."""

    page: Page
    base: str
    wrong: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        """Open a path of the site."""
        self.page.goto(self.base + path)
        return self.page

    def sign_in(self, secret: str) -> None:
        """Sign in by what stands behind the # of a link."""
        self.go(f"/sign-in#{secret}")
        if "/sign-in" in urlsplit(self.page.url).path:  # a link is filled in, and sent by a click
            self.page.locator('form[action="/sign-in"] button').first.click()
        self.page.wait_for_url(lambda url: "/sign-in" not in urlsplit(url).path)

    def barriers(self) -> list[str]:
        """Return the accessibility problems that axe finds, one line for each element."""
        self.page.wait_for_load_state("load")  # with its style
        report: Any = self.page.evaluate(
            "rules => axe.run(document, {runOnly: rules, resultTypes: ['violations']})", _RULES
        )
        return [
            f"{violation['id']} ({violation['impact']}): {node['html'][:160]} | {_reasons(node)}"
            for violation in report["violations"]
            for node in violation["nodes"]
        ]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        self.page.wait_for_load_state("load")
        wider: int = self.page.evaluate(
            "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return wider


def _reasons(node: Any) -> str:
    """Return the measurements of axe, such as a contrast, without its advice."""
    checks = [*node["any"], *node["all"], *node["none"]]
    return "; ".join(check["message"] for check in checks)[:240]


@contextmanager
def browsing() -> Iterator[Browser]:
    """Run the browser; what it needs of Playwright is only the driver, not its own browsers."""
    with sync_playwright() as driver:
        # As root there is no sandbox, and in a container /dev/shm is small.
        options = ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"]
        browser = driver.chromium.launch(executable_path=chromium_path(), args=options)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def window(
    browser: Browser,
    base: str,
    *,
    scheme: Scheme = "light",
    size: tuple[int, int] = WIDE,
    scripts: bool = True,
) -> Iterator[Window]:
    """Open a window; `wrong` of it lists errors, refusals by the page's policy, and strangers.

    With `scripts=False` pages are shown as to somebody who has switched JavaScript off.
    """
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        reduced_motion="reduce",
        java_script_enabled=scripts,
        locale="en-GB",
        timezone_id="UTC",
    )
    context.set_default_timeout(60_000)  # a machine with much else to do
    if scripts and AXE.is_file():
        context.add_init_script(path=AXE)
    page = context.new_page()
    opened = Window(page, base)
    page.on("pageerror", lambda error: opened.wrong.append(f"error: {error}"))
    page.on("console", lambda message: _keep(opened, message))
    page.on("request", lambda request: _known(opened, request.url))
    page.on("response", lambda answer: _answered(opened, answer))
    page.on("dialog", lambda dialog: _closed(opened, dialog))
    try:
        yield opened
    finally:
        context.close()


def _closed(opened: Window, dialog: Dialog) -> None:
    opened.wrong.append("a dialog opened")
    dialog.dismiss()


def _answered(opened: Window, answer: Response) -> None:
    if answer.status >= 500:
        opened.wrong.append(f"an answer of {answer.status}: {answer.url}")


def _keep(opened: Window, message: ConsoleMessage) -> None:
    # An answer of 4xx to a form is one of the pages that tests ask for.
    if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
        opened.wrong.append(f"{message.type}: {message.text}")


def _known(opened: Window, url: str) -> None:
    if not url.startswith((f"{opened.base}/", "data:")):
        opened.wrong.append(f"a request went elsewhere: {url}")


def main(words: list[str]) -> None:
    """Take a picture of one page."""
    link, path, file = (word for word in words if not word.startswith("--"))
    parts = urlsplit(link)
    scheme: Scheme = "dark" if "--dark" in words else "light"
    size = NARROW if "--narrow" in words else WIDE
    with (
        browsing() as browser,
        window(browser, f"{parts.scheme}://{parts.netloc}", scheme=scheme, size=size) as opened,
    ):
        opened.sign_in(parts.fragment)
        opened.go(path).screenshot(path=file, full_page=True)
        for line in [*opened.wrong, *(opened.barriers() if AXE.is_file() else ())]:
            print(line)
        print(f"{file}: {opened.page.url}, {opened.overflow()} px too wide")


if __name__ == "__main__":
    main(sys.argv[1:])

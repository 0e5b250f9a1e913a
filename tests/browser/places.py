"""Servers that a browser goes to: the whole laptop server, or the functions of a stack."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser

from infra.browser import Window, window
from tests.cli.processes import finish, serving, start


@dataclass
class Place:
    """A server, by its address, and how to come in."""

    base: str
    link: Callable[[], str]

    def signed_in(self, made: Window) -> Window:
        """Sign a window of this place in."""
        made.sign_in(self.link())
        return made


@contextmanager
def laptop(folder: Path) -> Iterator[Place]:
    """Run `nacre serve` over a data folder."""
    where = ("--data-dir", str(folder))
    with serving(*where) as server:
        base = server.url.removesuffix("/mcp")

        def link() -> str:
            code, out, err = finish(start("owner", "bootstrap", "--url", base, *where))
            assert code == 0, err
            return out.strip().rpartition("#")[2]

        yield Place(base, link)


@contextmanager
def visitor(browser: Browser, place: Place, **how: object) -> Iterator[Window]:
    """Open a signed-in window, in which nothing may go wrong until it is closed."""
    with window(browser, place.base, **how) as made:  # type: ignore[arg-type]  # its own options
        yield place.signed_in(made)
        assert made.wrong == []

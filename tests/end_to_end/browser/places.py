"""Servers that a browser goes to: the whole laptop server, or the functions of a stack."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from fastapi import FastAPI
from playwright.sync_api import Browser

from infra.browser import Window, window
from infra.local_cloud import free_port
from infra.sample import Sample, make
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.console.parts import control_pages
from tests.access.conftest import Time
from tests.being.memory.minds import Minded
from tests.cli.processes import finish, serving, start
from tests.console.conftest import Desk, console_over
from tests.console.controlling import Controls, control_over
from tests.end_to_end.clients.oauth_fronts import over_http
from tests.scaffolding.web_site import AddRoutes, site
from tests.scaffolding.web_site import Browser as Client

T = TypeVar("T")


@dataclass
class Place:
    """A server, by its address, and how to come in."""

    base: str
    link: Callable[[], str]
    sample: Sample | None = None
    desk: Desk | None = None
    # Runs what needs an event loop of its own: the main thread has the browser's.
    elsewhere: Callable[[Callable[[], Any]], Any] = field(default=lambda run: run())

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
def sampled(folder: Path) -> Iterator[Place]:
    """Run `nacre serve` over a folder with a life in it."""
    with ThreadPoolExecutor(1) as thread:
        made = thread.submit(make, folder).result()
    with laptop(folder) as place:
        place.sample = made
        yield place


@contextmanager
def gateway() -> Iterator[Place]:
    """Serve the functions of a stack, as API Gateway calls them, over HTTP."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    kept: list[Minded] = []
    made: list[Controls] = []

    def pages(database: SqliteDatabase, data: Any, time: Time, being_id: str) -> AddRoutes:
        add_console = console_over(database, data, time, being_id, kept)
        control, parts = control_over(data, time, kept[0], is_laptop=False)
        made.append(parts)

        def add(app: FastAPI) -> None:
            add_console(app)
            control_pages(control)(app)

        return add

    with ThreadPoolExecutor(1) as thread:
        opened = _in(thread, site("gateway", public_url=base, pages=pages))
        with opened as place, over_http(place, port):
            desk = Desk(place, Client(place), kept[0], made[0])

            def elsewhere(run: Callable[[], T]) -> T:
                return thread.submit(run).result()

            yield Place(base, lambda: elsewhere(place.link), desk=desk, elsewhere=elsewhere)


@contextmanager
def _in(thread: ThreadPoolExecutor, context: AbstractContextManager[T]) -> Iterator[T]:
    """Enter and leave a context in another thread."""
    value = thread.submit(context.__enter__).result()
    try:
        yield value
    finally:
        thread.submit(context.__exit__, None, None, None).result()


@contextmanager
def visitor(browser: Browser, place: Place, **how: object) -> Iterator[Window]:
    """Open a signed-in window, in which nothing may go wrong until it is closed."""
    with window(browser, place.base, **how) as made:  # type: ignore[arg-type]  # its own options
        yield place.signed_in(made)
        assert made.wrong == []

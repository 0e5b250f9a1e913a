"""The console as both fronts serve it, over a mind that the tests fill."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from fastapi import FastAPI

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.residue import SqliteResidue
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.being.memory.erase.eraser import Eraser
from nacre.being.memory.index.jobs import LocalIndexWork
from nacre.being.memory.index.maintenance import IndexMaintenance
from nacre.console.parts import Console, control_pages, memory_pages
from nacre.jobs.lease import Leases
from tests.access.conftest import Time
from tests.being.memory.keeping import queue_of
from tests.being.memory.minds import Minded, builtin, minded
from tests.console.controlling import Controls, control_over
from tests.scaffolding.web_site import AddRoutes, Answer, Browser, Site, form_of, site


@dataclass
class Desk:
    """A signed-in browser at the console, and what the pages stand on."""

    place: Site
    browser: Browser
    own: Minded  # the mind over the same store, with the tools that write into it
    controls: Controls

    @property
    def being(self) -> str:
        return self.place.being

    def at(self, *parts: str) -> str:
        return "/".join(["/beings", self.being, *parts])

    def get(self, *parts: str, status: Any = 200, **query: str) -> Answer:
        from urllib.parse import urlencode

        answer = self.browser.get(self.at(*parts) + (f"?{urlencode(query)}" if query else ""))
        assert answer.status == status, answer.text
        return answer

    def submit(self, page: Answer, *action: str, **fields: str) -> Answer:
        """Send a form of a page about the Being, and go on to where the answer leads."""
        goes_to = self.at(*action)
        answer = self.browser.post(goes_to, {**form_of(page, goes_to), **fields})
        if answer.status == 303:
            return self.browser.get(answer["location"])
        return answer


def console_over(
    database: SqliteDatabase, data: Any, time: Time, being_id: str, kept: list[Minded]
) -> AddRoutes:
    """Return the console over a mind, which is kept for the test too."""
    embedder, tokens = builtin()
    own = minded(
        data,
        queue_of(database, time),
        lambda emb_id: LocalVectors(database, emb_id),
        time,
        embedder=embedder,
        tokens=tokens,
        being_id=being_id,
    )
    kept.append(own)
    leases = Leases(data, now=time)
    upkeep = IndexMaintenance(own.indexing, lambda *_: None)
    eraser = Eraser(
        data,
        leases,
        lambda: LocalIndexWork(upkeep, leases),
        lambda: SqliteResidue(database),
        lambda _: None,  # no limit cuts results here
        clock=time,
        rng=Random(2),
    )
    return memory_pages(
        Console(
            table=lambda: data,
            memory_services=lambda: own.mind,
            eraser=lambda: eraser,
            largest_answer=4096,
        )
    )


@contextmanager
def console_desk(front: str, over: Callable[..., AddRoutes] = console_over) -> Iterator[Desk]:
    """Serve the console by a front and sign in."""
    kept: list[Minded] = []

    made: list[Controls] = []

    def pages(database: SqliteDatabase, data: Any, time: Time, being_id: str) -> AddRoutes:
        add_console = over(database, data, time, being_id, kept)
        control, parts = control_over(data, time, kept[0], is_laptop=front == "laptop")
        made.append(parts)

        def add(app: FastAPI) -> None:
            add_console(app)
            control_pages(control)(app)

        return add

    with site(front, pages=pages) as place:
        browser = Browser(place)
        browser.sign_in()
        yield Desk(place, browser, kept[0], made[0])


@pytest.fixture(params=["laptop", "gateway"])
def desk(request: pytest.FixtureRequest) -> Iterator[Desk]:
    """The console on the laptop's server, and behind API Gateway."""
    with console_desk(request.param) as made:
        yield made

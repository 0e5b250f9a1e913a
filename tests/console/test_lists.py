"""Every list of the console lets its owner correct and forget what it shows.

The pages are found by following links from the first one, and each row that shows something that
was stored must lead to both. A new page that no link reaches, or a new list without them, fails.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from starlette.routing import Route

from nacre.being.memory.model.types import SceneDraft, SceneText
from nacre.being.memory.store.targets import TARGETS
from nacre.console.pages import CONTROL_ROUTES, MEMORY_ROUTES
from nacre.core.token_prefixes import API
from nacre.protocol.principal import FULL
from tests.being.memory.keeping import scene_draft
from tests.console.conftest import Desk, console_desk
from tests.console.filled import captured, conversed, patrolled

# How the address of a form ends that corrects or takes away, or of a link to such a form.
CORRECT = frozenset({"edit", "entry", "relations", "take-back"})
FORGET = frozenset({"forget", "delete", "remove", "erase", "revoke"})
_LINKS = frozenset({"edit", "entry", "forget"})
# What was said stays as it was said: what a memory makes of it is corrected there.
ONLY_FORGOTTEN = frozenset({"message", "conversation", "letter", "token"})
# Rows with something stored that lead to neither.
WITHOUT = {
    "wording": "the earlier wordings of a memory go with it, and its page is this one",
}
# Addresses that are no pages, and pages of which nothing is stored here.
NOT_WALKED = {
    "/beings/{being_id}": "leads to the overview",
    "/beings/{being_id}/export/file": "a file",
    "/logins/client.json": "a document for other servers",
    "/logins/callback": "the way back from another server",
    "/servers/tools": "a server's tools, which are trusted or not",
    "/beings/{being_id}/audit/why": "the causes of a recorded call",
    "/beings/{being_id}/policy/version": "an old version of the rules",
    "/rules/version": "the same, for all Beings",
    "/beings/{being_id}/memories/merge": "the form after a selection; it is walked in filled()",
    "/beings/{being_id}/patrols/tasks/{task}": "what a patrol would do",
}


@dataclass
class Row:
    """An item of a list, with where it leads."""

    text: str = ""
    links: list[str] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)  # those that change something

    def ways(self) -> set[str]:
        """Return how the addresses end by which its owner changes something."""
        ends = {urlsplit(link).path.rpartition("/")[2] for link in self.links} & _LINKS
        return ends | {form.rpartition("/")[2] for form in self.forms}


class Rows(HTMLParser):
    """The rows of the main part of a page, the inner ones before those around them."""

    _ROWS = frozenset({"li", "tr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self.whole = Row()
        self._open: list[Row] = []
        self._in_main = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_main = self._in_main or tag == "main"
        if not self._in_main:
            return
        if tag in self._ROWS:
            self._open.append(Row())
        given = dict(attrs)
        for row in (*self._open, self.whole):
            if tag == "a":
                row.links.append(given["href"] or "")
            elif tag == "form" and given.get("method") == "post":
                row.forms.append(given["action"] or "")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._ROWS and self._open:
            self.rows.append(self._open.pop())
        self._in_main = self._in_main and tag != "main"

    def handle_data(self, data: str) -> None:
        if self._in_main:
            for row in (*self._open, self.whole):
                row.text += data


def filled(desk: Desk) -> dict[str, str]:
    """Store one of each kind, and return the word that shows it with its kind."""
    memory, being = desk.own.mind.memory, desk.being
    conversed(desk, "The heron stood still")
    [message] = memory.history.search(being, limit=1, query="heron").messages
    one, other, wording = patrolled(desk, "An otter swam", "A beaver built", "A magpie stole")
    form = desk.get(
        "memories", "merge", **{f"pick-{one.node_id}": "1", f"pick-{other.node_id}": "1"}
    )
    desk.submit(form, "memories", "merge", summary="A badger slept", feeling="")
    changed = SceneText(action="A raven stole", actors=(), when=("2026-07-01",))
    memory.edits.reword(being, wording.node_id, changed, version=wording.version)
    heard = SceneDraft(
        action="A walrus waited",
        actors=("user",),
        when=("2026-07-01",),
        source="extract",
        evidence=(message.message_id,),
    )
    memory.scenes.record(being, [heard, scene_draft("A gannet dived")])
    for target in TARGETS.values():
        key = {"day": "2026-07-01", "field": "voice"}.get(target.keyed_by, "first")
        location = "a lake" if target.name == "partner_map" else None
        memory.entries.append(being, target, f"entry-{target.name}", key=key, location=location)
    memory.relations.upsert(being, "Heidi", relation_type="person", content="keeps a falcon")
    bob = desk.place.authority.beings.create("Bob", owner="me").being_id
    memory.letters.send(bob, "Ann", "A pelican greets")
    captured(desk, "A cormorant was seen")
    desk.place.authority.tokens.issue(
        API, being_id=being, owner="me", scopes=FULL, lifetime=timedelta(days=9), label="puffin"
    )
    return {
        "heron": "message",
        "otter": "memory",
        "beaver": "memory",
        "badger": "memory",
        "magpie": "wording",
        "raven": "memory",
        "walrus": "scene",
        "gannet": "scene",
        "falcon": "relation",
        "pelican": "letter",
        "cormorant": "conversation",
        "puffin": "token",
        **{f"entry-{name}": "entry" for name in TARGETS},
    }


def addresses(links: list[str], here: str) -> Iterator[str]:
    """Yield the addresses on this server that links lead to, without fragments."""
    for link in links:
        address = urlsplit(link)._replace(fragment="")
        if link.startswith("?"):
            address = address._replace(path=urlsplit(here).path)
        if address.path and not (address.scheme or address.netloc):
            yield address.geturl()


def walked(desk: Desk) -> dict[str, Rows]:
    """Follow every link from the first page, and return what is listed on each page."""
    pages: dict[str, Rows] = {}
    waiting = ["/", desk.at("overview")]
    while waiting:
        here = waiting.pop()
        if here in pages:
            continue
        answer = desk.browser.get(here)
        assert answer.status in (200, 303), (here, answer.status)
        if answer.status == 303:
            waiting.append(answer["location"])
        if answer.status == 303 or not answer["content-type"].startswith("text/html"):
            continue
        links = [unescape(link) for link in re.findall(r'<a [^>]*href="([^"]+)"', answer.text)]
        pages[here] = Rows(answer.text)
        waiting += addresses(links, here)
    return pages


def ways_on(row: Row, here: str, word: str, pages: dict[str, Rows]) -> set[str]:
    """Return the ways of a row, and of the pages behind its links that show the same.

    A cluster is labelled by its memories, and leads to them whatever their texts are now.
    """
    ways = row.ways()
    for address in addresses(row.links, here):
        following = pages.get(address)
        if following and (word in following.whole.text or "group=" in address):
            ways |= following.whole.ways()
    return ways


def route_of(address: str) -> str:
    """Return the route of the console that serves an address, or an empty text."""
    for router in (*MEMORY_ROUTES, *CONTROL_ROUTES):
        for route in router.routes:
            if (
                isinstance(route, Route)
                and "GET" in (route.methods or ())
                and route.path_regex.match(urlsplit(address).path)
            ):
                return route.path
    return ""


@pytest.fixture
def desk() -> Iterator[Desk]:
    with console_desk("laptop") as made:
        yield made


def test_each_row_that_shows_something_stored_leads_to_its_correction_and_its_end(
    desk: Desk,
) -> None:
    words = filled(desk)
    pages = walked(desk)
    seen: dict[str, set[str]] = {kind: set() for kind in words.values()}
    lacking = set()
    for here, page in pages.items():
        for row in page.rows:
            for word in words.keys() & set(re.findall(r"[\w-]+", row.text)):
                kind = words[word]
                seen[kind].add(route_of(here))
                if kind in WITHOUT:
                    continue
                ways = ways_on(row, here, word, pages)
                if not ways & FORGET:
                    lacking.add((route_of(here), word, "forget"))
                if kind not in ONLY_FORGOTTEN and not ways & CORRECT:
                    lacking.add((route_of(here), word, "correct"))

    assert lacking == set()
    assert {kind for kind, routes in seen.items() if not routes} == set()


def test_the_walk_reaches_every_page_of_the_console(desk: Desk) -> None:
    filled(desk)
    reached = {route_of(here) for here in walked(desk)}
    there = {
        route.path
        for router in (*MEMORY_ROUTES, *CONTROL_ROUTES)
        for route in router.routes
        if isinstance(route, Route) and "GET" in (route.methods or ())
    }

    assert there - reached == NOT_WALKED.keys()

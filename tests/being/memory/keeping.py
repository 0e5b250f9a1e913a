"""What the tests of the memory share: a store with Beings in it, and a search that only keeps."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from nacre.access.beings import Being, Beings
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Node, SceneDraft
from nacre.being.memory.repositories import Repositories, open_repositories
from nacre.being.memory.store import evidence
from nacre.being.memory.text.searchable_text import IndexChange, IndexEntry
from nacre.core.clock import Clock
from nacre.core.errors import UnavailableError
from nacre.ports.items.table import Delete, Key, Put, Table, Write
from nacre.ports.queue import Queue


@dataclass
class KeptIndex:
    """A SearchIndex that keeps what it is told, beside an item for each entry."""

    applied: dict[str, IndexEntry] = field(default_factory=dict)

    def prepare(
        self,
        being_id: str,
        entries: Sequence[IndexEntry],
        removed: Sequence[str] = (),
        *,
        with_work: bool = False,
    ) -> IndexChange:
        partition = f"{keys.home(being_id)}#V"
        writes: list[Write] = [
            Put({"pk": partition, "sk": entry.id, "schema": 1, "text": entry.text})
            for entry in entries
        ]
        writes += [Delete(Key(partition, point_id)) for point_id in removed]

        def apply() -> None:
            self.applied.update({entry.id: entry for entry in entries})
            for point_id in removed:
                self.applied.pop(point_id, None)

        return IndexChange(writes, apply)


@dataclass
class Renewals:
    """A ClusterVectors that remembers what was to be renewed."""

    clusters: list[str] = field(default_factory=list)
    is_down: bool = False

    def renew(self, being_id: str, cluster_id: str, moved: Iterable[str] = ()) -> None:
        if self.is_down:
            raise UnavailableError("no vectors now")
        self.clusters.append(cluster_id)


@dataclass(frozen=True)
class Keeper:
    """A memory over a store, with a Being in it."""

    table: Table
    queue: Queue
    beings: Beings
    being: Being
    memory: Repositories
    index: KeptIndex
    renewals: Renewals

    @property
    def id(self) -> str:
        """Return the Being's id."""
        return self.being.being_id

    def meta(self, name: str) -> object:
        """Return what the Being's item says."""
        item = self.table.get(keys.meta(self.id))
        assert item is not None
        return item.get(name)

    def another(self, name: str, owner: str = "me") -> str:
        """Return the id of a further Being."""
        return self.beings.create(name, owner=owner).being_id


def keeper(table: Table, queue: Queue, clock: Clock, seed: int = 1) -> Keeper:
    """Return a memory over the table, with a new Being."""
    rng = Random(seed)
    beings = Beings(table, clock=clock, rng=rng)
    index, renewals = KeptIndex(), Renewals()
    return Keeper(
        table=table,
        queue=queue,
        beings=beings,
        being=beings.create("Pearl", owner="me"),
        memory=open_repositories(table, queue, index, renewals, clock=clock, rng=rng),
        index=index,
        renewals=renewals,
    )


def queue_of(database: SqliteDatabase, clock: Clock) -> Queue:
    """Return the queue in the same file."""
    return SqliteQueue(database, "jobs", now=clock)


def divide_early(patch: pytest.MonkeyPatch) -> None:
    """Let nodes have further items for their scenes from the third scene on, and many of them."""
    for name, number in (("MOST", 2), ("MOVED", 1), ("IN_ITEM", 3)):
        patch.setattr(evidence, name, number)


def scene_draft(action: Any = "Ann fed the cat", **fields: Any) -> SceneDraft:
    """Return a scene to record."""
    return SceneDraft(**{"action": action, "actors": ("Ann",), "when": ("2026-07-01",), **fields})


def a_node(number: int, **fields: Any) -> Node:
    """Return a node with an id of its own."""
    given: dict[str, Any] = {
        "node_id": f"00000000-0000-4000-8000-{number:012}",
        "action": f"Ann fed cat {number}",
        "actors": ("Ann",),
        "when": ("2026-07-01",),
        "created_at": "2026-07-01T10:00:00.000Z",
        "stability": 16.0,
        "evidence": (f"SCENE{number}",),
        "due": 200,
        **fields,
    }
    return Node(**given)

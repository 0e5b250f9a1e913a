"""Worlds for patrols: a Being on real stores that can stop before any write, and be copied."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from nacre.access.beings import Beings
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.being.memory.index.cluster_vectors import ClusterMeans
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import SceneDraft
from nacre.being.memory.repositories import Repositories, open_repositories
from nacre.being.memory.store.nodes import Nodes
from nacre.being.patrol.patrol import Patrol
from nacre.being.patrol.planning.plans import Planner
from nacre.being.patrol.run.runs import Receipt
from nacre.core.errors import UnavailableError
from nacre.ports.items.table import Change, Condition, Index, Item, Key, Page, Range, Table, Write
from nacre.ports.queue import Depth, Message, Queue
from nacre.ports.vectors.embedder import Embedder
from nacre.ports.vectors.vector_index import (
    Candidates,
    Filter,
    Listing,
    Point,
    Question,
    VectorIndex,
)
from tests.adapters.conftest import StillClock

Dump = dict[str, Any]


class Stopped(BaseException):
    """The process died."""


@dataclass
class Fuse:
    """Counts writes, and stops the process before one of them."""

    writes: int = 0
    reads: int = 0
    items_read: int = 0
    searches: int = 0
    stop_before: int | None = None  # the number of the write, from 0
    failing_writes: Collection[int] = ()  # the numbers of those that are not done
    failing_reads: Collection[int] = ()
    failing_searches: Collection[int] = ()
    before: Callable[[int], object] | None = None  # is called with the number of each write

    def burn(self) -> None:
        if self.stop_before is not None and self.writes >= self.stop_before:
            raise Stopped
        number = self.writes
        self.writes += 1
        if self.before is not None:
            self.before(number)
        if number in self.failing_writes:
            raise UnavailableError("the store does not answer")

    def read(self, items: int) -> None:
        self.reads += 1
        self.items_read += items
        if self.reads - 1 in self.failing_reads:
            raise UnavailableError("the store does not answer")

    def search(self) -> None:
        self.searches += 1
        if self.searches - 1 in self.failing_searches:
            raise UnavailableError("the index does not answer")


@dataclass
class FusedTable:
    """A Table that counts, and may stop before a write; `before_write` is called there too."""

    table: Table
    fuse: Fuse
    before_write: Callable[[], object] = lambda: None

    def get(self, key: Key) -> Item | None:
        self.fuse.read(1)
        return self.table.get(key)

    def get_many(self, keys: Iterable[Key], *, may_lag: bool = False) -> dict[Key, Item]:
        items = self.table.get_many(keys, may_lag=may_lag)
        self.fuse.read(len(items))
        return items

    def put(self, item: Item, *, when: Condition | None = None) -> None:
        self._burn()
        self.table.put(item, when=when)

    def update(self, key: Key, change: Change, *, when: Condition | None = None) -> Item:
        self._burn()
        return self.table.update(key, change, when=when)

    def delete(self, key: Key, *, when: Condition | None = None) -> Item | None:
        self._burn()
        return self.table.delete(key, when=when)

    def query(
        self,
        partition: str,
        *,
        index: Index | None = None,
        keys: Range | None = None,
        descending: bool = False,
        limit: int | None = None,
        start: str | None = None,
    ) -> Page:
        page = self.table.query(
            partition, index=index, keys=keys, descending=descending, limit=limit, start=start
        )
        self.fuse.read(len(page.items))
        return page

    def transact(self, writes: Sequence[Write], *, token: str | None = None) -> None:
        self._burn()
        self.table.transact(writes, token=token)

    def _burn(self) -> None:
        self.fuse.burn()
        before, self.before_write = self.before_write, lambda: None
        before()
        self.before_write = before


class FusedIndex:
    """A VectorIndex that may stop before a write."""

    def __init__(self, index: VectorIndex, fuse: Fuse) -> None:
        self.index, self.fuse = index, fuse
        self.emb_id, self.is_derived = index.emb_id, index.is_derived
        self.is_told_in_transaction = index.is_told_in_transaction

    def changes(self, being_id: str, ids: Sequence[str]) -> list[Write]:
        return self.index.changes(being_id, ids)

    def settle(self, being_id: str, *, more_follow: bool = False) -> None:
        self.index.settle(being_id, more_follow=more_follow)

    def upsert(self, being_id: str, points: Sequence[Point]) -> None:
        self.fuse.burn()
        self.index.upsert(being_id, points)

    def delete(self, being_id: str, ids: Sequence[str]) -> None:
        self.fuse.burn()
        self.index.delete(being_id, ids)

    def search(self, being_id: str, question: Question) -> Candidates:
        self.fuse.search()
        return self.index.search(being_id, question)

    def list_days(self, being_id: str, where: Filter, *, limit: int) -> Listing:
        return self.index.list_days(being_id, where, limit=limit)

    def scan(self, being_id: str, *, after: str | None, limit: int) -> list[tuple[str, str]]:
        return self.index.scan(being_id, after=after, limit=limit)

    def erase(self, being_id: str) -> None:
        self.fuse.burn()
        self.index.erase(being_id)


@dataclass
class FusedQueue:
    """A Queue that may stop before a message is sent."""

    queue: Queue
    fuse: Fuse

    def send(self, body: str, *, group: str, dedupe_key: str | None = None) -> str:
        self.fuse.burn()
        return self.queue.send(body, group=group, dedupe_key=dedupe_key)

    def receive(self) -> Message | None:
        return self.queue.receive()

    def done(self, message: Message) -> None:
        self.queue.done(message)

    def postpone(self, message: Message, seconds: float) -> None:
        self.queue.postpone(message, seconds)

    def give_back(self, message: Message, seconds: float) -> None:
        self.queue.give_back(message, seconds)

    def depth(self) -> Depth:
        return self.queue.depth()

    def waiting(self) -> int:
        return self.queue.waiting()


@dataclass
class World:
    """A Being with its memory and its patrol; everything it does hangs on one fuse."""

    database: SqliteDatabase
    clock: StillClock
    being_id: str
    embedder: Embedder | None
    table: FusedTable
    queue: FusedQueue
    indexing: IndexSync
    memory: Repositories
    patrol: Patrol
    fuse: Fuse
    planner: Planner | None = None
    generation: int = 0  # how often it was copied: no two make the same ids
    receipts: list[Receipt] = field(default_factory=list)

    def note(self, *actions: str, **fields: Any) -> None:
        """Record scenes; ones of the store's own would be refused at the door."""
        defaults: dict[str, Any] = {"actors": ("Ann",), "when": ("2026-07-01",), **fields}
        for first in range(0, len(actions), 20):
            some = [SceneDraft(action=action, **defaults) for action in actions[first : first + 20]]
            self.memory.scenes.record(self.being_id, some)

    def run(self) -> Receipt:
        """Do a patrol."""
        receipt = self.patrol.run(
            self.being_id, trigger="manual", renew_lease=lambda: None, planner=self.planner
        )
        self.receipts.append(receipt)
        return receipt

    def age(self, days: int) -> None:
        """Let days go by on which the Being is used, without anything being noted."""
        self.clock.move(86_400 * days)
        self.table.table.update(keys.meta(self.being_id), Change(add={"clock": days}))

    def items(self) -> list[Item]:
        """Return every item of the Being, in order."""
        return items_in(self.database)

    def dump(self) -> Dump:
        """Return the whole store with the index, for a comparison byte by byte."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT pk, sk, expires_at, gsi1pk, gsi1sk, gsi2pk, gsi2sk, gsi3pk, gsi3sk, body"
                " FROM data ORDER BY pk, sk"
            ).fetchall()
            messages = connection.execute("SELECT queue, body FROM messages").fetchall()
        index = self.indexing.active_index(self.being_id).index
        points: list[tuple[str, str]] = []
        while page := index.scan(self.being_id, after=points[-1][0] if points else None, limit=500):
            points += page
        return {
            **{f"{row[0]} {row[1]}": row[2:] for row in rows},
            "messages": messages,
            "index": sorted(points),
        }

    def process(self, *, seconds: float = 0, generation: int | None = None) -> "World":
        """Return a new process without a memory, so much later, on the same store."""
        clock = StillClock()
        clock.time = self.clock.time + timedelta(seconds=seconds)
        generation = self.generation + 1 if generation is None else generation
        return world_of(
            self.database, clock, self.being_id, self.embedder, self.planner, generation
        )

    def copy(self) -> "World":
        """Return a world in the same state, with a new fuse and processes without a memory."""
        with self.database.read() as connection:
            content = connection.serialize()
        database = SqliteDatabase(":memory:")
        with database.read() as connection:
            connection.deserialize(content)
        clock = StillClock()
        clock.time = self.clock.time
        return world_of(
            database, clock, self.being_id, self.embedder, self.planner, self.generation + 1
        )


def new_world(
    embedder: Embedder | None,
    planner: Planner | None = None,
    *,
    path: str = ":memory:",
    now: datetime | None = None,
) -> World:
    """Return a world with a new Being."""
    clock = StillClock()
    if now is not None:
        clock.time = now
    database = SqliteDatabase(path)
    being = Beings(SqliteTable(database, now=clock), clock=clock, rng=Random(1))
    being_id = being.create("Pearl", owner="me").being_id
    return world_of(database, clock, being_id, embedder, planner)


def items_in(database: SqliteDatabase) -> list[Item]:
    """Return every item of a store."""
    from nacre.adapters.sqlite.item_json import decode_item

    with database.read() as connection:
        rows = connection.execute("SELECT body FROM data ORDER BY pk, sk").fetchall()
    return [decode_item(row[0]) for row in rows]


def world_of(
    database: SqliteDatabase,
    clock: StillClock,
    being_id: str,
    embedder: Embedder | None,
    planner: Planner | None = None,
    generation: int = 0,
) -> World:
    """Return a world on a store that has the Being."""
    fuse = Fuse()
    rng = Random(7 + generation)
    table = FusedTable(SqliteTable(database, now=clock), fuse)
    queue = FusedQueue(SqliteQueue(database, "jobs", now=clock), fuse)
    indexing = IndexSync(
        table,
        lambda emb_id: FusedIndex(LocalVectors(database, emb_id), fuse),
        embedder,
        clock=clock,
        rng=rng,
        non_durable_table=FusedTable(SqliteTable(database, now=clock, durable=False), fuse),
    )
    means = ClusterMeans(table, Nodes(table, indexing), indexing)
    memory = open_repositories(table, queue, indexing, means, clock=clock, rng=rng)
    patrol = Patrol(table, queue, memory, indexing, clock=clock)
    return World(
        database=database,
        clock=clock,
        being_id=being_id,
        embedder=embedder,
        table=table,
        queue=queue,
        indexing=indexing,
        memory=memory,
        patrol=patrol,
        fuse=fuse,
        planner=planner,
        generation=generation,
    )

"""A run over the items reads their vectors once, and decides as with any other index."""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.adapters.vectors.index_files import IndexFiles
from nacre.adapters.vectors.item_vectors import ItemVectors
from nacre.being.memory.index.maintenance import IndexMaintenance
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Node, SceneDraft
from nacre.core.errors import UnavailableError
from nacre.core.limits import INDEX_FILE_CHANGES, INDEX_GRACE_SECONDS
from nacre.ports.items.table import Table, Write
from nacre.ports.vectors.vector_index import Point, VectorIndex
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import queue_of
from tests.being.memory.minds import Minded, builtin, minded
from tests.scaffolding.index_files import files_of

SCENES = (
    "Bo fed the black cat in the garden",
    "Bo fed the black cat in the garden.",
    "The cat slept on the sofa",
    "Ann finished her tax return",
    "Ann sent her tax return to the office",
    "Ann swam in the cold sea at dawn",
    "Ann went swimming in the sea",
    "The black cat was fed by Bo in the garden",
)
Open = Callable[[Table, SqliteDatabase, str], VectorIndex]


def a_mind(clock: StillClock, open_index: Open) -> Minded:
    embedder, tokens = builtin()
    database = SqliteDatabase(":memory:")
    table = SqliteTable(database, now=clock)
    return minded(
        table,
        queue_of(database, clock),
        lambda emb_id: open_index(table, database, emb_id),
        clock,
        embedder=embedder,
        tokens=tokens,
    )


def in_items(table: Table, _: SqliteDatabase, emb_id: str) -> VectorIndex:
    return ItemVectors(table, emb_id)


def local(_: Table, database: SqliteDatabase, emb_id: str) -> VectorIndex:
    return LocalVectors(database, emb_id)


def memories(mind: Minded) -> list[tuple[Any, ...]]:
    nodes = mind.mind.memory.nodes.page(mind.being_id).nodes
    action_of = {node.node_id: node.action for node in nodes}

    def parts(node: Node) -> tuple[Any, ...]:
        cluster = sorted(other.action for other in nodes if other.cluster_id == node.cluster_id)
        links = sorted(action_of[id_] for id_ in node.similar)
        return node.action, node.status, len(node.evidence), cluster, links

    return sorted(map(parts, nodes))


def patrol(mind: Minded) -> None:
    mind.call("trigger_patrol", messages=[])
    mind.work()


def test_a_run_reads_the_vectors_once(clock: StillClock, monkeypatch: pytest.MonkeyPatch) -> None:
    mind = a_mind(clock, in_items)
    mind.note(*SCENES[:4])
    patrol(mind)
    mind.note(*SCENES[4:])
    queried: list[str] = []
    query = mind.table.table.query

    def counted(partition: str, **options: Any) -> Any:
        queried.append(partition)
        return query(partition, **options)

    monkeypatch.setattr(mind.table.table, "query", counted)
    patrol(mind)

    assert mind.runs()[0].state == "done"
    assert queried.count(keys.vectors(mind.being_id)) == 1


def test_a_run_over_the_items_decides_as_over_an_index(clock: StillClock) -> None:
    over_items, over_index = a_mind(clock, in_items), a_mind(clock, local)
    for mind in (over_items, over_index):
        for first in range(0, len(SCENES), 3):
            mind.note(*SCENES[first : first + 3])
            patrol(mind)

    assert memories(over_items) == memories(over_index)
    # The same event in three spellings is one memory, also when one run hears two of them.
    assert max(count for _, _, count, _, _ in memories(over_items)) > 1


def test_a_run_renews_the_file_before_many_changes_wait(
    clock: StillClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[int] = []
    mind = a_mind(clock, lambda table, _, emb_id: files_of(table, tmp_path, clock)(emb_id))
    files = IndexFiles(mind.table, clock=clock, rng=Random(1))
    for first in range(0, 40, 20):
        mind.note(*(f"Ann saw the {number}th ship" for number in range(first, first + 20)))
    transact = mind.table.table.transact

    def counted(writes: Sequence[Write], **options: Any) -> None:
        transact(writes, **options)
        state = files.read(mind.being_id)
        waiting.append(0 if state is None else len(state.tail))

    monkeypatch.setattr(mind.table.table, "transact", counted)
    patrol(mind)

    assert mind.runs()[0].state == "done"
    state = files.read(mind.being_id)
    assert state is not None
    assert state.changes > 80
    assert max(waiting) < 2 * INDEX_FILE_CHANGES


class StoppedError(Exception):
    """The process died before it told the index."""


@pytest.mark.parametrize("seconds_ahead", [0, 5])
def test_a_patrol_tells_the_index_of_a_note_whose_writer_was_stopped(
    clock: StillClock, monkeypatch: pytest.MonkeyPatch, seconds_ahead: float
) -> None:
    mind = a_mind(clock, local)
    mind.note(*SCENES[:2])

    def stopped(*_: object) -> None:
        raise StoppedError

    with monkeypatch.context() as patched:
        patched.setattr(mind.indexing, "_apply", stopped)
        clock.move(seconds_ahead)
        draft = SceneDraft(action=SCENES[3], actors=("Ann",), when=("2026-07-01",))
        with pytest.raises(StoppedError):
            mind.mind.memory.scenes.record(mind.being_id, [draft])
        clock.move(-seconds_ahead)
    upkeep, marks = IndexMaintenance(mind.indexing), mind.indexing.marks
    assert len(upkeep.check(mind.being_id).missing) == 1

    clock.move(INDEX_GRACE_SECONDS + 1)
    assert list(marks.beings()) == []  # nothing but the work that is announced tells of it
    clock.move(-INDEX_GRACE_SECONDS - 1)
    assert mind.mind.memory.trigger.sweep().sent == 1
    mind.work()

    assert mind.runs()[0].state == "done"
    assert upkeep.check(mind.being_id).is_in_sync
    assert [*marks.of_points(mind.being_id)] == []


def test_a_run_that_was_stopped_before_it_told_the_index_goes_on_and_tells_it(
    clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mind = a_mind(clock, local)
    mind.note(*SCENES)
    upkeep, marks = IndexMaintenance(mind.indexing), mind.indexing.marks
    upsert = LocalVectors.upsert
    calls: list[int] = []

    def failing(index: LocalVectors, being_id: str, points: Sequence[Point]) -> None:
        calls.append(len(points))
        if len(calls) > 2:
            raise UnavailableError("the index does not answer")
        upsert(index, being_id, points)

    with monkeypatch.context() as patched:
        patched.setattr(LocalVectors, "upsert", failing)
        patrol(mind)
    assert mind.runs()[0].state == "blocked"
    assert not upkeep.check(mind.being_id).is_in_sync
    clock.move(INDEX_GRACE_SECONDS + 1)
    assert list(marks.beings()) == []
    assert mind.mind.memory.trigger.sweep().beings == 1

    mind.work()

    assert mind.runs()[0].state == "done"
    assert upkeep.check(mind.being_id).is_in_sync
    assert [*marks.of_points(mind.being_id)] == []

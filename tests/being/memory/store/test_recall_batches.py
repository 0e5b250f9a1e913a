"""Batches of recalls: few items for many recalls, of which none is lost or counted twice."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

import pytest

from nacre.adapters.aws.dynamodb.attribute_values import encode_item
from nacre.being.memory.erase.erase_memories import MemoryEraser
from nacre.being.memory.model import keys
from nacre.being.memory.store.recall_batches import RecallBatch
from nacre.being.memory.store.recall_log import (
    RecallLog,
    counted_nodes,
    recalls_between,
    waiting_batches,
    waiting_recalls,
)
from nacre.core.errors import NewerSchemaError, UnavailableError
from nacre.core.ids import new_uuid, ulid
from nacre.core.limits import RECALL_BATCH_BYTES, RECALL_BATCH_SECONDS
from nacre.ports.items.table import Change, Condition, Delete, Item, Key
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, a_node
from tests.being.patrol.worlds import FusedTable, World, new_world
from tests.end_to_end.load.units import size

CATS = [f"Ann fed cat {number} in the yard" for number in range(8)]


@pytest.fixture
def world() -> Iterator[World]:
    world = new_world(None)
    world.note(*CATS)
    world.run()
    yield world
    world.database.close()


def node_ids(world: World) -> list[str]:
    return [node.node_id for node in world.memory.nodes.page(world.being_id).nodes]


def counts(world: World) -> list[int]:
    nodes = world.memory.nodes.page(world.being_id).nodes
    return [node.reactivation_count for node in nodes]


@pytest.mark.parametrize(("nodes", "in_batch"), [(1, 12), (3, 6), (10, 2), (20, 1)])
def test_a_batch_takes_what_one_write_unit_does(
    kept: Keeper, clock: StillClock, nodes: int, in_batch: int
) -> None:
    rng = Random(nodes)
    some = [a_node(number, node_id=new_uuid(rng)) for number in range(nodes)]
    kept.memory.nodes.add(kept.id, some)
    for _ in range(3 * in_batch):
        clock.move(1)
        kept.memory.recalls.add(kept.id, dict.fromkeys([node.node_id for node in some], 1))

    batches = waiting_batches(kept.table, kept.id)
    assert [len(batch.recalls) for batch in batches] == [in_batch] * 3
    items = kept.table.query(keys.recalls(kept.id)).items
    assert all(size(encode_item(item)) <= RECALL_BATCH_BYTES for item in items)
    recalls = waiting_recalls(kept.table, kept.id)
    assert [recall.name for recall in recalls] == sorted(recall.name for recall in recalls)


def test_a_batch_takes_recalls_for_a_day(kept: Keeper, clock: StillClock) -> None:
    kept.memory.nodes.add(kept.id, [a_node(1)])
    began, times = clock.time, []
    for seconds in (0, RECALL_BATCH_SECONDS - 1, 1, -RECALL_BATCH_SECONDS):
        clock.move(seconds)
        times.append(clock.time)
        kept.memory.recalls.add(kept.id, {a_node(1).node_id: 1})

    batches = waiting_batches(kept.table, kept.id)
    assert sorted(len(batch.recalls) for batch in batches) == [1, 1, 2]

    def logged(first: datetime, last: datetime) -> list[str]:
        return [recall.at for recall in recalls_between(kept.table, kept.id, first, last)]

    second = timedelta(seconds=1)
    for time in times:
        assert len(logged(time, time)) == times.count(time)
    assert logged(began + second, times[1]) == [f"{times[1]:%Y-%m-%dT%H:%M:%S}.000Z"]
    assert logged(began + second, times[1] - second) == []


def test_a_batch_that_takes_more_is_not_announced_again(world: World) -> None:
    [node_id, *_] = node_ids(world)
    reads = []
    for _ in range(4):
        before = world.fuse.reads
        world.memory.recalls.add(world.being_id, {node_id: 1})
        reads.append(world.fuse.reads - before)

    assert reads == [2, 1, 1, 1]  # the node, and once the announcement
    assert world.table.get(keys.uncounted(world.being_id)) is not None


def test_a_batch_that_was_counted_begins_again(kept: Keeper) -> None:
    kept.memory.nodes.add(kept.id, [a_node(1)])
    node_id = a_node(1).node_id
    kept.memory.recalls.add(kept.id, {node_id: 1})
    [counted] = waiting_batches(kept.table, kept.id)
    kept.table.transact([Delete(counted.key, counted.is_unchanged)])
    kept.table.delete(keys.uncounted(kept.id))

    kept.memory.recalls.add(kept.id, {node_id: 2})

    [batch] = waiting_batches(kept.table, kept.id)
    assert batch.key == counted.key
    assert [recall.times for recall in batch.recalls] == [{node_id: 2}]
    assert kept.table.get(keys.uncounted(kept.id)) is not None


def test_a_recall_after_its_batch_was_counted_announces_itself(world: World) -> None:
    [node_id, *_] = node_ids(world)
    reader = world.process()
    for number in range(1, 4):
        reader.memory.recalls.add(world.being_id, {node_id: 1})
        reader.memory.recalls.add(world.being_id, {node_id: 1})
        assert world.table.get(keys.uncounted(world.being_id)) is not None
        world.run()
        assert counts(world)[0] == 2 * number
        assert world.table.get(keys.uncounted(world.being_id)) is None


def test_a_batch_that_another_process_began_again_is_announced(world: World) -> None:
    """The one that began it again may have stopped before it announced that."""
    [node_id, *_] = node_ids(world)
    reader = world.process()
    reader.memory.recalls.add(world.being_id, {node_id: 1})
    reader.memory.recalls.add(world.being_id, {node_id: 1})
    [batch] = waiting_batches(world.table, world.being_id)
    world.run()
    other = f"r:{ulid(1, 1)}"
    change = Change(set={other: {node_id: 1}, "last": other[2:], "schema": 2})
    world.table.update(batch.key, change)

    reader.memory.recalls.add(world.being_id, {node_id: 1})

    assert world.table.get(keys.uncounted(world.being_id)) is not None
    world.run()
    assert counts(world)[0] == 4


def test_a_patrol_deletes_a_batch_in_one_write(world: World) -> None:
    [node_id, *_] = node_ids(world)
    quiet = world.copy()
    writes = []
    for copy, recalls in ((quiet, 1), (world, 10)):
        for _ in range(recalls):
            copy.memory.recalls.add(copy.being_id, {node_id: 1})
        before = copy.fuse.writes
        copy.run()
        writes.append(copy.fuse.writes - before)
    assert writes[0] == writes[1]
    quiet.database.close()


def test_recalls_of_the_earlier_form_are_counted_and_erased(
    kept: Keeper, clock: StillClock
) -> None:
    nodes = [a_node(1), a_node(2)]
    ids = [node.node_id for node in nodes]
    kept.memory.nodes.add(kept.id, nodes)
    name = ulid(int(clock.time.timestamp() * 1000), 7)
    single = {f"n:{id_}": count for count, id_ in enumerate(ids, 1)}
    at = f"{clock.time:%Y-%m-%dT%H:%M:%S}.000Z"
    old = {**Key(keys.recalls(kept.id), name).attributes(), "schema": 1, "at": at, **single}
    kept.table.put(old)

    [recall] = waiting_recalls(kept.table, kept.id)
    assert (recall.name, recall.at, recall.times) == (name, at, {ids[0]: 1, ids[1]: 2})
    counted = counted_nodes(kept.table, kept.id, now="9999")
    assert [counted[id_].reactivation_count for id_ in ids] == [1, 2]

    MemoryEraser(kept.table, clock=clock, rng=Random(1)).node(kept.id, ids[0])
    [batch] = waiting_batches(kept.table, kept.id)
    assert [recall.times for recall in batch.recalls] == [{ids[1]: 2}]
    kept.table.delete(batch.key, when=batch.is_unchanged)
    assert waiting_batches(kept.table, kept.id) == []


def test_batches_of_a_later_version_are_refused() -> None:
    with pytest.raises(NewerSchemaError, match="recalls"):
        RecallBatch.from_item({"pk": "x", "sk": "y", "schema": 3})


def test_a_batch_that_changed_is_not_deleted(kept: Keeper) -> None:
    kept.memory.nodes.add(kept.id, [a_node(1)])
    node_id = a_node(1).node_id
    kept.memory.recalls.add(kept.id, {node_id: 1})
    [before] = waiting_batches(kept.table, kept.id)
    kept.memory.recalls.add(kept.id, {node_id: 1})
    [after] = waiting_batches(kept.table, kept.id)

    assert before.is_unchanged != after.is_unchanged
    assert (len(before.recalls), len(after.recalls)) == (1, 2)


@dataclass
class UnclearTable(FusedTable):
    """A table whose answer to some changes is lost, before or after they are done."""

    lost: tuple[bool, ...] = ()  # of each change in turn, whether it is done

    def update(self, key: Key, change: Change, *, when: Condition | None = None) -> Item:
        """Change the item, or lose the answer."""
        if not self.lost:
            return super().update(key, change, when=when)
        is_done, *rest = self.lost
        self.lost = tuple(rest)
        if is_done:
            super().update(key, change, when=when)
        raise UnavailableError("the store does not answer")


@pytest.mark.parametrize(
    ("lost", "logged"), [((True,), 2), ((False,), 2), ((False, True), 2), ((False, False), 1)]
)
def test_an_append_without_an_answer_counts_once(
    world: World, lost: tuple[bool, ...], logged: int
) -> None:
    [node_id, *_] = node_ids(world)
    table = UnclearTable(world.table, world.fuse)
    log = RecallLog(table, clock=world.clock, rng=Random(3))
    log.add(world.being_id, {node_id: 1})
    table.lost = lost
    if len(lost) == 2:
        with pytest.raises(UnavailableError):
            log.add(world.being_id, {node_id: 1})
    else:
        log.add(world.being_id, {node_id: 1})

    assert len(waiting_recalls(world.table, world.being_id)) == logged
    world.run()
    assert counts(world)[0] == logged

"""The log of recalls: appended by readers, counted by patrols, and never lost in between."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.erase.erase_memories import MemoryEraser
from nacre.being.memory.model import keys
from nacre.being.memory.model.lifetime import activity
from nacre.being.memory.model.types import Node
from nacre.being.memory.store.partitions import delete_all
from nacre.being.memory.store.recall_log import NODES_IN_RECALL, counted_nodes, waiting_recalls
from nacre.core.limits import PATROL_RECALLS, RECALLS_WAIT_SECONDS
from nacre.ports.items.table import Change
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, a_node, keeper, queue_of
from tests.being.memory.recalls import with_recalls
from tests.being.patrol.invariants import check
from tests.being.patrol.worlds import Stopped, World, new_world

CATS = [f"Ann fed cat {number} in the yard" for number in range(30)]


def add(kept: Keeper, *nodes: Node) -> list[str]:
    kept.memory.nodes.add(kept.id, nodes)
    return [node.node_id for node in nodes]


def counted_node(kept: Keeper, clock: StillClock, node_id: str) -> Node:
    now = f"{clock.time:%Y-%m-%dT%H:%M:%S}.000Z"
    return counted_nodes(kept.table, kept.id, now=now)[node_id]


def remembering(*actions: str) -> World:
    world = new_world(None)
    world.note(*actions)
    world.run()
    return world


def counts(world: World) -> dict[str, int]:
    nodes = world.memory.nodes.page(world.being_id).nodes
    return {node.node_id: node.reactivation_count for node in nodes}


def log_of(world: World) -> int:
    return len(waiting_recalls(world.table, world.being_id))


def test_a_recall_is_one_append_and_changes_no_memory(kept: Keeper) -> None:
    nodes = [a_node(1), a_node(2)]
    ids = add(kept, *nodes)
    kept.memory.recalls.add(kept.id, dict.fromkeys(ids, 1))

    assert kept.memory.nodes.page(kept.id).nodes == tuple(nodes)
    [entry] = waiting_recalls(kept.table, kept.id)
    assert entry.times == dict.fromkeys(ids, 1)
    assert {
        node.reactivation_count for node in with_recalls(kept.table, kept.id, ids).values()
    } == {1}


def test_only_the_first_recall_after_a_patrol_announces_itself() -> None:
    world = remembering("Ann fed the cat")
    [node_id] = counts(world)
    writes = []
    for _ in range(3):
        before = world.fuse.writes
        world.memory.recalls.add(world.being_id, {node_id: 1})
        writes.append(world.fuse.writes - before)

    assert writes == [2, 1, 1]
    world.database.close()


def test_a_recall_is_shown_to_the_hour(kept: Keeper, clock: StillClock) -> None:
    [node_id] = add(kept, a_node(1, last_activated="2026-07-28T11:30:00.000Z"))
    seen = []
    for _ in range(3):
        kept.memory.recalls.add(kept.id, {node_id: 1})
        node = counted_node(kept, clock, node_id)
        seen.append((node.reactivation_count, node.last_activated))
        clock.move(1800)

    assert seen == [
        (1, "2026-07-28T11:30:00.000Z"),
        (2, "2026-07-28T12:30:00.000Z"),
        (3, "2026-07-28T13:00:00.000Z"),
    ]


@pytest.mark.parametrize(
    ("amounts", "revives"), [([1], False), ([2], True), ([1, 1], True), ([5], True)]
)
def test_a_dead_node_comes_back_after_two_more(
    kept: Keeper, amounts: list[int], revives: bool
) -> None:
    dead = a_node(1, status="dead", reactivation_count=7, count_at_death=7, due=None)
    [node_id] = add(kept, dead)
    for amount in amounts:
        kept.memory.recalls.add(kept.id, {node_id: amount})

    node = with_recalls(kept.table, kept.id, [node_id])[node_id]
    recalled = replace(dead, reactivation_count=7 + sum(amounts))
    assert replace(node, last_activated=None) == recalled
    assert node.is_revivable is revives
    assert kept.meta("gsi1pk") == keys.work(kept.id)  # the next sweep sends a patrol


def test_what_cannot_be_recalled_is_left_alone(kept: Keeper) -> None:
    nodes = [
        a_node(1, status="merged", merged_into="x"),
        a_node(2, status="dead", reason="undone", count_at_death=0),
        a_node(3),
    ]
    ids = add(kept, *nodes)
    kept.memory.recalls.add(kept.id, {ids[0]: 2, ids[1]: 2, ids[2]: 0, "unknown": 1})

    assert waiting_recalls(kept.table, kept.id) == []


def test_no_recall_is_lost_among_threads(tmp_path: Path, clock: StillClock) -> None:
    database = SqliteDatabase(tmp_path / "nacre.db")
    kept = keeper(SqliteTable(database, now=clock), queue_of(database, clock), clock)
    ids = add(kept, a_node(1), a_node(2, status="dead", count_at_death=0, due=None))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: kept.memory.recalls.add(kept.id, dict.fromkeys(ids, 1)), range(24)))

    nodes = with_recalls(kept.table, kept.id, ids)
    assert [node.reactivation_count for node in nodes.values()] == [24, 24]
    database.close()


def test_what_is_shown_of_recalls_is_true(kept: Keeper, clock: StillClock) -> None:
    [living, dead] = add(
        kept, a_node(1), a_node(2, status="dead", reactivation_count=3, count_at_death=3, due=None)
    )
    assert "not recalled" in activity(a_node(1))
    rng = Random(5)
    for number in range(1, 40):
        clock.move(rng.choice((1, 60, 1200, 3000, 3601, 90_000)))
        if number == 20:
            clock.time += timedelta(days=900)  # wrong for one recall
        kept.memory.recalls.add(kept.id, {living: 1, dead: 2})
        if number == 20:
            clock.time -= timedelta(days=900)
            continue
        for node_id, counted in ((living, number), (dead, 3 + 2 * number)):
            node = counted_node(kept, clock, node_id)
            shown = activity(node)
            assert f"recalls and repeated notes: {counted}, " in shown
            assert node.last_activated is not None
            assert f"within an hour of {node.last_activated} " in shown
            last = datetime.fromisoformat(node.last_activated)
            assert timedelta(0) <= clock.time - last < timedelta(seconds=3600)


def test_recalls_of_a_merged_memory_count_in_the_merge_and_back(kept: Keeper) -> None:
    ids = add(kept, a_node(1), a_node(2, importance=0.9))
    kept.memory.recalls.add(kept.id, dict.fromkeys(ids, 1))
    merge = kept.memory.edits.merge(kept.id, ids, action="Ann fed both cats").node
    assert merge.node_id not in ids

    counted = counted_nodes(kept.table, kept.id, now="9999")
    assert {node_id: node.reactivation_count for node_id, node in counted.items()} == {
        merge.node_id: 2
    }

    kept.memory.recalls.add(kept.id, {merge.node_id: 3})
    kept.memory.edits.undo_merge(kept.id, merge.node_id)
    counted = counted_nodes(kept.table, kept.id, now="9999")
    assert {node_id: node.reactivation_count for node_id, node in counted.items()} == {
        ids[0]: 1,
        ids[1]: 4,  # the stronger source
    }


def test_recalls_that_wait_for_a_day_are_work(kept: Keeper, clock: StillClock) -> None:
    [node_id] = add(kept, a_node(1))
    kept.memory.trigger.sweep()
    no_work = Change(remove=frozenset({"gsi1pk", "gsi1sk", "queued_at"}))
    kept.table.update(keys.meta(kept.id), no_work)  # as at the end of a patrol
    kept.memory.recalls.add(kept.id, {node_id: 1})
    clock.move(RECALLS_WAIT_SECONDS - 60)
    assert kept.memory.trigger.sweep().sent == 0

    clock.move(61)

    assert kept.memory.trigger.sweep().sent == 1
    assert kept.memory.trigger.sweep().sent == 0


def test_a_read_that_ends_after_its_being_was_erased_leaves_nothing(kept: Keeper) -> None:
    [node_id] = add(kept, a_node(1))
    node = a_node(1)
    for partition in (keys.recalls(kept.id), keys.nodes(kept.id), keys.home(kept.id)):
        delete_all(kept.table, partition)

    kept.memory.recalls.add(kept.id, {node_id: 1}, nodes={node_id: node})

    assert waiting_recalls(kept.table, kept.id) == []
    assert kept.table.get(keys.uncounted(kept.id)) is None


def test_erasing_a_memory_erases_its_recalls(kept: Keeper, clock: StillClock) -> None:
    ids = add(kept, a_node(1), a_node(2))
    kept.memory.recalls.add(kept.id, dict.fromkeys(ids, 1))
    kept.memory.recalls.add(kept.id, {ids[0]: 1})

    MemoryEraser(kept.table, clock=clock, rng=Random(1)).node(kept.id, ids[0])

    assert [entry.times for entry in waiting_recalls(kept.table, kept.id)] == [{ids[1]: 1}, {}]


# Counted by a patrol


@pytest.mark.parametrize("recalls", [1, 39, 41, 130])
def test_a_patrol_counts_each_recall_once(recalls: int) -> None:
    world = remembering(*CATS)
    ids = list(counts(world))
    rng = Random(recalls)
    expected = dict.fromkeys(ids, 0)
    for _ in range(recalls):
        for node_id in rng.sample(ids, rng.choice((1, 3, NODES_IN_RECALL + 5))):
            expected[node_id] += 1
            world.memory.recalls.add(world.being_id, {node_id: 1})

    receipt = world.run()

    assert counts(world) == expected
    nodes = world.memory.nodes.page(world.being_id).nodes
    assert all(node.reactivation_count == node.reactivation_done for node in nodes)
    assert receipt.counts["refreshed"] == sum(count > 0 for count in expected.values())
    assert log_of(world) == 0
    assert world.table.get(keys.uncounted(world.being_id)) is None
    check(world.items(), world.being_id, emb_id=None)
    world.database.close()


def test_all_recalls_since_the_last_patrol_strengthen_as_those_of_one_day() -> None:
    worlds = [remembering(*CATS) for _ in range(2)]
    for world, times in zip(worlds, (1, 130), strict=True):
        [node_id, *_] = counts(world)
        for _ in range(times):
            world.memory.recalls.add(world.being_id, {node_id: 130 // times})
        world.age(3)
        world.run()

    strengths = []
    for world in worlds:
        [node_id, *_] = counts(world)
        node = world.memory.nodes.get(world.being_id, node_id)
        assert node is not None
        strengths.append((node.stability, node.clock0, node.due))
        world.database.close()
    assert strengths[0] == strengths[1]


def test_a_dry_run_foresees_what_recalls_do() -> None:
    world = remembering(*CATS)
    ids = list(counts(world))
    for node_id in ids[:3]:
        world.memory.recalls.add(world.being_id, {node_id: 1})

    foreseen = world.patrol.dry_run(world.being_id)
    receipt = world.run()

    assert foreseen.counts["recalls"] == receipt.counts["recalls"] == 3
    assert foreseen.counts["refreshed"] == receipt.counts["refreshed"] == 3
    world.database.close()


def test_a_run_counts_so_many_and_the_next_one_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    from nacre.being.patrol.steps import count_recalls, finish_run

    monkeypatch.setattr(count_recalls, "PATROL_RECALLS", 50)
    monkeypatch.setitem(finish_run._CAPS, "recalls", 50)
    assert PATROL_RECALLS > 50
    world = remembering("Ann fed the cat")
    [node_id] = counts(world)
    for _ in range(120):
        world.memory.recalls.add(world.being_id, {node_id: 1})

    receipts = [world.run(), world.run(), world.run()]

    assert [receipt.backlog > 0 for receipt in receipts] == [True, False, False]
    assert counts(world) == {node_id: 120}
    world.database.close()


def test_a_recall_that_is_stopped_anywhere_is_counted_once_or_never_happened() -> None:
    start = remembering("Ann fed the cat")
    [node_id] = counts(start)
    seen = []
    for number in range(3):
        world = start.copy()
        world.fuse.stop_before = number
        with suppress(Stopped):
            world.memory.recalls.add(world.being_id, {node_id: 1})
        after = world.copy()
        logged = log_of(after)
        after.run()
        assert counts(after) == {node_id: logged}
        assert log_of(after) == 0
        seen.append(logged)
        for opened in (world, after):
            opened.database.close()
    assert seen == [0, 1, 1]  # before the append, before the announcement, not at all
    start.database.close()


def test_recalls_during_a_patrol_are_counted_by_it_or_by_the_next() -> None:
    start = remembering(*CATS[:4])
    [node_id, *_] = counts(start)
    start.memory.recalls.add(start.being_id, {node_id: 1})
    quiet = start.copy()
    quiet.run()
    for number in range(quiet.fuse.writes):
        world = start.copy()
        reader = world.process()
        reader.memory.recalls.add(reader.being_id, {node_id: 1})  # which opens its batch

        def recall(at: int, number: int = number, reader: World = reader) -> None:
            if at == number:
                reader.memory.recalls.add(reader.being_id, {node_id: 1})

        world.fuse.before = recall
        world.run()
        is_waiting = log_of(world) > 0
        assert (world.table.get(keys.uncounted(world.being_id)) is not None) >= is_waiting
        world.run()
        assert counts(world)[node_id] == 3, number
        world.database.close()
    for opened in (start, quiet):
        opened.database.close()

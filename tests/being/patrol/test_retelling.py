"""A memory that is told again and again lives on, and a forgotten one comes back."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from nacre.being.memory.model import size_limit
from nacre.being.memory.model.types import Node
from tests.being.memory.minds import builtin
from tests.being.patrol.invariants import whole_nodes
from tests.being.patrol.worlds import World, new_world

TOLD = "Ann walks the dog in the park"


@pytest.fixture
def world() -> Iterator[World]:
    new = new_world(builtin()[0])
    yield new
    new.database.close()


def only(world: World) -> Node:
    [node] = world.memory.nodes.page(world.being_id).nodes
    return node


def tell(world: World, action: str = TOLD, *, dated: bool = True, importance: float = 0.0) -> None:
    """Note it on the day of the clock or on one and the same, and let a patrol run."""
    when = [world.clock.time.date().isoformat() if dated else "2026-07-01"]
    world.note(action, when=when, importance=importance)
    world.run()


@pytest.mark.slow
@pytest.mark.parametrize(("every", "times"), [(1, 120), (7, 30)])
@pytest.mark.parametrize("dated", [True, False])
def test_told_daily_or_weekly_for_months_it_never_fades(
    world: World, every: int, times: int, dated: bool
) -> None:
    # Unimportant, so that it would be dead after 51 active days.
    for _ in range(times):
        tell(world, dated=dated)
        assert only(world).status == "active"
        world.age(every)
    assert only(world).scene_count == times
    [whole] = world.memory.nodes.whole(world.being_id, [only(world)])
    assert len(set(whole.evidence)) == times
    assert only(world).stability > 16


def test_a_clock_that_jumps_back_and_forth_does_no_harm(world: World) -> None:
    for number in range(40):
        tell(world)
        assert only(world).status == "active"
        world.clock.time += timedelta(days=400 if number % 7 == 3 else 2)
        if number % 7 == 4:
            world.clock.time -= timedelta(days=399)


def test_one_telling_refreshes_as_a_recall_does(world: World) -> None:
    for action in (TOLD, "Bob sold his boat"):
        world.note(action)
    world.run()
    world.age(30)
    repeated, recalled = (
        node.node_id
        for node in sorted(
            world.memory.nodes.page(world.being_id).nodes, key=lambda entry: entry.action
        )
    )
    world.memory.recalls.add(world.being_id, {recalled: 1})
    world.note("The dog walks Ann in the park")  # something else
    world.note(TOLD + ".", when=["2026-08-02"])
    world.run()
    stored = world.memory.nodes.get_many(world.being_id, [repeated, recalled])
    assert stored[repeated].stability == stored[recalled].stability > 16
    assert stored[repeated].clock0 == stored[recalled].clock0


@pytest.mark.parametrize("dated", [True, False])
def test_a_dying_memory_and_a_dead_one_come_back_when_told(world: World, dated: bool) -> None:
    tell(world, dated=dated)
    for days, status in ((32, "dying"), (300, "dead")):
        world.age(days)
        world.note("Bob sold his boat")
        world.run()
        first = next(
            node for node in world.memory.nodes.page(world.being_id).nodes if node.action == TOLD
        )
        assert first.status == status
        tell(world, dated=dated)
        again = world.memory.nodes.get(world.being_id, first.node_id)
        assert again is not None
        assert again.status == "active"
        assert again.cluster_id is not None
        assert again.clock0 > first.clock0
        assert len(again.evidence) == (2 if status == "dying" else 3)


def test_in_other_words_it_comes_back_too(world: World) -> None:
    tell(world, "Ann painted the fence")
    world.age(300)
    world.note("Bob sold his boat")
    world.run()
    tell(world, "The fence was painted by Ann")
    actions = {node.action: node for node in world.memory.nodes.page(world.being_id).nodes}
    assert set(actions) == {"Ann painted the fence", "Bob sold his boat"}
    assert actions["Ann painted the fence"].status == "active"


def test_a_full_memory_is_followed_by_one_that_lives_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size_limit, "NODE_LIST_BYTES", 400)
    for _ in range(60):
        tell(world)
        world.age(3)
    nodes = world.memory.nodes.page(world.being_id).nodes
    assert sum(len(node.evidence) for node in nodes) == 60
    assert len(nodes) > 1
    newest = max(nodes, key=lambda node: max(node.when))
    assert newest.status == "active"


def test_told_again_a_source_of_a_merge_keeps_the_merged_memory_alive(world: World) -> None:
    tell(world, "Ann bought an oak")
    tell(world, "Ann bought a birch")
    ids = [node.node_id for node in world.memory.nodes.page(world.being_id).nodes]
    merged = world.memory.edits.merge(world.being_id, ids, action="Ann bought an oak and a birch")
    for _ in range(20):
        world.age(6)
        tell(world, "An oak was bought by Ann")
    nodes = world.memory.nodes.get_many(world.being_id, [*ids, merged.node.node_id])
    assert len(world.memory.nodes.page(world.being_id).nodes) == 3
    assert nodes[merged.node.node_id].status == "active"
    assert len(nodes[merged.node.node_id].evidence) == 22

    world.memory.edits.undo_merge(world.being_id, merged.node.node_id)
    oak = next(node for node in nodes.values() if node.action == "Ann bought an oak")
    tell(world, "Ann bought an oak")
    after = world.memory.nodes.get(world.being_id, oak.node_id)
    assert after is not None
    assert after.status == "active"


def test_many_habits_of_an_earlier_version_are_recalled_and_divided(world: World) -> None:
    """A patrol counts all of their recalls, and moves the scenes of as many as it has room for."""
    world.note(*(f"Ann fed animal {number} in barn {number}" for number in range(20)))
    world.run()
    nodes = world.memory.nodes.page(world.being_id).nodes
    told = tuple(f"01JZ{number:022}" for number in range(4500))
    for node in nodes:
        world.table.table.put(replace(node, evidence=told).to_item(world.being_id))
    runs = 0
    while not all(node.earlier for node in world.memory.nodes.page(world.being_id).nodes):
        runs += 1
        for _ in range(45):  # more entries than one transaction counts
            world.memory.recalls.add(world.being_id, dict.fromkeys([n.node_id for n in nodes], 1))
        assert world.run().counts["recalls"] == 45
        assert runs <= len(nodes)
    after = world.memory.nodes.page(world.being_id).nodes
    assert {node.reactivation_count for node in after} == {45 * runs}
    assert {node.evidence for node in world.memory.nodes.whole(world.being_id, after)} == {told}
    whole_nodes(world.items(), world.being_id)

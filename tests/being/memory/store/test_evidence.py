"""The scenes of a memory: the newest in its item, earlier ones in further items, all exact."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.being.memory.erase.erase_memories import MemoryEraser
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Node
from nacre.being.memory.store import evidence
from nacre.being.memory.store.evidence import first_scenes, holders_of, telling_writes
from nacre.being.memory.store.nodes import replacing, rewriting, unchanged
from nacre.being.memory.store.scenes import checked_scene
from nacre.core.errors import ConditionFailedError, NewerSchemaError
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Item
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import (
    Keeper,
    a_node,
    divide_early,
    keeper,
    queue_of,
    scene_draft,
)
from tests.being.memory.stores import sqlite_table
from tests.being.patrol.invariants import whole_nodes

NODE_ID = a_node(1).node_id


def scenes(*numbers: int) -> tuple[str, ...]:
    return tuple(f"01K{number:023}" for number in numbers)


def stored(kept: Keeper, node_id: str = NODE_ID) -> Node:
    node = kept.memory.nodes.get(kept.id, node_id)
    assert node is not None
    return node


def whole(kept: Keeper, node_id: str = NODE_ID) -> Node:
    [node] = kept.memory.nodes.whole(kept.id, [stored(kept, node_id)])
    return node


def further(kept: Keeper) -> tuple[Item, ...]:
    return kept.table.query(keys.evidence(kept.id)).items


def add_as_before(kept: Keeper, *nodes: Node) -> None:
    """Store nodes as versions did that kept all scenes in the item."""
    for node in nodes:
        kept.memory.nodes.add(kept.id, [replace(node, evidence=())])
        kept.table.put(node.to_item(kept.id))


def tell(kept: Keeper, scene_id: str) -> None:
    node = stored(kept)
    after = replace(node, evidence=(*node.evidence, scene_id), version=node.version + 1)
    writes = telling_writes(kept.table, kept.id, node, after, when=unchanged(node))
    kept.table.transact(writes)


def sound(kept: Keeper) -> None:
    whole_nodes((*kept.table.query(keys.nodes(kept.id)).items, *further(kept)), kept.id)


def as_version_0_1_0(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Node, "schema", ItemSchema("memory", 1))


def test_a_memory_with_few_scenes_is_stored_as_always(
    kept: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = a_node(1, evidence=scenes(*range(32)))
    kept.memory.nodes.add(kept.id, [node])

    as_version_0_1_0(monkeypatch)
    assert stored(kept) == node
    assert further(kept) == ()


def test_a_version_that_knows_no_further_items_refuses_a_memory_that_has_some(
    kept: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.memory.nodes.add(kept.id, [a_node(1, evidence=scenes(*range(33)))])

    as_version_0_1_0(monkeypatch)
    with pytest.raises(NewerSchemaError, match=r"memory.* was written by a newer Nacre"):
        stored(kept)


def test_many_scenes_are_divided_and_none_is_lost(kept: Keeper) -> None:
    told = scenes(*range(1, 1200))
    node = a_node(1, evidence=told)
    kept.memory.nodes.add(kept.id, [node])

    assert whole(kept) == node
    after = stored(kept)
    assert (after.evidence, after.earlier, after.scene_count) == (told[1168:], 1168, 1199)
    assert [len(item["scenes"]) for item in further(kept)] == [512, 512, 144]  # type: ignore[arg-type]  # lists
    assert after.noted_at == node.noted_at
    assert first_scenes(kept.table, kept.id, after, 20) == told[:20]
    assert holders_of(kept.table, kept.id, told[600]) == {NODE_ID}
    sound(kept)


def test_the_newest_scene_counts_wherever_it_is(kept: Keeper) -> None:
    node = a_node(1, evidence=("01KZZZZZZZ0000000000000000", *scenes(*range(60))))
    kept.memory.nodes.add(kept.id, [node])

    assert stored(kept).noted_at == node.noted_at


def test_told_one_by_one_it_is_stored_as_if_at_once(kept: Keeper) -> None:
    told = scenes(*range(100))
    kept.memory.nodes.add(kept.id, [a_node(1, evidence=told[:1])])
    for scene_id in told[1:]:
        tell(kept, scene_id)
        assert len(stored(kept).evidence) <= 32
    one_by_one = replace(stored(kept), version=1, node_id="x")
    kept.memory.nodes.add(kept.id, [a_node(2, evidence=told)])

    assert one_by_one == replace(
        stored(kept, a_node(2).node_id), action=one_by_one.action, node_id="x"
    )
    assert whole(kept).evidence == told


def test_what_an_earlier_version_kept_in_one_item_moves_when_it_is_written(kept: Keeper) -> None:
    told = scenes(*range(700))
    add_as_before(kept, a_node(1, evidence=told))
    assert stored(kept) == whole(kept)
    assert first_scenes(kept.table, kept.id, stored(kept), 3) == told[:3]

    kept.memory.edits.pin(kept.id, NODE_ID, pinned=True)

    assert (stored(kept).earlier, stored(kept).pinned) == (672, True)
    assert whole(kept).evidence == told
    tell(kept, "again")
    assert whole(kept).evidence == (*told, "again")
    sound(kept)


def test_a_write_that_keeps_the_scenes_leaves_the_further_items(kept: Keeper) -> None:
    kept.memory.nodes.add(kept.id, [a_node(1, evidence=scenes(*range(700)))])
    before, items = stored(kept), further(kept)
    after = replace(before, pinned=True, version=2)

    assert rewriting(kept.id, before, after) == [replacing(kept.id, before, after)]
    kept.table.transact(rewriting(kept.id, before, after))
    assert (stored(kept), further(kept)) == (after, items)


def test_two_tellings_at_once_lose_nothing(kept: Keeper) -> None:
    told = scenes(*range(32))
    kept.memory.nodes.add(kept.id, [a_node(1, evidence=told)])
    node = stored(kept)
    tell(kept, "first")
    late = replace(node, evidence=(*node.evidence, "second"), version=node.version + 1)

    with pytest.raises(ConditionFailedError):
        kept.table.transact(telling_writes(kept.table, kept.id, node, late, when=unchanged(node)))
    assert kept.memory.nodes.whole(kept.id, [node]) == [node]  # as it was read
    tell(kept, "second")
    assert whole(kept).evidence == (*told, "first", "second")


def test_the_largest_memories_are_merged_and_separated_in_one_transaction_each(
    kept: Keeper,
) -> None:
    nodes = [
        a_node(number, evidence=tuple(f"{number:02}-{told:023}" for told in range(225)))
        for number in range(20)
    ]
    for node in nodes:
        kept.memory.nodes.add(kept.id, [node])
    merged = kept.memory.edits.merge(kept.id, [each.node_id for each in nodes], action="all").node

    assert stored(kept, merged.node_id).scene_count == 4500
    assert set(whole(kept, merged.node_id).evidence) == {
        scene_id for node in nodes for scene_id in node.evidence
    }
    sound(kept)
    kept.memory.edits.undo_merge(kept.id, merged.node_id)
    assert stored(kept, merged.node_id).scene_count == 0
    for node in nodes:
        assert whole(kept, node.node_id).evidence == node.evidence
    sound(kept)


def test_an_erased_scene_is_nowhere_and_an_erased_memory_leaves_no_item(
    kept: Keeper, clock: StillClock
) -> None:
    told = scenes(*range(600))
    kept.memory.nodes.add(kept.id, [a_node(1, evidence=told), a_node(2)])
    for scene_id in (told[3], told[-1]):
        remember(kept, scene_id)
    eraser = MemoryEraser(kept.table, clock=clock, rng=Random(1))

    eraser.scene(kept.id, told[3])

    assert whole(kept).evidence == (*told[:3], *told[4:])
    assert holders_of(kept.table, kept.id, told[3]) == set()
    sound(kept)
    assert eraser.node(kept.id, NODE_ID).counts == {"node": 1, "scene": 1}
    assert further(kept) == ()


def remember(kept: Keeper, scene_id: str, node_id: str = NODE_ID) -> None:
    """Store a scene that a patrol has added to a memory."""
    scene = checked_scene(scene_draft(), "scene", scene_id=scene_id, created_at="2026-07-01")
    kept.table.put(replace(scene, status="consumed", node_id=node_id).to_item(kept.id))


steps = st.lists(
    st.one_of(
        st.just("tell"),
        st.just("tell"),
        st.just("pin"),
        st.integers(0, 30),  # the scene to erase
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 12), st.booleans(), steps)
def test_whatever_happens_to_a_memory_its_scenes_are_exact(
    count: int, is_old: bool, changes: list[Any]
) -> None:
    clock = StillClock()
    with sqlite_table(clock) as (table, database), pytest.MonkeyPatch.context() as patch:
        divide_early(patch)
        kept = keeper(table, queue_of(database, clock), clock)
        told = list(scenes(*range(count + 1)))
        (add_as_before if is_old else add)(kept, a_node(1, evidence=tuple(told)))
        for scene_id in told:
            remember(kept, scene_id)
        numbers = iter(range(100, 200))
        for change in changes:
            if change == "tell":
                [scene_id] = scenes(next(numbers))
                remember(kept, scene_id)
                tell(kept, scene_id)
                told.append(scene_id)
            elif change == "pin":
                kept.memory.edits.pin(kept.id, NODE_ID, pinned=not stored(kept).pinned)
            elif len(told) > 1:
                scene_id = told.pop(change % len(told))
                MemoryEraser(table, clock=clock, rng=Random(1)).scene(kept.id, scene_id)
            assert whole(kept).evidence == tuple(told)
            assert stored(kept).scene_count == len(told)
            sound(kept)


def add(kept: Keeper, node: Node) -> None:
    kept.memory.nodes.add(kept.id, [node])


def test_telling_reads_and_writes_no_more_however_often_it_was_told(laptop: Keeper) -> None:
    written = []
    for number, count in enumerate((40, 4000), start=1):
        node = a_node(number, evidence=scenes(*range(count)))
        laptop.memory.nodes.add(laptop.id, [node])
        before = stored(laptop, node.node_id)
        after = replace(before, evidence=(*before.evidence, *scenes(*range(9000, 9009))))
        writes = telling_writes(laptop.table, laptop.id, before, after, when=unchanged(before))
        written.append(len(writes))
        assert len(before.to_item(laptop.id)["evidence"]) <= evidence.MOST  # type: ignore[arg-type]  # a list
    assert written == [2, 2]

"""No Being reads, changes or notices what another keeps, whatever ids it sends."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from hypothesis import example, given, settings
from hypothesis import strategies as st

from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.memory.store.targets import TARGETS
from nacre.core.errors import NacreError
from nacre.ports.items.table import Item, Range
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, a_node, keeper, queue_of, scene_draft
from tests.being.memory.recalls import with_recalls
from tests.being.memory.stores import sqlite_table

SECRET = "the pearl is under the third stone"


def fill(kept: Keeper, being_id: str) -> list[str]:
    """Let a Being keep something of every kind; return every id and key of it."""
    memory = kept.memory
    written = memory.scenes.record(being_id, [scene_draft(SECRET)], notes=[SECRET])
    memory.nodes.add(being_id, [a_node(7, action=SECRET, cluster_id="cluster-7")])
    memory.relations.upsert(being_id, "Ann", relation_type="person", content=SECRET)
    memory.history.add(being_id, [ChatMessage("user", SECRET)])
    for target in TARGETS.values():
        key = {"day": "2026-07-01", "field": "voice", "id": None}.get(target.keyed_by, "stone")
        memory.entries.append(being_id, target, SECRET, key=key)
    sender = kept.another("Sender")
    letter = memory.letters.send(sender, "Pearl", SECRET)
    return [
        written.scenes[0].scene_id,
        written.notes[0].key,
        a_node(7).node_id,
        "cluster-7",
        letter.letter_id,
        *(message.message_id for message in memory.history.search(being_id, limit=1).messages),
    ]


def owned(kept: Keeper, being_id: str) -> list[Item]:
    """Return all that is kept in the Being's partitions."""
    suffixes = ["", "#T", "#S", "#N", "#E", "#C", "#V", "#M", "#H", "#H#2026-07"]
    return [
        item
        for suffix in suffixes
        for item in kept.table.query(f"B#{being_id}{suffix}", keys=Range()).items
    ]


def attempts(kept: Keeper, being_id: str, text: str) -> list[Callable[[], object]]:
    """Return everything that a Being can try with a text in the place of an id."""
    memory = kept.memory
    return [
        lambda: memory.scenes.get_many(being_id, [text]),
        lambda: memory.scenes.record(being_id, [scene_draft("mine")], replacing=[text]),
        lambda: memory.nodes.get(being_id, text),
        lambda: memory.nodes.in_cluster(being_id, text),
        lambda: memory.recalls.add(being_id, {text: 2}),
        lambda: memory.clusters.get(being_id, text),
        lambda: memory.edits.merge(being_id, [text, a_node(7).node_id], action="mine"),
        lambda: memory.edits.undo_merge(being_id, text),
        lambda: memory.history.get(being_id, text),
        lambda: memory.history.add(being_id, [ChatMessage("user", "mine")], marker_id=text),
        lambda: memory.relations.get(being_id, text),
        lambda: memory.relations.delete(being_id, text),
        lambda: memory.letters.get(being_id, text),
        lambda: memory.letters.mark_read(being_id, text),
        lambda: memory.letters.delete(being_id, text),
        *(partial(memory.entries.get, being_id, target, text) for target in TARGETS.values()),
        *(partial(memory.entries.delete, being_id, target, text) for target in TARGETS.values()),
        *(
            partial(memory.entries.update, being_id, target, text, "mine")
            for target in TARGETS.values()
        ),
    ]


pieces = st.sampled_from(
    [
        "#",
        "B#",
        "S",
        "N",
        "META",
        "IN#",
        "SOUL#voice",
        "..",
        "/",
        "\u200b",
        "\uff03",
        "\uff41",
        " ",
        "@1",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(pieces | st.integers(0, 99), min_size=1, max_size=4), st.booleans())
@example([0, "#", "S"], True)
@example([1], False)
def test_hostile_ids_reach_nothing_of_another_being(
    parts: list[str | int], other_case: bool
) -> None:
    clock = StillClock()
    with sqlite_table(clock) as (table, database):
        kept = keeper(table, queue_of(database, clock), clock)
        ids = [kept.id, *fill(kept, kept.id)]
        attacker = kept.another("Mallory", owner="someone else")
        before = owned(kept, kept.id)
        text = "".join(ids[part % len(ids)] if isinstance(part, int) else part for part in parts)
        if other_case:
            text = text.upper()
        for attempt in attempts(kept, attacker, text):
            with suppress(NacreError):
                assert SECRET not in repr(attempt())

        assert owned(kept, kept.id) == before
        assert SECRET not in repr(owned(kept, attacker))


def test_the_same_ids_in_two_beings_are_two_memories(kept: Keeper) -> None:
    other = kept.another("Coral")
    kept.memory.nodes.add(kept.id, [a_node(1, action="mine")])
    kept.memory.nodes.add(other, [a_node(1, action="theirs")])
    kept.memory.recalls.add(other, {a_node(1).node_id: 3})

    [mine] = with_recalls(kept.table, kept.id, [a_node(1).node_id]).values()
    [theirs] = with_recalls(kept.table, other, [a_node(1).node_id]).values()
    assert mine == a_node(1, action="mine")
    assert (theirs.action, theirs.reactivation_count) == ("theirs", 3)

"""Scenes: recorded and replaced at once or not at all, and never lost count of."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Scene, SceneDraft
from nacre.being.memory.store.targets import NOTES
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.ports.items.table import Change, Key, Put, Update
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, keeper, queue_of, scene_draft
from tests.being.memory.stores import sqlite_table

MIXED = "猫に餌👩‍👧‍👦 — שלום, مُحَمَّد; Ωμέγα e\u0301"


def stored(kept: Keeper) -> dict[str, Scene]:
    return {scene.scene_id: scene for scene in kept.memory.scenes.page(kept.id).scenes}


def consume(kept: Keeper, scene: Scene, node_id: str = "node-1") -> None:
    """Do to a scene what a patrol does."""
    after = replace(scene, status="consumed", node_id=node_id)
    kept.table.put(after.to_item(kept.id))


def test_scenes_come_back_as_they_were_told(kept: Keeper, clock: StillClock) -> None:
    draft = SceneDraft(
        action=f"  Ann said {MIXED}\n",
        actors=("Ann", "ネコ", "Ann"),
        when=("2026-07-02", "2026-07-01", "2026-07-02"),
        setting="at\nhome",
        feeling=" ",
        themes=("cats",),
        importance=1,
    )
    [scene] = kept.memory.scenes.record(kept.id, [draft]).scenes

    assert scene == Scene(
        scene_id=scene.scene_id,
        action=f"Ann said {MIXED}".replace("e\u0301", "é"),
        actors=("Ann", "ネコ"),
        when=("2026-07-01", "2026-07-02"),
        created_at="2026-07-28T12:00:00.000Z",
        fingerprint=scene.fingerprint,
        setting="at\nhome",
        themes=("cats",),
        importance=1.0,
        source="tool",
        trust="agent",
    )
    assert stored(kept) == {scene.scene_id: scene}
    assert kept.memory.scenes.pending(kept.id).scenes == (scene,)
    assert kept.meta("pending_scenes") == 1


def test_scenes_of_a_call_keep_their_order(kept: Keeper) -> None:
    told_in_order = [scene_draft(f"event {number}") for number in range(12)]
    kept.memory.scenes.record(kept.id, told_in_order)

    assert [scene.action for scene in kept.memory.scenes.pending(kept.id).scenes] == [
        draft.action for draft in told_in_order
    ]


def test_pending_scenes_are_paged(kept: Keeper) -> None:
    kept.memory.scenes.record(kept.id, [scene_draft(f"event {number}") for number in range(5)])
    first = kept.memory.scenes.pending(kept.id, limit=3)
    second = kept.memory.scenes.pending(kept.id, limit=3, start=first.next)

    assert (len(first.scenes), len(second.scenes), second.next) == (3, 2, None)


def test_a_scene_is_searchable_with_the_commit_that_stores_it(kept: Keeper) -> None:
    [scene] = kept.memory.scenes.record(kept.id, [scene_draft(setting="the kitchen")]).scenes

    entry = kept.index.applied[scene.scene_id]
    assert (entry.kind, entry.state, entry.days) == ("scene", "pending", ("2026-07-01",))
    assert entry.text == "[2026-07-01] Ann: Ann fed the cat (the kitchen)"
    assert kept.table.get(Key(f"{keys.home(kept.id)}#V", scene.scene_id)) is not None


def test_notes_and_scenes_are_stored_together(kept: Keeper) -> None:
    written = kept.memory.scenes.record(kept.id, [scene_draft()], notes=["buy milk", "call Bo"])

    assert [note.text for note in written.notes] == ["buy milk", "call Bo"]
    assert (kept.meta("pending_scenes"), kept.meta("n_notes")) == (1, 2)


@pytest.mark.requirement("003.update_notes.update")
def test_new_scenes_take_the_place_of_old_ones(kept: Keeper) -> None:
    old = kept.memory.scenes.record(
        kept.id, [scene_draft("a"), scene_draft("b"), scene_draft("c")]
    ).scenes
    written = kept.memory.scenes.record(
        kept.id, [scene_draft("d")], replacing=[old[0].scene_id, old[2].scene_id, old[0].scene_id]
    )

    assert written.deleted == (old[0].scene_id, old[2].scene_id)
    assert [scene.action for scene in stored(kept).values()] == ["b", "d"]
    assert set(kept.index.applied) == set(stored(kept))
    assert kept.meta("pending_scenes") == 2


def test_what_cannot_be_deleted_is_named_and_the_rest_is_done(kept: Keeper) -> None:
    made, open_ = kept.memory.scenes.record(kept.id, [scene_draft("a"), scene_draft("b")]).scenes
    consume(kept, made)
    written = kept.memory.scenes.record(
        kept.id, [scene_draft("c")], replacing=[made.scene_id, "no such id", open_.scene_id]
    )

    assert written.deleted == (open_.scene_id,)
    assert written.not_deleted == {
        made.scene_id: "it is part of memory node-1 already",
        "no such id": "there is no such scene",
    }
    assert {scene.action for scene in stored(kept).values()} == {"a", "c"}


def test_nothing_is_deleted_when_something_is_wrong_with_what_replaces_it(kept: Keeper) -> None:
    [old] = kept.memory.scenes.record(kept.id, [scene_draft()]).scenes
    with pytest.raises(InvalidInputError, match=r"'scenes\.1\.when\.0' must be a date"):
        kept.memory.scenes.record(
            kept.id,
            [scene_draft("x"), scene_draft("y", when=["2026-02-30"])],
            replacing=[old.scene_id],
        )

    assert list(stored(kept)) == [old.scene_id]
    assert kept.meta("pending_scenes") == 1


@pytest.mark.requirement("003.update_notes.notes")
def test_notes_stay_untouched_by_whatever_happens_to_scenes(kept: Keeper) -> None:
    written = kept.memory.scenes.record(kept.id, [scene_draft()], notes=["  keep\nme 🐚 "])
    [note] = written.notes
    [scene] = written.scenes
    kept.memory.scenes.record(kept.id, [scene_draft("x")], replacing=[scene.scene_id, note.key])
    for other in stored(kept).values():
        consume(kept, other)

    assert kept.memory.entries.get(kept.id, NOTES, note.key) == note
    assert note.text == "keep\nme 🐚"


def test_a_scene_with_an_id_of_its_own_is_stored_once(kept: Keeper) -> None:
    twice = [scene_draft("a", scene_id="derived-1"), scene_draft("b", scene_id="derived-2")]
    kept.memory.scenes.record(kept.id, twice[:1])
    written = kept.memory.scenes.record(kept.id, twice)

    assert [scene.scene_id for scene in written.scenes] == ["derived-2"]
    assert written.already_stored == ("derived-1",)
    assert kept.meta("pending_scenes") == 2


def test_a_being_that_does_not_exist_gets_no_scenes(kept: Keeper) -> None:
    stranger = "00000000-0000-4000-8000-00000000dead"
    with pytest.raises(NotFoundError, match="there is no such Being"):
        kept.memory.scenes.record(stranger, [scene_draft()])

    assert kept.memory.scenes.page(stranger).scenes == ()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"action": ""}, "'scenes.0.action' is empty"),
        ({"action": "x" * 4097}, "'scenes.0.action' has 4097 bytes and its limit is 4096"),
        ({"action": "猫" * 1366}, "'scenes.0.action' has 4098 bytes and its limit is 4096"),
        ({"action": "a\x00b"}, "'scenes.0.action' holds control characters"),
        ({"action": "a\ud800b"}, "'scenes.0.action' holds a lone surrogate"),
        ({"setting": "x" * 1025}, "'scenes.0.setting' has 1025 bytes and its limit is 1024"),
        ({"feeling": "x" * 2049}, "'scenes.0.feeling' has 2049 bytes and its limit is 2048"),
        ({"actors": ["x" * 201]}, "'scenes.0.actors.0' has 201 characters and its limit is 200"),
        ({"actors": ["Ann", " "]}, "'scenes.0.actors.1' is empty"),
        (
            {"actors": [*map(str, range(51))]},
            "'scenes.0.actors' has 51 entries and its limit is 50",
        ),
        (
            {"themes": [*map(str, range(21))]},
            "'scenes.0.themes' has 21 entries and its limit is 20",
        ),
        ({"when": []}, "'scenes.0.when' needs at least one date"),
        ({"when": ["2026-7-1"]}, "'scenes.0.when.0' must be a date"),
        ({"when": ["\uff12\uff10\uff12\uff16-07-01"]}, "'scenes.0.when.0' must be a date"),
        ({"when": ["2025-02-29"]}, "'scenes.0.when.0' must be a date"),
        ({"importance": 1.01}, "'scenes.0.importance' must be a number from 0 to 1"),
        ({"importance": float("nan")}, "'scenes.0.importance' must be a number from 0 to 1"),
    ],
)
def test_a_scene_beyond_a_limit_names_field_and_limit(
    laptop: Keeper, fields: dict[str, Any], message: str
) -> None:
    given = {
        name: list(value) if isinstance(value, map) else value for name, value in fields.items()
    }
    with pytest.raises(InvalidInputError) as raised:
        laptop.memory.scenes.record(laptop.id, [scene_draft(**given)])

    assert str(raised.value).startswith(message)
    assert stored(laptop) == {}


def test_a_scene_at_every_limit_is_stored(kept: Keeper) -> None:
    largest = SceneDraft(
        action="猫" * 1365 + "x",
        actors=tuple(f"{number:02}" + "人" * 198 for number in range(50)),
        when=tuple(f"{1900 + number}-01-01" for number in range(366)),
        setting="x" * 1024,
        feeling="y" * 2048,
        themes=tuple(f"{number:02}" + "題" * 198 for number in range(20)),
        importance=0,
    )
    [scene] = kept.memory.scenes.record(kept.id, [largest]).scenes

    assert stored(kept) == {scene.scene_id: scene}
    assert len(scene.when) == 366


def test_a_call_takes_as_much_as_one_transaction(kept: Keeper) -> None:
    kept.memory.scenes.record(
        kept.id, [scene_draft(f"event {number}") for number in range(20)], notes=["n"] * 15
    )
    assert (len(stored(kept)), kept.meta("n_notes")) == (20, 15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"scenes": 21}, "'scenes' has 21 entries and its limit is 20"),
        ({"notes": 16}, "'notes' has 16 entries and its limit is 15"),
        ({"replacing": 21}, "'scene_ids' has 21 entries and its limit is 20"),
    ],
)
def test_a_call_that_is_too_large_says_so(
    laptop: Keeper, call: dict[str, int], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        laptop.memory.scenes.record(
            laptop.id,
            [scene_draft(f"event {number}") for number in range(call.get("scenes", 1))],
            notes=[f"note {number}" for number in range(call.get("notes", 0))],
            replacing=[f"id {number}" for number in range(call.get("replacing", 0))],
        )


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, int, list[int]]]:
    """Steps: record so many scenes in place of some, or consume or spoil some."""
    step = st.tuples(
        st.sampled_from(["record", "consume", "invalid"]),
        st.integers(0, 4),
        st.lists(st.integers(0, 30), max_size=4),
    )
    return draw(st.lists(step, max_size=12))


def take(kept: Keeper, scene: Scene, status: str) -> None:
    """Do what a patrol does to a scene, its counter included."""
    after = replace(scene, status=status, node_id="n")  # type: ignore[arg-type]  # a status
    less = Update(keys.meta(kept.id), Change(add={"pending_scenes": -1}))
    kept.table.transact([Put(after.to_item(kept.id)), less])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_every_scene_is_accounted_for(history: list[tuple[str, int, list[int]]]) -> None:
    clock = StillClock()
    with sqlite_table(clock) as (table, database):
        kept = keeper(table, queue_of(database, clock), clock)
        expected: dict[str, str] = {}
        for what, count, places in history:
            chosen = [each for place, each in enumerate(list(expected)) if place in places]
            if what == "record":
                written = kept.memory.scenes.record(
                    kept.id,
                    [scene_draft(f"event {number}") for number in range(count)],
                    replacing=chosen,
                )
                for each in chosen:
                    if expected[each] != "consumed":
                        del expected[each]
                expected.update({scene.scene_id: "pending" for scene in written.scenes})
                continue
            for each in chosen:
                if expected[each] == "pending":
                    expected[each] = "consumed" if what == "consume" else "invalid"
                    take(kept, stored(kept)[each], expected[each])

        found = stored(kept)
        assert {each: scene.status for each, scene in found.items()} == expected
        waiting = [scene.scene_id for scene in kept.memory.scenes.pending(kept.id).scenes]
        assert waiting == sorted(each for each, status in expected.items() if status == "pending")
        assert (kept.meta("pending_scenes") or 0) == len(waiting)
        assert set(kept.index.applied) == set(found)


def test_the_moment_of_a_scene_is_the_clocks(laptop: Keeper, clock: StillClock) -> None:
    clock.time = datetime(2030, 1, 2, 3, 4, 5, 678_999, tzinfo=UTC)
    [scene] = laptop.memory.scenes.record(laptop.id, [scene_draft()]).scenes

    assert scene.created_at == "2030-01-02T03:04:05.678Z"

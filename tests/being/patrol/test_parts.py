"""The parts of a patrol that decide: the guard, the halves, the measure, the curve, the digest."""

import math
import struct
from dataclasses import replace
from random import Random

import pytest

from nacre.being.memory.model.forgetting_curve import DEAD_BELOW, clock_below, initial_stability
from nacre.being.patrol.compare.geometry import cosine, numbers, packed, unit
from nacre.being.patrol.compare.space import (
    COSINES,
    HASHED,
    Space,
    SpaceMeasure,
    hashed,
    is_due,
    measured,
)
from nacre.being.patrol.compare.two_means import two_means
from nacre.being.patrol.steps.cluster_digests import Background, digest_of, themes_of
from nacre.being.patrol.steps.forget_memories import faded, refresh
from nacre.core.errors import UnavailableError
from tests.being.memory.keeping import a_node
from tests.being.memory.minds import builtin
from tests.being.patrol.worlds import new_world


def test_two_heaps_fall_apart_whatever_order_they_come_in() -> None:
    rng = Random(1)
    heap = {
        f"{name}{number}": tuple(center + rng.gauss(0, 0.05) for center in middle)
        for name, middle in {"a": (1.0, 0.0), "b": (0.0, 1.0)}.items()
        for number in range(8)
    }
    halves = two_means(heap)
    assert halves is not None
    assert {frozenset(halves.first), frozenset(halves.second)} == {
        frozenset(id_ for id_ in heap if id_[0] == side) for side in "ab"
    }
    assert halves.scatter < 0.1
    assert two_means(dict(reversed(heap.items()))) == halves


def test_what_is_all_the_same_has_no_halves() -> None:
    assert two_means({"a": (1.0, 0.0), "b": (1.0, 0.0)}) is None


def test_a_measure_is_taken_of_enough_notes_and_not_again_and_again() -> None:
    embedder, _ = builtin()
    space = Space(embedder.emb_id, embedder)
    assert [is_due(space, count) for count in (49, 50, 120)] == [False, True, True]

    def after(measured_count: int, now: int) -> bool:
        return is_due(
            Space(embedder.emb_id, embedder, SpaceMeasure((), 0.0, 0.1, measured_count)), now
        )

    assert (after(50, 99), after(50, 100), after(120, 200), after(200, 5000)) == (
        False,
        True,
        True,
        False,
    )
    assert not is_due(Space(HASHED, None), 5000)


def test_around_the_centre_of_its_notes_unrelated_ones_have_no_cosine() -> None:
    rng = Random(2)
    shared = [0.5] * 32
    notes = [packed(unit(tuple(part + rng.gauss(0, 0.3) for part in shared))) for _ in range(200)]
    measure = measured(notes)
    assert measure is not None
    assert cosine(numbers(notes[0]), numbers(notes[1])) > 0.5
    assert measure.mean < 0.05
    assert 0.1 < measure.deviation < 0.3
    assert measured(notes[:10]) is None
    assert measured([struct.pack("<2f", 0, 0)] * 60) is None


def test_nearness_to_a_mean_is_what_it_would_be_written_plainly() -> None:
    rng = Random(4)
    draw = [tuple(rng.gauss(0, 1) for _ in range(8)) for _ in range(3)]
    vector, direction, centre = unit(draw[0]), unit(draw[1]), tuple(part / 5 for part in draw[2])
    embedder, _ = builtin()
    for measure in (None, SpaceMeasure(centre, 0.0, 0.1, 200)):
        space = Space(embedder.emb_id, embedder, measure)
        mean = tuple(0.7 * part for part in direction)
        assert space.nearness_to(space.around(vector), direction, 0.7) == pytest.approx(
            space.nearness(vector, mean)
        )


def test_hashed_words_meet_where_texts_share_words() -> None:
    cats, dogs = hashed("the cat sat on the mat"), hashed("quarterly tax report")
    assert math.hypot(*numbers(cats)) == pytest.approx(1, abs=1e-6)
    assert cosine(numbers(cats), numbers(hashed("a cat on a mat"))) > COSINES.join
    assert abs(cosine(numbers(cats), numbers(dogs))) < COSINES.join
    assert not any(hashed("the of and"))


def lives(importance: float, recalls: dict[int, int]) -> int:
    """Return the clock of a memory's death; `recalls` are times by the clock."""
    stability = initial_stability(importance)
    node = a_node(1, importance=importance, stability=stability, clock0=0)
    for clock, times in recalls.items():
        count = node.reactivation_count + times
        node = refresh(replace(node, reactivation_count=count), clock)
    return clock_below(node.clock0, node.stability, DEAD_BELOW)


def test_the_curve_is_the_one_of_the_table() -> None:
    assert [lives(importance, {}) for importance in (0, 0.25, 0.5, 0.75, 1)] == [
        52,
        103,
        205,
        410,
        819,
    ]
    spaced = lives(0.5, {7: 1, 30: 1, 90: 1})
    massed = lives(0.5, {1: 5})
    assert 520 < spaced < 550
    assert 255 < massed < 275
    assert 370 < lives(0.5, dict.fromkeys(range(1, 11), 1)) < 390
    assert 130 < lives(0, {40: 1}) < 150


def test_a_memory_fades_to_dying_and_then_dies() -> None:
    node = a_node(1, stability=4.0, clock0=0, due=31)
    assert faded(node, 10).status == "active"
    dying = faded(node, 31)
    assert (dying.status, dying.due) == ("dying", 52)
    assert faded(dying, 51) is dying
    dead = faded(dying, 52)
    assert (dead.status, dead.due, dead.count_at_death) == ("dead", None, 0)


def test_a_digest_names_what_marks_a_cluster_out() -> None:
    cats = [
        a_node(1, action="Ann fed the tabby cat", themes=("Pets",), importance=0.9),
        a_node(2, action="the tabby slept", when=("2026-07-05",)),
    ]
    others = [a_node(number, action="Ann fed something") for number in range(3, 30)]
    themes = themes_of(cats, Background([*cats, *others]))
    digest = digest_of(cats, themes, 1)

    assert themes[:2] == ("pets", "tabby")
    assert digest.label.startswith("pets, tabby")
    assert digest.digest == (
        "2026-07-01 to 2026-07-05, Ann\n- Ann fed the tabby cat\n- the tabby slept"
    )


def test_an_index_that_is_down_blocks_the_run_and_costs_nothing() -> None:
    world = new_world(builtin()[0])
    world.note("Ann fed the cat", "Bob sold his boat")
    index = world.indexing.index(builtin()[0].emb_id)
    search = index.search

    def down(*_: object, **__: object) -> None:
        raise UnavailableError("no index now")

    index.search = down  # type: ignore[method-assign,assignment]
    assert world.run().reasons == ("blocked: no index now",)
    assert len(world.memory.scenes.pending(world.being_id).scenes) == 2
    index.search = search  # type: ignore[method-assign]
    assert world.run().counts["nodes_created"] == 2
    world.database.close()


@pytest.mark.slow
def test_the_reads_of_a_run_do_not_grow_with_what_is_remembered() -> None:
    reads = []
    for count in (20, 120):
        world = new_world(None)
        for number in range(count):
            world.note(*(f"topic{number} word{number} {word}" for word in ("red", "blue", "old")))
            if number % 10 == 9:
                world.run()
        world.note(*(f"topic{number} word{number} thing" for number in range(5)))
        world.fuse.items_read = 0
        world.run()
        reads.append(world.fuse.items_read)
        world.database.close()
    assert reads[1] <= 1.1 * reads[0] + 200  # the sample of recent memories fills up to 200

"""What a patrol does with memories that were corrected or hidden by their ids."""

from collections.abc import Iterator
from random import Random

import pytest

from nacre.being.memory.erase.erase_memories import MemoryEraser
from nacre.being.memory.model.types import Node
from nacre.being.memory.search.candidates import MemoryReader
from nacre.being.memory.search.search import FINDABLE, LIVING, Search
from tests.being.memory.minds import builtin
from tests.being.patrol.invariants import check
from tests.being.patrol.stand_in import StandIn
from tests.being.patrol.worlds import Stopped, World, new_world

OLD = "Ann adopted a grey cat called Mishka"
NEW = "Ann adopted a grey cat called Miso"


@pytest.fixture
def world() -> Iterator[World]:
    """A world with one memory, and others around it."""
    world = new_world(builtin()[0])
    world.note(OLD, "Bob painted the boat green", "Ann and Bob fed the cat")
    world.run()
    yield world
    world.database.close()


def node_of(world: World, action: str) -> Node:
    [node] = [node for node in nodes(world) if node.action == action]
    return node


def nodes(world: World) -> list[Node]:
    return list(world.memory.nodes.page(world.being_id).nodes)


def correct(world: World) -> Node:
    node_id = node_of(world, OLD).node_id
    return world.memory.corrections.correct(world.being_id, node_id, NEW, by="agent")


def hide(world: World) -> Node:
    node_id = node_of(world, OLD).node_id
    return world.memory.corrections.hide(world.being_id, node_id, by="agent")


def found(world: World, query: str) -> list[str]:
    search = Search(MemoryReader(world.table), world.indexing.active_index, builtin()[1])
    result = search.find(world.being_id, query, limit=30, where=FINDABLE, superseded=True)
    living = search.find(world.being_id, query, limit=30, where=LIVING)
    assert {hit.memory.id for hit in living.hits} <= {hit.memory.id for hit in result.hits}
    return [hit.memory.record.action for hit in result.hits]


@pytest.mark.parametrize(
    ("action", "day"),
    [
        (OLD, "2026-07-01"),
        (NEW, "2026-07-01"),
        (f"{OLD}.", "2026-07-01"),
    ],
)
def test_a_note_with_any_of_its_wordings_is_evidence_of_a_corrected_memory(
    world: World, action: str, day: str
) -> None:
    corrected = correct(world)
    world.note(action, when=(day,))

    assert world.run().counts["evidence_added"] == 1
    node = node_of(world, NEW)
    assert (node.node_id, len(node.evidence)) == (corrected.node_id, 2)
    assert node.wordings == corrected.wordings
    assert OLD not in found(world, "cat Mishka Ann")


def test_a_corrected_day_stays_corrected(world: World) -> None:
    node_id = node_of(world, OLD).node_id
    corrections = world.memory.corrections
    corrections.correct(world.being_id, node_id, f"[2026-07-09] {NEW}", by="agent")
    world.note(OLD)
    world.run()

    node = node_of(world, NEW)
    assert (node.when, len(node.evidence)) == (("2026-07-09",), 2)


def test_another_form_of_an_earlier_wording_is_recognised(world: World) -> None:
    world.note("Ann sold the boat")
    world.run()
    node_id = node_of(world, "Ann sold the boat").node_id
    world.memory.corrections.correct(world.being_id, node_id, "Ann sold the car", by="agent")
    world.note("The boat was sold by Ann")

    assert world.run().counts["evidence_added"] == 1
    assert len(node_of(world, "Ann sold the car").evidence) == 2


@pytest.mark.parametrize("action", [OLD, f"{OLD}!", OLD.upper()])
def test_a_note_that_says_what_is_hidden_stays_hidden_and_the_receipt_says_so(
    world: World, action: str
) -> None:
    hidden = hide(world)
    world.note(action)
    receipt = world.run()

    after = node_of(world, OLD)
    assert (after.status, after.hidden_at) == ("hidden", hidden.hidden_at)
    assert len(after.evidence) == 2
    assert after.reactivation_count == hidden.reactivation_count
    assert [reason for reason in receipt.reasons if "stays hidden" in reason] != []
    assert OLD not in found(world, "grey cat Mishka")
    world.run()
    assert node_of(world, OLD).status == "hidden"


def test_a_note_of_another_day_is_a_memory_of_its_own(world: World) -> None:
    hide(world)
    world.note("Ann adopted a grey cat called Mishka at last", when=("2026-08-09",))
    world.run()

    assert "Ann adopted a grey cat called Mishka at last" in found(world, "grey cat Mishka")
    assert node_of(world, OLD).status == "hidden"


def test_a_hidden_memory_is_in_no_search_and_no_summary(world: World) -> None:
    assert OLD in found(world, "grey cat Mishka")
    hide(world)

    assert OLD not in found(world, "grey cat Mishka")
    for _ in range(2):
        for cluster in world.memory.clusters.page(world.being_id).clusters:
            assert "Mishka" not in f"{cluster.label} {cluster.digest} {cluster.themes}"
        world.run()
    embedder = world.embedder
    assert embedder is not None
    check(world.items(), world.being_id, emb_id=embedder.emb_id)
    world.memory.corrections.take_back(world.being_id, node_of(world, OLD).node_id, by="agent")
    assert found(world, "grey cat Mishka")[0] == OLD
    world.run()
    check(world.items(), world.being_id, emb_id=embedder.emb_id)
    assert any("Mishka" in c.digest for c in world.memory.clusters.active(world.being_id))


def test_a_hidden_memory_does_not_age_or_come_back(world: World) -> None:
    hidden = hide(world)
    world.age(3000)
    world.note("Bob slept")
    world.run()

    assert node_of(world, OLD) == hidden
    back = world.memory.corrections.take_back(world.being_id, hidden.node_id, by="owner")
    assert back.status == "active"


def test_a_model_is_not_asked_about_a_hidden_memory() -> None:
    world = new_world(builtin()[0], StandIn())
    world.note(OLD, f"{OLD} today", f"{OLD} in the barn")
    world.run()
    [merged] = [node for node in nodes(world) if node.is_living and node.parents]
    world.memory.corrections.hide(world.being_id, merged.node_id, by="agent")
    world.note(f"{OLD} in the garden")
    world.run()

    [after] = [node for node in nodes(world) if node.node_id == merged.node_id]
    assert after.status == "hidden"
    world.database.close()


@pytest.mark.parametrize("change", [correct, hide])
def test_a_change_that_was_interrupted_is_done_or_not_and_can_be_repeated(
    world: World, change: object
) -> None:
    assert callable(change)
    unstopped = world.copy()
    change(unstopped)
    writes = unstopped.fuse.writes
    expected = node_of(unstopped, NEW if change is correct else OLD)
    for number in range(writes):
        copy = world.copy()
        copy.fuse.stop_before = number
        with pytest.raises(Stopped):
            change(copy)
        after = copy.process()
        [node] = [node for node in nodes(after) if node.node_id == expected.node_id]
        assert node in (node_of(world, OLD), expected)
        if node != expected:
            change(after)
        after.run()
        assert after.embedder is not None
        check(after.items(), after.being_id, emb_id=after.embedder.emb_id)
        assert OLD not in found(after, "grey cat Mishka")
        copy.database.close()
    assert writes > 1
    unstopped.database.close()


def test_erasing_takes_the_earlier_wordings_with_it(world: World) -> None:
    corrected = correct(world)
    eraser = MemoryEraser(world.table, clock=world.clock, rng=Random(1))

    receipt = eraser.node(world.being_id, corrected.node_id)

    assert {OLD, NEW} <= set(receipt.texts)
    assert "Mishka" not in str(world.items())


def test_erasing_a_scene_takes_its_wording_and_keeps_the_correction(world: World) -> None:
    corrected = correct(world)
    [first] = corrected.evidence
    world.note(f"{OLD} ", NEW)
    world.run()
    same, new = (s for s in node_of(world, NEW).evidence if s != first)
    eraser = MemoryEraser(world.table, clock=world.clock, rng=Random(1))

    eraser.scene(world.being_id, first)
    assert node_of(world, NEW).wordings == corrected.wordings  # another scene says the same
    eraser.scene(world.being_id, same)

    node = node_of(world, NEW)
    assert node.evidence == (new,)
    assert "Mishka" not in str([item for item in world.items() if "THINK" not in str(item["sk"])])
    assert len(node.wordings) == 1
    world.run()
    assert node_of(world, NEW).node_id == corrected.node_id

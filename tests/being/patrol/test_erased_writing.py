"""Texts of a model about memories are erased with them."""

from random import Random

from nacre.being.memory.erase.erase_memories import MemoryEraser
from nacre.being.memory.model.types import Scene
from nacre.being.memory.store.diary import think_notes, without_runs
from nacre.being.memory.store.targets import DIARY
from tests.being.memory.minds import builtin
from tests.being.patrol.stand_in import StandIn
from tests.being.patrol.worlds import World, new_world

OWN = "I like rain."


def diary(world: World) -> str:
    """Return the texts of the diary."""
    diary = world.memory.entries
    entries = diary.page(world.being_id, DIARY).entries
    return "\n\n".join(
        diary.with_text(world.being_id, DIARY, entry).text or "" for entry in entries
    )


def scene_of(world: World, action: str) -> Scene:
    scenes = world.memory.scenes.page(world.being_id).scenes
    return next(scene for scene in scenes if scene.action == action)


def journals(world: World) -> list[str]:
    return [str(item["sk"]) for item in world.items() if "#PLAN#JOURNAL#" in str(item["sk"])]


def test_the_paragraph_of_its_run_goes_with_a_scene_and_others_stay() -> None:
    world = new_world(builtin()[0], StandIn())
    world.note("Ann fed the cat", "Bob sold the boat")
    world.run()
    first = world.receipts[-1].run_id
    day = world.memory.entries.page(world.being_id, DIARY).entries[0].key
    world.memory.entries.append(world.being_id, DIARY, OWN, key=day)
    world.note("Eve baked bread")
    world.run()
    second = world.receipts[-1].run_id
    assert first in diary(world)
    assert think_notes(world.table, world.being_id)
    assert journals(world)

    erasing = MemoryEraser(world.table, clock=world.clock, rng=Random(1))
    erasing.scene(world.being_id, scene_of(world, "Ann fed the cat").scene_id)

    assert first not in diary(world)
    assert second in diary(world)
    assert OWN in diary(world)
    assert think_notes(world.table, world.being_id) == ()
    assert journals(world) == []
    world.run()
    world.database.close()


def test_a_day_of_nothing_else_goes_too() -> None:
    world = new_world(builtin()[0], StandIn())
    world.note("Ann fed the cat")
    world.run()
    node = world.memory.nodes.page(world.being_id).nodes[0]

    MemoryEraser(world.table, clock=world.clock, rng=Random(1)).node(world.being_id, node.node_id)

    assert world.memory.entries.page(world.being_id, DIARY).entries == ()
    world.database.close()


def test_only_whole_paragraphs_of_these_runs_are_left_out() -> None:
    text = "mine\n\npatrol:a\nfirst\n\nabout patrol:a\n\npatrol:ab\nother"

    assert without_runs(text, {"a"}) == "mine\n\nabout patrol:a\n\npatrol:ab\nother"

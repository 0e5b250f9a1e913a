"""A patrol that is stopped before any write ends as if nothing had happened."""

from collections.abc import Callable

import pytest

from tests.being.memory.keeping import divide_early
from tests.being.memory.minds import builtin
from tests.being.patrol.crashing import stop_before_writes
from tests.being.patrol.stand_in import StandIn
from tests.being.patrol.worlds import World, new_world

CATS = [
    "Ann fed the cat", "the cat caught a mouse in the cellar", "the vet weighed the cat",
    "the cat slept on the warm radiator", "the cat scratched the new sofa",
]  # fmt: skip
BOATS = [
    "Bob painted the boat blue", "Bob sailed the boat to the island", "the boat lost its anchor",
    "Bob sold the boat to a neighbour", "the boat needs a new engine",
]  # fmt: skip
BREAD = ["Eve baked rye bread", "the bread burned in the oven", "Eve bought flour for bread"]


def _first(world: World) -> None:
    world.note(*CATS, *BOATS, *BREAD, themes=["home"])
    world.note("Ann fed the cat.", "Ann fed the  CAT", when=["2026-07-02"])
    world.note("Ann did not feed the cat", "Ann fed the 2 cats", importance=0.0)


def _later(world: World) -> None:
    _first(world)
    world.run()
    nodes = world.memory.nodes.page(world.being_id).nodes
    world.memory.recalls.add(world.being_id, {nodes[0].node_id: 1, nodes[1].node_id: 3})
    world.age(130)
    world.note("the cat caught another mouse", "Eve baked rye bread with seeds", importance=1.0)


def _revival(world: World) -> None:
    _later(world)
    world.age(150)
    world.run()
    dead = [n for n in world.memory.nodes.page(world.being_id).nodes if n.status == "dead"]
    assert len(dead) > 2
    for node in dead[:2]:
        world.memory.recalls.add(world.being_id, {node.node_id: 2})
    world.note("Ann fed the cat")
    world.age(1)


def _said(world: World) -> None:
    from nacre.being.memory.model.message_chain import ChatMessage

    _first(world)
    world.run()
    batch = [
        ChatMessage("user", "Dan planted a pear tree"),
        ChatMessage("assistant", "Dan waters the pear tree"),
    ]
    world.memory.history.add(world.being_id, batch, for_patrol=True)


def _crowd(world: World) -> None:
    adjectives = ["red", "old", "small", "wild", "calm", "grey"]
    places = ["barn", "harbour", "attic"]
    world.note(*(f"the {a} cat hid in the {p}" for a in adjectives for p in places))
    world.note(*(f"the {a} boat left the {p}" for a in adjectives for p in places))


def _split(world: World) -> None:
    thinks = world.planner is not None
    world.planner = None
    rooms = ("kitchen", "garden", "cellar", "attic", "barn", "office", "hall", "porch")
    world.note(*(f"the cat slept in the {room}" for room in rooms))
    world.note(*(f"the cat ate fish and bread in the {room}" for room in rooms), "the cat slept")
    world.run()
    world.planner = StandIn(silent=frozenset({"consolidate"})) if thinks else None
    world.note("the cat slept in the car")


def _recalled(world: World) -> None:
    """Recalls are logged that no one transaction counts: of living memories, dead and merged."""
    _later(world)
    world.age(150)
    world.run()
    nodes = world.memory.nodes.page(world.being_id).nodes
    for number in range(90):
        chosen = [nodes[number % len(nodes)], nodes[number * 7 % len(nodes)]]
        world.memory.recalls.add(world.being_id, {node.node_id: 1 for node in chosen})
    living = [node.node_id for node in nodes if node.is_living][:2]
    if len(living) == 2:
        world.memory.edits.merge(world.being_id, living, action="Ann fed the cat and the boat")


def _habit(world: World) -> None:
    """Memories that were told often, one of them merged with another, and told again."""
    habit = ["Ann fed the cat", "Bob painted the boat blue"]
    for _ in range(3):
        world.note(*habit, *habit)
        world.run()
    nodes = {node.action: node.node_id for node in world.memory.nodes.page(world.being_id).nodes}
    world.note("Eve baked rye bread")
    world.run()
    bread = next(
        node.node_id
        for node in world.memory.nodes.page(world.being_id).nodes
        if node.node_id not in nodes.values()
    )
    world.memory.edits.merge(
        world.being_id, [nodes["Ann fed the cat"], bread], action="Ann and Eve are busy"
    )
    world.note(*habit, *habit, *habit, "Eve baked rye bread")


SCENARIOS: dict[str, Callable[[World], None]] = {
    "first": _first, "later": _later, "revival": _revival, "said": _said, "crowd": _crowd,
    "split": _split, "recalled": _recalled, "habit": _habit,
}  # fmt: skip


EVERY = {"crowd": 5}  # of the long one, only so many-th writes
FEWER = 61  # in the default run, which stops histories of chance by the hundreds as well


@pytest.fixture(autouse=True)
def nodes_have_further_items(monkeypatch: pytest.MonkeyPatch) -> None:
    divide_early(monkeypatch)


@pytest.fixture(scope="module", params=["vectors", pytest.param("words", marks=pytest.mark.slow)])
def embeds(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "vectors")


@pytest.mark.parametrize(
    "stride", [FEWER, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "any"]
)
@pytest.mark.parametrize("thinks", [False, True], ids=["no model", "model"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_stopped_before_any_write_it_ends_the_same(
    name: str, embeds: bool, thinks: bool, stride: int
) -> None:
    start = new_world(builtin()[0] if embeds else None, StandIn() if thinks else None)
    SCENARIOS[name](start)

    stop_before_writes(start, stride * EVERY.get(name, 1))

    start.database.close()


def test_a_patrol_with_nothing_new_changes_nothing_but_its_receipt() -> None:
    world = new_world(builtin()[0])
    _first(world)
    world.run()
    before = world.dump()
    receipt = world.run()
    after = world.dump()

    changed = {key for key in after if after[key] != before.get(key)}
    home, runs = f"B#{world.being_id}", f"B#{world.being_id}#R"
    assert changed == {f"{home} META", f"{runs} 00000002", f"{runs} 00000002#PLAN#INPUT#0000"} | {
        f"{runs} 00000002#PLAN#SMALL#0000"
    }
    assert receipt.counts == {}
    assert receipt.reasons == ("nothing to do: no scene and no message waits, and nothing is due",)
    world.database.close()


@pytest.mark.parametrize("thinks", [False, True], ids=["no model", "model"])
def test_a_read_that_fails_after_the_end_asks_for_no_other_run(thinks: bool) -> None:
    start = new_world(builtin()[0], StandIn() if thinks else None)
    SCENARIOS["first"](start)
    unstopped = start.copy()
    unstopped.run()
    world = start.copy()
    world.fuse.failing_reads = (unstopped.fuse.reads - 1,)

    receipt = world.run()

    assert receipt.state == "done"
    assert world.dump() == unstopped.dump()
    for opened in (start, unstopped, world):
        opened.database.close()

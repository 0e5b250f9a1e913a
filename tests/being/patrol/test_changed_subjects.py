"""A model is shown facts that may have changed side by side, from whatever clusters."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from nacre.being.memory.model.types import Node
from nacre.being.patrol.planning.plans import MergePlan, PlanResult, Supersede
from tests.being.memory.minds import builtin
from tests.being.patrol.invariants import check
from tests.being.patrol.stand_in import StandIn
from tests.being.patrol.worlds import World, new_world

CHANGES = [
    ("Ann", "Ann lives in a flat in Bristol", "Ann moved to a cottage near Bath"),
    ("Bob", "Bob works as a nurse", "Bob started a new job as a pilot"),
    ("Cleo", "Cleo smokes a pack a day", "Cleo quit smoking"),
    ("Dirk", "Dirk is married to Eva", "Dirk and Eva divorced"),
    ("Finn", "Finn drives an old Volvo", "Finn traded his Volvo for a Kia"),
    ("Gwen", "Gwen drinks her coffee black", "Gwen takes milk in her coffee now"),
]


@dataclass
class Asked(StandIn):
    """A model that supersedes the older of two, and remembers what it was asked."""

    groups: list[frozenset[str]] = field(default_factory=list)

    def consolidate(self, being_id: str, group: Sequence[Node]) -> PlanResult[MergePlan]:
        self.groups.append(frozenset(node.action for node in group))
        if len(group) != 2:
            return PlanResult(MergePlan(), None, 1, 1)
        older, newer = sorted(group, key=lambda node: node.when)
        pair = Supersede(older.node_id, newer.node_id, "changed")
        return PlanResult(MergePlan(supersede=(pair,)), None, 1, 1)


def nodes(world: World) -> dict[str, Node]:
    return {node.action: node for node in world.memory.nodes.page(world.being_id).nodes}


def test_the_two_texts_of_a_changed_fact_stand_together() -> None:
    model = Asked()
    world = new_world(builtin()[0], model)
    for place, day in ((1, "2025-03-01"), (2, "2026-03-01")):
        for line in CHANGES:
            world.note(line[place], actors=(line[0],), when=(day,))
        world.clock.move(60)
        world.run()

    for _, older, newer in CHANGES:
        assert any({older, newer} <= group for group in model.groups), older
        assert nodes(world)[older].superseded_by == nodes(world)[newer].node_id
        assert nodes(world)[older].valid_until == "2026-03-01"
    assert world.embedder is not None
    check(world.items(), world.being_id, emb_id=world.embedder.emb_id)
    world.database.close()


def test_a_pair_is_asked_about_once() -> None:
    model = Asked()
    world = new_world(builtin()[0], model)
    world.note("Ann lives in Bonn", when=("2025-03-01",))
    world.run()
    world.clock.move(60)
    world.note("Ann moved to Ulm", when=("2026-03-01",))
    world.run()
    world.clock.move(60)
    world.note("Ann bought a kite", when=("2026-03-02",))
    world.run()

    assert model.groups.count(frozenset({"Ann lives in Bonn", "Ann moved to Ulm"})) == 1
    world.database.close()

"""Origins through patrols: what told a memory again, merges of a model, and summaries."""

from collections.abc import Iterator

import pytest

from nacre.being.memory.model.lineage import origins_of, standing_of
from nacre.being.memory.model.types import Node
from nacre.core.origins import texts_of
from tests.being.memory.minds import builtin
from tests.being.patrol.stand_in import StandIn
from tests.being.patrol.worlds import World, new_world

TOLD = "Ann walks the dog in the park"
WEB, MAIL = ("agent", "external:web"), ("agent", "external:mail")


@pytest.fixture(params=[None, StandIn()])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    new = new_world(builtin()[0], request.param)
    yield new
    new.database.close()


def nodes(world: World) -> dict[str, Node]:
    return {node.action: node for node in world.memory.nodes.page(world.being_id).nodes}


def origins(node: Node) -> list[str]:
    return list(texts_of(origins_of(node)))


def test_an_echo_joins_the_origins_and_lowers_no_standing(world: World) -> None:
    world.note(TOLD)
    world.run()
    world.note(TOLD + ".", origins=WEB)
    world.run()

    [node] = nodes(world).values()
    assert (node.action, node.scene_count) == (TOLD, 2)
    assert origins(node) == ["agent", "external:web"]
    assert (node.trust, standing_of(node)) == ("external", "agent")


def test_an_agent_that_retells_it_corroborates_nothing_and_another_server_does(
    world: World,
) -> None:
    world.note(TOLD, origins=WEB)
    world.note(TOLD + ".")
    world.run()
    [node] = nodes(world).values()
    assert standing_of(node) == "external"

    world.note(TOLD, origins=MAIL)
    world.run()
    [node] = nodes(world).values()
    assert standing_of(node) == "agent"
    assert origins(node) == ["agent", "external:mail", "external:web"]


def test_a_cluster_carries_the_servers_that_its_summary_quotes(world: World) -> None:
    world.note(TOLD, origins=WEB)
    world.note("Ann walks the dog to the lake at noon")
    world.run()

    clusters = world.memory.clusters.active(world.being_id)
    quoting = [cluster for cluster in clusters if "park" in cluster.digest]
    assert quoting
    assert {cluster.origins for cluster in quoting} == {("external:web",)}

    for node in nodes(world).values():
        if node.origins:
            world.memory.corrections.hide(world.being_id, node.node_id, by="owner")
    world.run()
    assert {cluster.origins for cluster in world.memory.clusters.active(world.being_id)} <= {()}


def test_a_merge_of_a_model_carries_the_origins_of_all_that_it_merged() -> None:
    world = new_world(builtin()[0], StandIn())
    for place in ("work", "town", "school", "market"):
        world.note(f"Ann has a red car that she drives to {place}", origins=WEB)
    world.note("Ann has a red car that she drives to church")
    world.run()

    made = nodes(world).values()
    merged = [node for node in made if node.parents]
    assert merged
    assert {tuple(origins(node)) for node in merged} == {WEB}
    assert {standing_of(node) for node in merged} == {"external"}
    world.database.close()


def test_a_patrol_of_the_same_scenes_makes_the_same_bytes(world: World) -> None:
    for origin in (WEB, MAIL, ()):
        world.note(TOLD, origins=origin)
    twin = world.copy()
    world.run()
    twin.run()

    first, second = (nodes(each)[TOLD] for each in (world, twin))
    assert first.to_item(world.being_id) == second.to_item(twin.being_id)
    twin.database.close()

"""Writes of users during a patrol are neither lost nor overwritten."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from nacre.being.memory.model.types import Node
from nacre.core.errors import InvalidInputError
from tests.being.memory.keeping import divide_early
from tests.being.memory.minds import builtin
from tests.being.patrol.invariants import check, whole_nodes
from tests.being.patrol.stand_in import StandIn
from tests.being.patrol.test_crashes import SCENARIOS
from tests.being.patrol.worlds import World, new_world

STEP = 3  # every so many-th write is enough to meet each step
FEWER = 40  # of those, in the default run


@pytest.fixture(autouse=True)
def nodes_have_further_items(monkeypatch: pytest.MonkeyPatch) -> None:
    divide_early(monkeypatch)


def _living(world: World) -> list[Node]:
    return [n for n in world.memory.nodes.page(world.being_id).nodes if n.is_living]


def _recall(world: World) -> Callable[[World], None]:
    """Recall every living node once."""
    before = {n.node_id: n.reactivation_count for n in _living(world)}
    world.memory.recalls.add(world.being_id, dict.fromkeys(before, 1))

    def kept(after: World) -> None:
        nodes = after.memory.nodes.get_many(after.being_id, before)
        for node_id, count in before.items():
            node = nodes[node_id]
            if node.status == "merged" and node.merged_into:  # its recalls went with it
                continue
            assert node.reactivation_count >= count + 1

    return kept


def _note(world: World) -> Callable[[World], None]:
    world.note("Zoe flew a kite")

    def kept(after: World) -> None:
        assert any(n.action == "Zoe flew a kite" for n in _living(after))

    return kept


def _merge(world: World) -> Callable[[World], None]:
    ids = [n.node_id for n in _living(world)][:2]
    if len(ids) < 2:
        return lambda _: None
    try:
        merged = world.memory.edits.merge(world.being_id, ids, action="two things at once").node
    except InvalidInputError:  # the patrol was faster
        return lambda _: None

    def kept(after: World) -> None:
        node = after.memory.nodes.get(after.being_id, merged.node_id)
        assert node is not None
        assert node.action == "two things at once"
        [whole] = after.memory.nodes.whole(after.being_id, [node])
        assert set(whole.evidence) >= set(merged.evidence)

    return kept


def _pin(world: World) -> Callable[[World], None]:
    for node in _living(world)[:1]:
        pinned = replace(node, pinned=True, version=node.version + 1)
        world.table.table.put(pinned.to_item(world.being_id))

        def kept(after: World, node_id: str = node.node_id) -> None:
            current = after.memory.nodes.get(after.being_id, node_id)
            assert current is not None
            assert current.pinned

        return kept
    return lambda _: None


def _correct(world: World) -> Callable[[World], None]:
    for node in _living(world)[:1]:
        text = "Ann fed the heron"
        corrected = world.memory.corrections.correct(world.being_id, node.node_id, text, by="agent")

        def kept(after: World, corrected: Node = corrected) -> None:
            current = after.memory.nodes.get(after.being_id, corrected.node_id)
            assert current is not None
            assert (current.action, current.wordings) == (corrected.action, corrected.wordings)

        return kept
    return lambda _: None


def _hide(world: World) -> Callable[[World], None]:
    for node in _living(world)[:1]:
        world.memory.corrections.hide(world.being_id, node.node_id, by="agent")

        def kept(after: World, node_id: str = node.node_id) -> None:
            current = after.memory.nodes.get(after.being_id, node_id)
            assert current is not None
            assert current.status == "hidden"
            digests = [cluster.digest for cluster in after.memory.clusters.active(after.being_id)]
            assert not any(f"- {current.action}\n" in f"{digest}\n" for digest in digests)

        return kept
    return lambda _: None


def _take_back(world: World) -> Callable[[World], None]:
    waiting = world.memory.scenes.pending(world.being_id, limit=2).scenes
    ids = [scene.scene_id for scene in waiting]
    gone = world.memory.scenes.record(world.being_id, [], replacing=ids).deleted

    def kept(after: World) -> None:
        assert after.memory.scenes.get_many(after.being_id, gone) == {}
        evidence = {
            scene_id
            for n in whole_nodes(after.items(), after.being_id).values()
            for scene_id in n.evidence
        }
        assert not evidence & set(gone)

    return kept


@pytest.mark.parametrize(
    "stride", [FEWER * STEP, pytest.param(STEP, marks=pytest.mark.slow)], ids=["some", "each step"]
)
@pytest.mark.parametrize("write", [_recall, _note, _merge, _pin, _correct, _hide, _take_back])
@pytest.mark.parametrize("name", ["first", "later", "revival"])
@pytest.mark.parametrize(
    "thinks", [pytest.param(False, marks=pytest.mark.slow), True], ids=["no model", "model"]
)
def test_a_write_before_any_of_the_patrols_own_is_kept(
    name: str, write: Callable[[World], Callable[[World], None]], thinks: bool, stride: int
) -> None:
    start = new_world(builtin()[0], StandIn() if thinks else None)
    SCENARIOS[name](start)
    unstopped = start.copy()
    unstopped.run()
    for number in range(0, unstopped.fuse.writes, stride):
        world = start.copy()
        promises: list[Callable[[World], None]] = []
        busy: list[bool] = []

        def meanwhile(
            world: World = world,
            number: int = number,
            promises: list[Callable[[World], None]] = promises,
            busy: list[bool] = busy,
        ) -> None:
            if world.fuse.writes > number and not busy:
                busy.append(True)
                promises.append(write(world))

        world.table.before_write = meanwhile
        assert world.run().state == "done"
        assert promises
        world.table.before_write = lambda: None
        world.run()
        promises[0](world)
        assert world.embedder is not None
        check(world.items(), world.being_id, emb_id=world.embedder.emb_id)
        world.database.close()
    start.database.close()
    unstopped.database.close()

"""What a person changes of a memory: its words, and that it is never forgotten."""

import pytest

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Cluster, Node, SceneText
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.ports.items.table import Change
from tests.being.memory.keeping import Keeper, a_node
from tests.being.memory.recalls import with_recalls

SAID = SceneText(
    action="Ann fed two cats",
    actors=("Ann", "Bo"),
    when=("2026-07-02", "2026-07-01"),
    setting=" ",
    feeling="glad",
    themes=("cats",),
    importance=0.9,
)


def add(kept: Keeper, node: Node) -> str:
    kept.memory.nodes.add(kept.id, [node])
    return node.node_id


def now(kept: Keeper, node_id: str) -> Node:
    node = kept.memory.nodes.get(kept.id, node_id)
    assert node is not None
    return node


def test_other_words_are_found_and_the_cluster_renewed(kept: Keeper) -> None:
    kept.memory.clusters.add(kept.id, Cluster(cluster_id="c", created_at="t", n_active=1))
    node_id = add(kept, a_node(1, cluster_id="c", trust="import", fingerprint="f"))

    said = kept.memory.edits.reword(kept.id, node_id, SAID, version=1)

    assert said == now(kept, node_id)
    assert (said.action, said.actors, said.when) == (
        "Ann fed two cats", ("Ann", "Bo"), ("2026-07-01", "2026-07-02"),
    )  # fmt: skip
    assert (said.setting, said.feeling, said.importance) == (None, "glad", 0.9)
    assert (said.trust, said.fingerprint, said.evidence, said.version) == (
        "import", "f", ("SCENE1",), 2,
    )  # fmt: skip
    assert "two cats" in kept.index.applied[node_id].text
    cluster = kept.memory.clusters.get(kept.id, "c")
    assert cluster is not None
    assert cluster.dirty
    assert kept.renewals.clusters == ["c"]


def test_a_change_of_what_was_changed_meanwhile_is_refused(kept: Keeper) -> None:
    node_id = add(kept, a_node(1))
    kept.memory.edits.reword(kept.id, node_id, SAID, version=1)

    with pytest.raises(ConflictError, match="meanwhile"):
        kept.memory.edits.reword(kept.id, node_id, SAID, version=1)
    assert now(kept, node_id).version == 2


def test_being_recalled_meanwhile_loses_nothing(kept: Keeper) -> None:
    node_id = add(kept, a_node(1))
    kept.memory.recalls.add(kept.id, {node_id: 1})

    said = kept.memory.edits.reword(kept.id, node_id, SAID, version=1)

    assert said.action == "Ann fed two cats"
    [counted] = with_recalls(kept.table, kept.id, [node_id]).values()
    assert (counted.reactivation_count, counted.action) == (1, "Ann fed two cats")


def test_saying_the_same_changes_nothing(kept: Keeper) -> None:
    node = a_node(1)
    node_id = add(kept, node)
    same = SceneText(action=node.action, actors=node.actors, when=node.when)

    assert kept.memory.edits.reword(kept.id, node_id, same, version=1).version == 1


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (SceneText(action=" ", actors=(), when=("2026-07-01",)), "action"),
        (SceneText(action="x" * 5000, actors=(), when=("2026-07-01",)), "action"),
        (SceneText(action="x", actors=(), when=()), "when"),
        (SceneText(action="x", actors=(), when=("July",)), "when"),
        (SceneText(action="x", actors=(), when=("2026-07-01",), importance=2), "importance"),
        (SceneText(action="x\x00", actors=(), when=("2026-07-01",)), "action"),
    ],
)
def test_what_cannot_be_said_is_refused(laptop: Keeper, wrong: SceneText, named: str) -> None:
    node_id = add(laptop, a_node(1))

    with pytest.raises(InvalidInputError, match=named):
        laptop.memory.edits.reword(laptop.id, node_id, wrong, version=1)


def test_a_pinned_memory_is_never_due_and_counts_from_today(kept: Keeper) -> None:
    meta = keys.meta(kept.id)
    kept.table.update(meta, Change(set={"clock": 150}))
    node_id = add(kept, a_node(1, status="dying", clock0=3))

    pinned = kept.memory.edits.pin(kept.id, node_id, pinned=True)
    due = kept.table.query(keys.due(kept.id), index="gsi3").items
    kept.table.update(meta, Change(set={"clock": 400}))
    loose = kept.memory.edits.pin(kept.id, node_id, pinned=False)

    assert (pinned.pinned, pinned.status, pinned.clock0, due) == (True, "active", 150, ())
    assert (loose.pinned, loose.clock0, loose.version) == (False, 400, 3)
    assert loose.due is not None
    assert loose.due > 400
    assert len(kept.table.query(keys.due(kept.id), index="gsi3").items) == 1


def test_only_what_lives_is_pinned_and_only_what_stands_is_changed(kept: Keeper) -> None:
    dead = add(kept, a_node(1, status="dead", due=None))
    one, two = add(kept, a_node(2)), add(kept, a_node(3))
    kept.memory.edits.merge(kept.id, [one, two], action="both")

    with pytest.raises(InvalidInputError, match="not forgotten"):
        kept.memory.edits.pin(kept.id, dead, pinned=True)
    with pytest.raises(InvalidInputError, match="merged into"):
        kept.memory.edits.reword(kept.id, one, SAID, version=2)
    with pytest.raises(NotFoundError):
        kept.memory.edits.pin(kept.id, "nothing", pinned=True)

"""Memories are corrected, hidden and shown again by their ids."""

from dataclasses import replace
from typing import Any

import pytest

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Author, Cluster, Node, SceneText
from nacre.being.memory.model.wordings import earlier_versions, wordings_of
from nacre.being.memory.store.diary import THINK, think_key
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.limits import CLUSTER_MEMBERS, KEPT_WORDINGS, WORDINGS_BYTES
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, a_node

DAY = 86_400


def add(kept: Keeper, *nodes: Node) -> str:
    kept.memory.nodes.add(kept.id, nodes)
    return nodes[0].node_id


def now(kept: Keeper, node_id: str) -> Node:
    node = kept.memory.nodes.get(kept.id, node_id)
    assert node is not None
    return node


def add_cluster(kept: Keeper, cluster_id: str = "c", **fields: Any) -> None:
    cluster = Cluster(cluster_id=cluster_id, created_at="t", label="cats", digest="Ann fed cat 1")
    kept.memory.clusters.add(kept.id, replace(cluster, **fields))


def cluster_of(kept: Keeper, cluster_id: str = "c") -> Cluster:
    cluster = kept.memory.clusters.get(kept.id, cluster_id)
    assert cluster is not None
    return cluster


def test_a_correction_keeps_the_earlier_wording(kept: Keeper) -> None:
    add_cluster(kept, n_active=1)
    node_id = add(kept, a_node(1, cluster_id="c", trust="user", fingerprint="f"))

    after = kept.memory.corrections.correct(kept.id, node_id, " Ann fed two cats ", by="agent")

    assert after == now(kept, node_id)
    assert (after.action, after.when, after.trust) == ("Ann fed two cats", ("2026-07-01",), "agent")
    assert (after.fingerprint, after.evidence, after.version) == ("f", ("SCENE1",), 2)
    [wording] = wordings_of(after)
    assert (wording.until, wording.by) == ("2026-07-28T12:00:00.000Z", "agent")
    assert wording.fields == {"action": "Ann fed cat 1", "trust": "user", "origins": ()}
    assert after.origins == ("agent", "heard")
    assert "two cats" in kept.index.applied[node_id].text
    assert cluster_of(kept).dirty
    assert kept.renewals.clusters == ["c"]


def test_days_in_brackets_correct_the_days(kept: Keeper) -> None:
    node_id = add(kept, a_node(1))

    text = "[2026-07-05, 2026-07-03] Ann fed cat 1"
    after = kept.memory.corrections.correct(kept.id, node_id, text, by="agent")

    assert (after.action, after.when) == ("Ann fed cat 1", ("2026-07-03", "2026-07-05"))
    assert [version.when for version in earlier_versions(after)] == [("2026-07-01",)]
    with pytest.raises(InvalidInputError, match="date of the calendar"):
        kept.memory.corrections.correct(kept.id, node_id, "[2026-02-30] x", by="agent")


def test_the_same_text_changes_nothing(laptop: Keeper) -> None:
    node = a_node(1, trust="user")
    node_id = add(laptop, node)

    laptop.memory.corrections.correct(laptop.id, node_id, node.action, by="agent")
    assert now(laptop, node_id) == node


@pytest.mark.parametrize("by", ["agent", "owner"])
def test_corrections_are_taken_back_one_after_the_other(kept: Keeper, by: Author) -> None:
    node = a_node(1, trust="user")
    node_id = add(kept, node)
    for text in ("Ann fed two cats", "Ann fed three cats"):
        kept.memory.corrections.correct(kept.id, node_id, text, by=by)

    for text in ("Ann fed two cats", "Ann fed cat 1"):
        after = kept.memory.corrections.take_back(kept.id, node_id, by=by)
        assert after.action == text
    assert replace(now(kept, node_id), version=1) == node
    assert "cat 1" in kept.index.applied[node_id].text
    with pytest.raises(InvalidInputError, match="nothing to take back"):
        kept.memory.corrections.take_back(kept.id, node_id, by=by)


def test_trust_that_evidence_lowered_since_stays_low(laptop: Keeper) -> None:
    node_id = add(laptop, a_node(1, trust="user"))
    corrected = laptop.memory.corrections.correct(laptop.id, node_id, "x", by="agent")
    lowered = replace(corrected, trust="import", evidence=(*corrected.evidence, "SCENE2"))
    laptop.table.put(lowered.to_item(laptop.id))

    after = laptop.memory.corrections.take_back(laptop.id, node_id, by="agent")
    assert (after.action, after.trust) == ("Ann fed cat 1", "import")


def test_undoing_a_correction_of_version_0_1_0_raises_no_trust_above_the_origins(
    laptop: Keeper,
) -> None:
    line = '{"until": "t", "by": "agent", "fields": {"action": "Ann fed cat 1", "trust": "user"}}'
    node = a_node(1, action="x", trust="agent", wordings=(line,))
    node_id = add(laptop, node)
    told_since = replace(node, origins=("agent", "heard"), evidence=("SCENE1", "SCENE2"))

    as_it_was = laptop.memory.corrections.take_back(laptop.id, node_id, by="owner")
    laptop.table.put(told_since.to_item(laptop.id))
    after = laptop.memory.corrections.take_back(laptop.id, node_id, by="owner")

    assert (as_it_was.action, as_it_was.trust) == ("Ann fed cat 1", "user")
    assert (after.action, after.trust) == ("Ann fed cat 1", "agent")


def test_the_owners_words_are_kept_too_and_no_agent_takes_them_back(laptop: Keeper) -> None:
    node_id = add(laptop, a_node(1, trust="user"))
    words = SceneText(action="Bo fed it", actors=("Bo",), when=("2026-07-02",), importance=0.9)
    laptop.memory.edits.reword(laptop.id, node_id, words, version=1)

    with pytest.raises(InvalidInputError, match="only the owner takes that back"):
        laptop.memory.corrections.take_back(laptop.id, node_id, by="agent")
    after = laptop.memory.corrections.take_back(laptop.id, node_id, by="owner")
    assert replace(after, version=1) == a_node(1, trust="user")


def test_only_so_many_wordings_are_kept(laptop: Keeper) -> None:
    short, long = add(laptop, a_node(1)), add(laptop, a_node(2))
    for number in range(40):
        laptop.memory.corrections.correct(laptop.id, short, f"text {number}", by="agent")
        words = SceneText(
            action=f"{number}" + 4000 * "x",
            actors=("Ann",),
            when=("2026-07-01",),
            setting=f"{number}" + 900 * "x",
            feeling=f"{number}" + 900 * "x",
        )
        laptop.memory.edits.reword(laptop.id, long, words, version=number + 1)

    kept = [version.action for version in earlier_versions(now(laptop, short))]
    assert kept == [f"text {number}" for number in range(38, 38 - KEPT_WORDINGS, -1)]
    size = sum(len(line.encode()) for line in now(laptop, long).wordings)
    assert WORDINGS_BYTES / 2 < size <= WORDINGS_BYTES


def test_a_hidden_memory_leaves_its_cluster_and_every_text_made_from_it(kept: Keeper) -> None:
    add_cluster(kept, n_active=2)
    add_cluster(kept, "before", state="retired", children=("c",))
    kept.table.put(THINK.stamp({**think_key(kept.id).attributes(), "notes": ["Ann feeds cats"]}))
    node = a_node(1, cluster_id="c", reactivation_count=2, reactivation_done=1)
    node_id = add(kept, node, a_node(2, cluster_id="c"))

    hidden = kept.memory.corrections.hide(kept.id, node_id, by="agent")

    assert hidden == now(kept, node_id)
    assert hidden == replace(
        node,
        status="hidden",
        status_before="active",
        hidden_at="2026-07-28T12:00:00.000Z",
        hidden_by="agent",
        version=2,
    )
    assert [each.node_id for each in kept.memory.nodes.recent(kept.id).nodes] == [a_node(2).node_id]
    members = kept.memory.nodes.in_cluster(kept.id, "c").nodes
    assert [each.node_id for each in members] == [a_node(2).node_id]
    assert [each.node_id for each in kept.memory.nodes.hidden(kept.id).nodes] == [node_id]
    cluster = cluster_of(kept)
    assert (cluster.n_active, cluster.label, cluster.digest, cluster.dirty) == (1, "", "", True)
    assert cluster_of(kept, "before").digest == ""
    assert kept.table.get(think_key(kept.id)) is None
    assert kept.index.applied[node_id].state == "hidden"
    assert kept.renewals.clusters == ["c"]
    assert kept.table.query(keys.touched(kept.id), index="gsi3").items == ()


def test_a_hidden_memory_is_not_recalled_changed_or_merged(laptop: Keeper) -> None:
    node_id = add(laptop, a_node(1), a_node(2))
    hidden = laptop.memory.corrections.hide(laptop.id, node_id, by="agent")
    laptop.memory.recalls.add(laptop.id, {node_id: 2})

    assert laptop.memory.corrections.hide(laptop.id, node_id, by="agent") == hidden
    for change in (
        lambda: laptop.memory.corrections.correct(laptop.id, node_id, "x", by="owner"),
        lambda: laptop.memory.edits.pin(laptop.id, node_id, pinned=True),
        lambda: laptop.memory.edits.merge(laptop.id, [node_id, a_node(2).node_id], action="x"),
    ):
        with pytest.raises(InvalidInputError, match="is hidden"):
            change()
    assert now(laptop, node_id) == hidden


@pytest.mark.parametrize("status", ["active", "dying", "dead"])
def test_a_memory_that_is_shown_again_is_as_it_was(kept: Keeper, status: str) -> None:
    add_cluster(kept, n_active=0 if status == "dead" else 1)
    node = a_node(1, cluster_id="c", status=status, count_at_death=0 if status == "dead" else None)
    node_id = add(kept, node)
    kept.memory.corrections.hide(kept.id, node_id, by="agent")

    after = kept.memory.corrections.take_back(kept.id, node_id, by="agent")

    assert replace(after, version=1) == node
    assert now(kept, node_id) == after
    assert kept.index.applied[node_id].state == status
    assert cluster_of(kept).n_active == (0 if status == "dead" else 1)
    assert kept.memory.nodes.hidden(kept.id).nodes == ()


@pytest.mark.parametrize("change", [{"state": "retired"}, {"n_active": CLUSTER_MEMBERS}])
def test_a_memory_whose_cluster_has_no_place_waits_for_another(
    laptop: Keeper, change: dict[str, Any]
) -> None:
    add_cluster(laptop, n_active=1)
    node_id = add(laptop, a_node(1, cluster_id="c"))
    laptop.memory.corrections.hide(laptop.id, node_id, by="agent")
    cluster = cluster_of(laptop)
    after = replace(cluster, version=cluster.version + 1, **change)
    laptop.memory.clusters.replace(laptop.id, after, version=cluster.version)

    assert laptop.memory.corrections.take_back(laptop.id, node_id, by="agent").cluster_id is None


@pytest.mark.parametrize("clusters", [("c", "c"), ("c", "d"), ("c", None), (None, "d")])
def test_what_a_hidden_memory_superseded_holds_again(
    kept: Keeper, clusters: tuple[str | None, str | None]
) -> None:
    new = a_node(1, cluster_id=clusters[0], action="Ann moved to Bonn")
    old = a_node(2, cluster_id=clusters[1], action="Ann lives in Ulm", superseded_by=new.node_id)
    other = a_node(3, cluster_id=clusters[1], superseded_by=a_node(4).node_id)
    add(kept, new, replace(old, valid_until="2026-03-01"), other)

    kept.memory.corrections.hide(kept.id, new.node_id, by="agent")

    restored = now(kept, old.node_id)
    assert (restored.superseded_by, restored.valid_until) == (None, None)
    assert now(kept, other.node_id).superseded_by == other.superseded_by


def test_an_agent_changes_nothing_that_the_owner_pinned(kept: Keeper) -> None:
    one, two = a_node(1), a_node(2)
    add(kept, one, two)
    merged = kept.memory.edits.merge(kept.id, [one.node_id, two.node_id], action="both").node
    kept.memory.edits.pin(kept.id, merged.node_id, pinned=True)
    other = add(kept, a_node(3))
    pinned = now(kept, merged.node_id)

    corrections, edits = kept.memory.corrections, kept.memory.edits
    for change in (
        lambda: corrections.correct(kept.id, merged.node_id, "x", by="agent"),
        lambda: corrections.hide(kept.id, merged.node_id, by="agent"),
        lambda: corrections.take_back(kept.id, merged.node_id, by="agent"),
        lambda: edits.merge(kept.id, [merged.node_id, other], action="x", by="agent"),
        lambda: edits.undo_merge(kept.id, merged.node_id, by="agent"),
    ):
        with pytest.raises(InvalidInputError, match="is pinned: only the owner"):
            change()
    assert now(kept, merged.node_id) == pinned
    assert corrections.correct(kept.id, merged.node_id, "x", by="owner").action == "x"
    assert corrections.hide(kept.id, merged.node_id, by="owner").status == "hidden"


def test_an_agent_takes_back_for_thirty_days_and_the_owner_always(
    kept: Keeper, clock: StillClock
) -> None:
    corrections = kept.memory.corrections
    hidden, corrected, owned = (add(kept, a_node(number)) for number in (1, 2, 3))
    corrections.hide(kept.id, hidden, by="agent")
    corrections.correct(kept.id, corrected, "x", by="agent")
    corrections.hide(kept.id, owned, by="owner")
    with pytest.raises(InvalidInputError, match="the owner"):
        corrections.take_back(kept.id, owned, by="agent")

    clock.move(30 * DAY)
    for node_id in (hidden, corrected):
        corrections.take_back(kept.id, node_id, by="agent")
    corrections.hide(kept.id, hidden, by="agent")
    corrections.correct(kept.id, corrected, "x", by="agent")
    clock.move(30 * DAY + 1)
    for node_id in (hidden, corrected):
        with pytest.raises(InvalidInputError, match="more than 30 days ago"):
            corrections.take_back(kept.id, node_id, by="agent")
        corrections.take_back(kept.id, node_id, by="owner")
    assert {now(kept, node_id).status for node_id in (hidden, corrected)} == {"active"}


def test_a_hidden_merge_is_undone_into_hidden_sources(kept: Keeper) -> None:
    one, two = a_node(1), a_node(2, status="dying")
    add(kept, one, two)
    merged = kept.memory.edits.merge(kept.id, [one.node_id, two.node_id], action="both").node
    kept.memory.corrections.hide(kept.id, merged.node_id, by="agent")
    with pytest.raises(InvalidInputError, match="is hidden"):
        kept.memory.edits.undo_merge(kept.id, merged.node_id, by="agent")

    kept.memory.edits.undo_merge(kept.id, merged.node_id)

    sources = [now(kept, node.node_id) for node in (one, two)]
    assert [(node.status, node.status_before) for node in sources] == [
        ("hidden", "active"),
        ("hidden", "dying"),
    ]
    assert {kept.index.applied[node.node_id].state for node in sources} == {"hidden"}
    for node in (one, two):
        kept.memory.corrections.take_back(kept.id, node.node_id, by="agent")
    assert [now(kept, node.node_id).status for node in (one, two)] == ["active", "dying"]


def test_what_does_not_exist_or_was_merged_is_not_changed(laptop: Keeper) -> None:
    one, two = a_node(1), a_node(2)
    add(laptop, one, two)
    merged = laptop.memory.edits.merge(laptop.id, [one.node_id, two.node_id], action="both").node

    corrections = laptop.memory.corrections
    with pytest.raises(NotFoundError):
        corrections.hide(laptop.id, "nothing", by="agent")
    with pytest.raises(InvalidInputError, match=f"merged into {merged.node_id}"):
        corrections.correct(laptop.id, one.node_id, "x", by="agent")
    laptop.memory.edits.undo_merge(laptop.id, merged.node_id)
    with pytest.raises(InvalidInputError, match="was taken back"):
        corrections.hide(laptop.id, merged.node_id, by="agent")

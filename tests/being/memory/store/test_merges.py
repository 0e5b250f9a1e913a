"""Merging nodes: what becomes of them, and that it can be taken back."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import TRUST_ORDER, Cluster, Node, merged_id_of
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.ports.items.table import Change, Item, Key
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, a_node, divide_early, keeper, queue_of
from tests.being.memory.stores import sqlite_table
from tests.being.patrol.invariants import whole_nodes


def nodes_of(kept: Keeper) -> dict[str, Node]:
    nodes = kept.memory.nodes.whole(kept.id, kept.memory.nodes.page(kept.id).nodes)
    return {node.node_id: node for node in nodes}


def further(kept: Keeper) -> tuple[Item, ...]:
    return kept.table.query(keys.evidence(kept.id)).items


def add(kept: Keeper, *nodes: Node) -> list[str]:
    kept.memory.nodes.add(kept.id, nodes)
    return [node.node_id for node in nodes]


def add_clusters(kept: Keeper, **members: int) -> None:
    for cluster_id, count in members.items():
        cluster = Cluster(cluster_id=cluster_id, created_at="t", n_active=count)
        kept.memory.clusters.add(kept.id, cluster)


ONE = a_node(
    1,
    actors=("Ann",),
    when=("2026-07-03",),
    themes=("cats",),
    importance=0.4,
    trust="user",
    cluster_id="c",
    evidence=("S1", "S2"),
    stability=16.0,
    clock0=3,
    reactivation_count=2,
    reactivation_done=1,
    last_activated="2026-07-05T00:00:00.000Z",
    feeling="calm",
)
TWO = a_node(
    2,
    actors=("Bo", "Ann"),
    when=("2026-07-01", "2026-07-03"),
    themes=("food", "cats"),
    importance=0.9,
    trust="import",
    cluster_id="c",
    evidence=("S3",),
    stability=8.0,
    clock0=7,
    reactivation_count=5,
    setting="the kitchen",
    feeling="happy",
    pinned=True,
)


@pytest.mark.requirement("003.merge_nodes.merge")
def test_a_merged_node_has_what_all_its_sources_had(kept: Keeper) -> None:
    ids = add(kept, ONE, TWO)
    merge = kept.memory.edits.merge(kept.id, ids, action="Ann and Bo feed the cats")

    assert merge.node == Node(
        node_id=merged_id_of(ids),
        action="Ann and Bo feed the cats",
        actors=("Ann", "Bo"),
        when=("2026-07-01", "2026-07-03"),
        created_at="2026-07-28T12:00:00.000Z",
        stability=16.0,
        setting="the kitchen",
        feeling="happy",
        themes=("cats", "food"),
        importance=0.9,
        evidence=("S1", "S2", "S3"),
        trust="import",
        origins=("heard", "import:unknown", "owner"),
        cluster_id="c",
        status="active",
        parents=tuple(sorted(ids)),
        clock0=7,
        due=129,
        reactivation_count=7,
        reactivation_done=1,
        last_activated="2026-07-05T00:00:00.000Z",
        pinned=True,
    )
    assert nodes_of(kept)[merge.node.node_id] == merge.node


def test_a_merged_node_is_similar_to_what_its_sources_were(laptop: Keeper) -> None:
    [one, two, other] = add(laptop, ONE, TWO, a_node(3))
    add(
        laptop,
        a_node(4, similar=(one, other)),
        a_node(5, similar=(a_node(4).node_id, two)),
    )

    ids = [a_node(4).node_id, a_node(5).node_id]
    merge = laptop.memory.edits.merge(laptop.id, ids, action="Ann fed both cats")

    assert merge.node.similar == (one, other, two)
    assert [each.similar for each in merge.sources] == [(one, other), (ids[0], two)]


def test_the_sources_stay_and_point_on(kept: Keeper) -> None:
    ids = add(kept, ONE, TWO)
    merged = kept.memory.edits.merge(kept.id, ids, action="both").node.node_id

    assert nodes_of(kept)[ids[0]] == replace(
        ONE, status="merged", status_before="active", merged_into=merged, version=2
    )
    assert set(kept.index.applied) == {merged}
    assert [node.node_id for node in kept.memory.nodes.recent(kept.id).nodes] == [merged]


def test_the_vectors_of_all_clusters_concerned_are_renewed(kept: Keeper) -> None:
    add_clusters(kept, c=2, d=1)
    ids = add(kept, ONE, TWO, a_node(3, cluster_id="d"))
    merge = kept.memory.edits.merge(kept.id, ids, action="all")

    assert merge.node.cluster_id == "c"
    assert kept.renewals.clusters == ["c", "d"]
    clusters = kept.memory.clusters.get_many(kept.id, ["c", "d"])
    assert [(each.n_active, each.dirty) for each in clusters.values()] == [(1, True), (0, True)]


def test_a_cluster_that_cannot_be_renewed_now_is_left_to_the_patrol(kept: Keeper) -> None:
    add_clusters(kept, c=2)
    kept.renewals.is_down = True
    kept.memory.edits.merge(kept.id, add(kept, ONE, TWO), action="both")

    [waiting] = kept.table.query(keys.dirty(kept.id), index="gsi3").items
    assert waiting["cluster_id"] == "c"


def test_a_feeling_that_is_given_counts(laptop: Keeper) -> None:
    ids = add(laptop, ONE, TWO)

    merge = laptop.memory.edits.merge(laptop.id, ids, action="both", feeling=" proud ")
    assert merge.node.feeling == "proud"


def test_dead_nodes_that_are_merged_live_again(laptop: Keeper) -> None:
    laptop.table.update(keys.meta(laptop.id), Change(set={"clock": 500}))
    dead = [replace(each, status="dead", count_at_death=0, due=None) for each in (ONE, TWO)]
    merge = laptop.memory.edits.merge(laptop.id, add(laptop, *dead), action="both")

    assert (merge.node.status, merge.node.clock0, merge.node.due) == ("active", 500, 622)
    undone = laptop.memory.edits.undo_merge(laptop.id, merge.node.node_id)
    assert {source.status for source in undone.sources} == {"dead"}


def test_taking_a_merge_back_makes_the_sources_what_they_were(kept: Keeper) -> None:
    add_clusters(kept, c=2, d=1)
    sources = [ONE, TWO, a_node(3, cluster_id="d", status="dying")]
    ids = add(kept, *sources)
    indexed = dict(kept.index.applied)
    merged = kept.memory.edits.merge(kept.id, ids, action="all").node
    kept.memory.edits.undo_merge(kept.id, merged.node_id)

    found = nodes_of(kept)
    assert [found[each] for each in ids] == [replace(each, version=3) for each in sources]
    assert found[merged.node_id] == replace(
        merged,
        status="dead",
        reason="undone",
        cluster_id=None,
        evidence=(),
        due=None,
        count_at_death=7,
        version=2,
    )
    assert kept.index.applied == indexed
    clusters = kept.memory.clusters.get_many(kept.id, ["c", "d"])
    assert [each.n_active for each in clusters.values()] == [2, 1]


def test_what_the_merge_has_learned_since_goes_to_the_strongest(laptop: Keeper) -> None:
    ids = add(laptop, ONE, TWO)
    merged = laptop.memory.edits.merge(laptop.id, ids, action="both").node
    learned = Change(
        set={"evidence": ["S1", "S2", "S3", "S9"], "when": [*merged.when, "2026-07-20"]},
        add={"version": 1, "reactivation_count": 3},  # a patrol counted recalls
    )
    laptop.table.update(Key(keys.nodes(laptop.id), merged.node_id), learned)
    laptop.memory.edits.undo_merge(laptop.id, merged.node_id)

    found = nodes_of(laptop)
    assert found[ids[0]] == replace(ONE, version=3)
    assert found[ids[1]] == replace(
        TWO,
        version=3,
        evidence=("S3", "S9"),
        when=("2026-07-01", "2026-07-03", "2026-07-20"),
        reactivation_count=8,
    )


def test_a_source_whose_cluster_is_no_more_goes_where_the_merge_was(laptop: Keeper) -> None:
    add_clusters(laptop, c=2, d=1)
    ids = add(laptop, ONE, TWO, a_node(3, cluster_id="d"))
    merged = laptop.memory.edits.merge(laptop.id, ids, action="all").node
    cluster = laptop.memory.clusters.get(laptop.id, "d")
    assert cluster is not None
    retired = replace(cluster, state="retired", version=cluster.version + 1)
    laptop.memory.clusters.replace(laptop.id, retired, version=cluster.version)
    laptop.memory.edits.undo_merge(laptop.id, merged.node_id)

    assert nodes_of(laptop)[ids[2]].cluster_id == "c"


def test_the_same_nodes_can_be_merged_again(laptop: Keeper) -> None:
    ids = add(laptop, ONE, TWO)
    first = laptop.memory.edits.merge(laptop.id, ids, action="both").node
    laptop.memory.edits.undo_merge(laptop.id, first.node_id)
    again = laptop.memory.edits.merge(laptop.id, ids[::-1], action="once more").node

    assert again == replace(first, action="once more", version=3, evidence=again.evidence)
    assert set(again.evidence) == {"S1", "S2", "S3"}
    assert again.reason is None


def test_a_merge_of_a_merge_is_taken_back_from_the_top(laptop: Keeper) -> None:
    ids = add(laptop, ONE, TWO, a_node(3))
    inner = laptop.memory.edits.merge(laptop.id, ids[:2], action="both").node.node_id
    outer = laptop.memory.edits.merge(laptop.id, [inner, ids[2]], action="all").node.node_id
    with pytest.raises(InvalidInputError, match=f"was merged into {outer}; take that merge back"):
        laptop.memory.edits.undo_merge(laptop.id, inner)
    laptop.memory.edits.undo_merge(laptop.id, outer)
    laptop.memory.edits.undo_merge(laptop.id, inner)

    assert {each: nodes_of(laptop)[each].status for each in ids} == dict.fromkeys(ids, "active")


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ([], "needs at least two different ids"),
        ([1], "needs at least two different ids"),
        ([1, 1], "needs at least two different ids"),
        (list(range(1, 22)), "'node_ids' has 21 ids and its limit is 20"),
        ([1, 4], "00000000-0000-4000-8000-000000000004 was merged into x; use that id"),
        ([1, 5], "was taken back; use the ids it was made of"),
    ],
)
def test_what_cannot_be_merged_is_refused(laptop: Keeper, wanted: list[int], message: str) -> None:
    add(
        laptop,
        *(a_node(number) for number in (1, 2, 3)),
        a_node(4, status="merged", merged_into="x"),
        a_node(5, status="dead", reason="undone"),
    )
    before = nodes_of(laptop)
    with pytest.raises(InvalidInputError, match=message):
        laptop.memory.edits.merge(
            laptop.id, [a_node(number).node_id for number in wanted], action="all"
        )

    assert nodes_of(laptop) == before


@pytest.mark.parametrize("unknown", ["nowhere", "猫", "B#x", "../META", "00000000-#"])
def test_ids_that_do_not_exist_are_named(laptop: Keeper, unknown: str) -> None:
    [node_id] = add(laptop, ONE)
    with pytest.raises(NotFoundError, match="there is no memory"):
        laptop.memory.edits.merge(laptop.id, [node_id, unknown], action="all")
    with pytest.raises(NotFoundError, match="there is no memory"):
        laptop.memory.edits.undo_merge(laptop.id, unknown)


def test_only_a_merge_can_be_taken_back_and_once(laptop: Keeper) -> None:
    ids = add(laptop, ONE, TWO)
    with pytest.raises(InvalidInputError, match="was not made by merging"):
        laptop.memory.edits.undo_merge(laptop.id, ids[0])
    merged = laptop.memory.edits.merge(laptop.id, ids, action="both").node.node_id
    laptop.memory.edits.undo_merge(laptop.id, merged)
    with pytest.raises(InvalidInputError, match="was taken back already"):
        laptop.memory.edits.undo_merge(laptop.id, merged)


def test_texts_of_a_merge_have_limits(laptop: Keeper) -> None:
    ids = add(laptop, ONE, TWO)
    with pytest.raises(InvalidInputError, match="'summary' has 4097 bytes and its limit is 4096"):
        laptop.memory.edits.merge(laptop.id, ids, action="x" * 4097)
    with pytest.raises(InvalidInputError, match="'feeling' has 2049 bytes and its limit is 2048"):
        laptop.memory.edits.merge(laptop.id, ids, action="x", feeling="x" * 2049)
    with pytest.raises(InvalidInputError, match="'summary' is empty"):
        laptop.memory.edits.merge(laptop.id, ids, action=" ")


def test_as_many_nodes_as_promised_are_merged_and_taken_back(kept: Keeper) -> None:
    clusters = [f"c{number:02}" for number in range(20)]
    add_clusters(kept, **dict.fromkeys(clusters, 1))
    ids = add(kept, *(a_node(number, cluster_id=each) for number, each in enumerate(clusters)))
    merged = kept.memory.edits.merge(kept.id, ids, action="all").node

    assert len(merged.evidence) == 20
    kept.memory.edits.undo_merge(kept.id, merged.node_id)
    assert {nodes_of(kept)[each].status for each in ids} == {"active"}


# Laws


@st.composite
def somewhat(draw: st.DrawFn, number: int) -> Node:
    fields: dict[str, Any] = {
        "actors": tuple(draw(st.lists(st.sampled_from(["Ann", "Bo", "猫"]), unique=True))),
        "when": tuple(
            sorted(draw(st.sets(st.sampled_from(["2026-01-01", "2026-01-02"]), min_size=1)))
        ),
        "importance": draw(st.sampled_from([0.0, 0.5, 1.0])),
        "trust": draw(st.sampled_from(TRUST_ORDER)),
        "cluster_id": draw(st.sampled_from([None, "c", "d"])),
        "evidence": tuple(f"S{number}.{each}" for each in range(draw(st.integers(1, 3)))),
        "status": draw(st.sampled_from(["active", "dying", "dead"])),
        "reactivation_count": draw(st.integers(0, 5)),
        "stability": draw(st.sampled_from([4.0, 64.0])),
    }
    return a_node(number, **fields)


moves = st.lists(
    st.tuples(st.booleans(), st.lists(st.integers(0, 9), min_size=2, max_size=4)), max_size=6
)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.tuples(*(somewhat(number) for number in range(5))), moves)
def test_merging_and_taking_back_lose_nothing(
    nodes: tuple[Node, ...], steps: list[tuple[bool, list[int]]]
) -> None:
    clock = StillClock()
    with sqlite_table(clock) as (table, database), pytest.MonkeyPatch.context() as patch:
        divide_early(patch)
        kept = keeper(table, queue_of(database, clock), clock)
        living = [sum(each.is_living and each.cluster_id == c for each in nodes) for c in "cd"]
        add_clusters(kept, c=living[0], d=living[1])
        add(kept, *nodes)
        scenes = {each for node in nodes for each in node.evidence}
        merges: list[str] = []
        for is_merge, places in steps:
            top = [
                node.node_id
                for node in nodes_of(kept).values()
                if node.status != "merged" and node.reason is None
            ]
            if is_merge and len(top) > 1:
                chosen = {top[place % len(top)] for place in places}
                if len(chosen) > 1:
                    sources = [nodes_of(kept)[each] for each in chosen]
                    made = kept.memory.edits.merge(kept.id, sorted(chosen), action="m").node
                    merges.append(made.node_id)
                    assert made.importance == max(each.importance for each in sources)
                    assert TRUST_ORDER.index(made.trust) == min(
                        TRUST_ORDER.index(each.trust) for each in sources
                    )
                    assert set(made.actors) == {a for each in sources for a in each.actors}
            elif merges and merges[-1] in top:
                kept.memory.edits.undo_merge(kept.id, merges.pop())

            found = nodes_of(kept)
            holders = [
                each for node in found.values() if node.status != "merged" for each in node.evidence
            ]
            assert sorted(holders) == sorted(scenes)
            for cluster in kept.memory.clusters.active(kept.id):
                members = [
                    node
                    for node in found.values()
                    if node.is_living and node.cluster_id == cluster.cluster_id
                ]
                assert cluster.n_active == len(members)

            whole_nodes(kept.table.query(keys.nodes(kept.id)).items + further(kept), kept.id)

        while merges:
            kept.memory.edits.undo_merge(kept.id, merges.pop())
        found = nodes_of(kept)
        assert [replace(found[each.node_id], version=1) for each in nodes] == list(nodes)

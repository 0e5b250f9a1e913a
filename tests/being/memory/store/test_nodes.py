"""Nodes: listed in every way."""

from dataclasses import replace
from typing import Any

import pytest

from nacre.being.memory.model import keys
from nacre.being.memory.model.forgetting_curve import clock_below, initial_stability, retention
from nacre.being.memory.model.types import Cluster, Node
from nacre.being.memory.store.clusters import replacing
from nacre.core.errors import ConditionFailedError, NotFoundError
from tests.being.memory.keeping import Keeper, a_node


def add(kept: Keeper, *nodes: Node) -> list[str]:
    kept.memory.nodes.add(kept.id, nodes)
    return [node.node_id for node in nodes]


def waiting(kept: Keeper, partition: str) -> list[object]:
    return [item["node_id"] for item in kept.table.query(partition, index="gsi3").items]


def test_nodes_come_back_and_can_be_searched(kept: Keeper) -> None:
    nodes = [a_node(1), a_node(2, cluster_id="c", setting="猫カフェ", pinned=True)]
    ids = add(kept, *nodes)

    assert kept.memory.nodes.get(kept.id, ids[0]) == nodes[0]
    assert kept.memory.nodes.get_many(kept.id, [*ids, "", "unknown"]) == dict(
        zip(ids, nodes, strict=True)
    )
    assert kept.memory.nodes.page(kept.id).nodes == tuple(nodes)
    assert kept.index.applied[ids[1]].text == "[2026-07-01] Ann: Ann fed cat 2 (猫カフェ)"
    assert kept.index.applied[ids[1]].state == "active"


def test_an_id_is_given_once(kept: Keeper) -> None:
    add(kept, a_node(1))
    with pytest.raises(ConditionFailedError):
        add(kept, a_node(2), a_node(1))

    assert kept.memory.nodes.get(kept.id, a_node(2).node_id) is None


def test_a_cluster_lists_its_nodes_by_status(kept: Keeper) -> None:
    ids = add(
        kept,
        a_node(1, cluster_id="c"),
        a_node(2, cluster_id="c", status="dead"),
        a_node(3, cluster_id="c", status="dying"),
        a_node(4, cluster_id="d"),
        a_node(5),
    )

    def listed(cluster_id: str | None, **more: Any) -> list[str]:
        page = kept.memory.nodes.in_cluster(kept.id, cluster_id, **more)
        return [node.node_id for node in page.nodes]

    assert listed("c") == [ids[0], ids[1], ids[2]]
    assert listed("c", status="dead") == [ids[1]]
    assert listed("c", limit=2) == ids[:2]
    assert listed("d") == [ids[3]]
    assert listed(None) == [ids[4]]
    assert listed("") == [ids[4]]
    assert listed("c#active") == []


def test_the_last_activated_living_node_comes_first(kept: Keeper) -> None:
    ids = add(
        kept,
        a_node(1, last_activated="2026-07-05T00:00:00.000Z"),
        a_node(2, last_activated="2026-07-09T00:00:00.000Z"),
        a_node(3, last_activated="2026-07-20T00:00:00.000Z", status="dead"),
        a_node(4, created_at="2026-07-07T00:00:00.000Z"),
    )
    recent = [node.node_id for node in kept.memory.nodes.recent(kept.id).nodes]

    assert recent == [ids[1], ids[3], ids[0]]


def test_a_being_that_does_not_exist_gets_no_nodes(kept: Keeper) -> None:
    with pytest.raises(NotFoundError):
        kept.memory.nodes.add("00000000-0000-4000-8000-00000000dead", [a_node(1)])


# Clusters


def test_clusters_are_listed_by_size(kept: Keeper) -> None:
    small = Cluster(cluster_id="a", created_at="t", n_active=1)
    retired = Cluster(cluster_id="b", created_at="t", state="retired", n_active=9)
    large = Cluster(cluster_id="c", created_at="t", n_active=5, label="ネコ")
    for cluster in (small, retired, large):
        kept.memory.clusters.add(kept.id, cluster)

    assert kept.memory.clusters.active(kept.id) == [large, small]
    assert kept.memory.clusters.page(kept.id).clusters == (small, retired, large)
    assert kept.memory.clusters.get(kept.id, "c") == large
    assert kept.memory.clusters.get(kept.id, "z") is None


def test_a_cluster_is_replaced_only_as_it_was_read(kept: Keeper) -> None:
    cluster = Cluster(cluster_id="a", created_at="t")
    kept.memory.clusters.add(kept.id, cluster)
    renewed = replace(cluster, label="cats", dirty=True, version=2)
    kept.memory.clusters.replace(kept.id, renewed, version=1)
    with pytest.raises(ConditionFailedError):
        kept.memory.clusters.replace(kept.id, replace(cluster, version=2), version=1)
    with pytest.raises(ConditionFailedError):
        kept.table.transact([replacing(kept.id, cluster, version=7)])

    assert kept.memory.clusters.get(kept.id, "a") == renewed
    [item] = kept.table.query(keys.dirty(kept.id), index="gsi3").items
    assert item["cluster_id"] == "a"


# The forgetting curve, with the table of its design as oracle


@pytest.mark.parametrize(
    ("importance", "stability", "after_7", "after_30", "after_180", "dies"),
    [
        (0.0, 4, 0.84, 0.60, 0.29, 51),
        (0.25, 8, 0.91, 0.73, 0.40, 102),
        (0.5, 16, 0.95, 0.83, 0.52, 205),
        (0.75, 32, 0.98, 0.91, 0.66, 409),
        (1.0, 64, 0.99, 0.95, 0.78, 819),
    ],
)
def test_memories_fade_as_the_table_says(
    importance: float,
    stability: float,
    after_7: float,
    after_30: float,
    after_180: float,
    dies: int,
) -> None:
    assert initial_stability(importance) == stability
    left = [round(retention(days, stability), 2) for days in (7, 30, 180)]
    assert left == [after_7, after_30, after_180]
    assert abs(clock_below(0, stability, 0.5) - dies) <= 1


def test_the_clock_of_fading_is_the_first_below() -> None:
    clock = clock_below(10, 16, 0.6)

    assert retention(clock - 10, 16) < 0.6 <= retention(clock - 11, 16)

"""Nodes: listed in every way, and counted when they are recalled."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.model import keys
from nacre.being.memory.model.forgetting_curve import clock_below, initial_stability, retention
from nacre.being.memory.model.lifetime import activity
from nacre.being.memory.model.types import Cluster, Node
from nacre.being.memory.store.clusters import replacing
from nacre.core.errors import ConditionFailedError, NotFoundError
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, a_node, keeper, queue_of


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


def test_recalling_counts_and_moves_a_node_to_the_front(kept: Keeper, clock: StillClock) -> None:
    ids = add(kept, a_node(1), a_node(2, last_activated="2026-07-28T10:00:00.000Z"))
    kept.memory.nodes.touch(kept.id, {ids[0]: 1})

    node = kept.memory.nodes.get(kept.id, ids[0])
    assert node == replace(
        a_node(1), reactivation_count=1, last_activated="2026-07-28T12:00:00.000Z"
    )
    assert [each.node_id for each in kept.memory.nodes.recent(kept.id).nodes] == ids
    assert waiting(kept, keys.touched(kept.id)) == [ids[0]]
    assert waiting(kept, keys.due(kept.id)) == [ids[1]]


def test_a_node_moves_at_most_once_an_hour(kept: Keeper, clock: StillClock) -> None:
    [node_id] = add(kept, a_node(1))
    seen = []
    for _ in range(3):
        kept.memory.nodes.touch(kept.id, {node_id: 1})
        node = kept.memory.nodes.get(kept.id, node_id)
        assert node is not None
        seen.append((node.reactivation_count, node.last_activated))
        clock.move(1800)

    assert seen == [
        (1, "2026-07-28T12:00:00.000Z"),
        (2, "2026-07-28T12:00:00.000Z"),
        (3, "2026-07-28T13:00:00.000Z"),
    ]


@pytest.mark.parametrize(
    ("amounts", "revives"), [([1], False), ([2], True), ([1, 1], True), ([5], True)]
)
def test_a_dead_node_comes_back_after_two_more(
    kept: Keeper, amounts: list[int], revives: bool
) -> None:
    dead = a_node(1, status="dead", reactivation_count=7, count_at_death=7, due=None)
    [node_id] = add(kept, dead)
    for amount in amounts:
        kept.memory.nodes.touch(kept.id, {node_id: amount})

    node = kept.memory.nodes.get(kept.id, node_id)
    recalled = replace(dead, reactivation_count=7 + sum(amounts))
    assert node is not None
    assert (node.last_activated is not None) is bool(amounts)
    assert replace(node, last_activated=None) == recalled
    assert waiting(kept, keys.revivable(kept.id)) == ([node_id] if revives else [])


def test_what_cannot_be_recalled_is_left_alone(kept: Keeper) -> None:
    nodes = [
        a_node(1, status="merged", merged_into="x"),
        a_node(2, status="dead", reason="undone", count_at_death=0),
        a_node(3),
    ]
    ids = add(kept, *nodes)
    kept.memory.nodes.touch(kept.id, {ids[0]: 2, ids[1]: 2, ids[2]: 0, "unknown": 1})

    assert kept.memory.nodes.page(kept.id).nodes == tuple(nodes)


def test_no_recall_is_lost_among_threads(tmp_path: Path, clock: StillClock) -> None:
    database = SqliteDatabase(tmp_path / "nacre.db")
    kept = keeper(SqliteTable(database, now=clock), queue_of(database, clock), clock)
    dead = a_node(2, status="dead", count_at_death=0, due=None)
    ids = add(kept, a_node(1), dead)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: kept.memory.nodes.touch(kept.id, dict.fromkeys(ids, 1)), range(24)))

    counts = [node.reactivation_count for node in kept.memory.nodes.page(kept.id).nodes]
    assert counts == [24, 24]
    assert waiting(kept, keys.revivable(kept.id)) == [ids[1]]
    database.close()


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


def test_what_is_shown_of_recalls_is_true(kept: Keeper, clock: StillClock) -> None:
    [living, dead] = add(
        kept, a_node(1), a_node(2, status="dead", reactivation_count=3, count_at_death=3, due=None)
    )
    assert "not recalled" in activity(a_node(1))
    rng = Random(5)
    for number in range(1, 40):
        clock.move(rng.choice((1, 60, 1200, 3000, 3601, 90_000)))
        if number == 20:
            clock.time += timedelta(days=900)  # wrong for one recall
        kept.memory.nodes.touch(kept.id, {living: 1, dead: 2})
        if number == 20:
            clock.time -= timedelta(days=900)
            continue
        found = kept.memory.nodes.get_many(kept.id, [living, dead])
        for node_id, counted in ((living, number), (dead, 3 + 2 * number)):
            node = found[node_id]
            shown = activity(node)
            assert f"recalls and repeated notes: {counted}, " in shown
            assert node.last_activated is not None
            assert f"within an hour of {node.last_activated} " in shown
            last = datetime.fromisoformat(node.last_activated)
            assert timedelta(0) <= clock.time - last < timedelta(seconds=3600)

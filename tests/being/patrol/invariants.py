"""The invariants of every memory after a patrol, whatever happened before; see `check`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nacre.being.memory.index.cluster_vectors import LENGTH_OF, MEAN_OF, mean_of
from nacre.being.memory.index.vector_items import CLUSTER, from_item
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import (
    ULID_LENGTH,
    UNDONE,
    Cluster,
    Node,
    Scene,
    least_trusted,
)
from nacre.being.memory.store import evidence
from nacre.being.memory.store.evidence import number_of_items
from nacre.being.patrol.compare.space import HASHED, hashed
from nacre.core.limits import CLUSTER_MEMBERS
from nacre.ports.items.table import Item
from nacre.ports.vectors.packed_vectors import packed


def check(items: Sequence[Item], being_id: str, *, emb_id: str | None) -> None:
    """Raise AssertionError for the first invariant that does not hold of these items."""
    scenes = {
        str(item["sk"]): Scene.from_item(item)
        for item in items
        if item["pk"] == keys.scenes(being_id)
    }
    nodes = whole_nodes(items, being_id)
    clusters = {
        str(item["sk"]): Cluster.from_item(item)
        for item in items
        if item["pk"] == keys.clusters(being_id)
    }
    _every_scene_has_its_place(scenes, nodes)
    _every_living_node_is_in_a_living_cluster(nodes, clusters)
    _retired_clusters_form_a_forest(clusters)
    _nodes_are_trusted_as_their_evidence(scenes, nodes)
    _clusters_follow_from_their_members(items, being_id, nodes, clusters, emb_id)
    _the_being_counts_right(items, being_id, scenes)
    _every_recall_is_counted(items, being_id)


def whole_nodes(items: Sequence[Item], being_id: str) -> dict[str, Node]:
    """Return the nodes with all of their scenes; no further item may be missing or too many."""
    further = {str(item["sk"]): item for item in items if item["pk"] == keys.evidence(being_id)}
    nodes = {}
    for item in items:
        if item["pk"] != keys.nodes(being_id):
            continue
        node = Node.from_item(item)
        names = [f"{node.node_id}#{number:04}" for number in range(number_of_items(node))]
        several: list[Any] = [further.pop(name)["scenes"] for name in names]
        moved = [scene_id for scenes in several for scene_id in scenes]
        assert len(moved) == node.earlier, node.node_id
        assert all(len(scenes) == evidence.IN_ITEM for scenes in several[:-1]), node.node_id
        assert (item["schema"] == 2) == bool(moved), node.node_id
        if moved:
            assert len(node.evidence) <= evidence.MOST, node.node_id
            newest = max((id_ for id_ in moved if len(id_) == ULID_LENGTH), default=None)
            assert node.newest_earlier == newest, node.node_id
        nodes[node.node_id] = replace(
            node, evidence=(*moved, *node.evidence), earlier=0, newest_earlier=None
        )
    assert not further, "scenes of no node"
    return nodes


def check_growth(before: Sequence[Item], after: Sequence[Item], being_id: str) -> None:
    """Raise AssertionError where a patrol has taken something away from what was there."""
    scenes = [
        {str(i["sk"]) for i in items if i["pk"] == keys.scenes(being_id)}
        for items in (before, after)
    ]
    assert scenes[0] <= scenes[1]
    earlier, later = (whole_nodes(items, being_id) for items in (before, after))
    for node_id, node in earlier.items():
        now = later[node_id]
        assert set(node.evidence) <= set(now.evidence), node_id
        assert set(node.when) <= set(now.when), node_id
        assert node.importance <= now.importance, node_id
        assert node.reactivation_count <= now.reactivation_count, node_id
        assert node.pinned <= now.pinned, node_id
        assert not (node.pinned and node.is_living and now.status == "dead"), node_id


def _every_scene_has_its_place(scenes: dict[str, Scene], nodes: dict[str, Node]) -> None:
    standing = [n for n in nodes.values() if n.status != "merged" and n.reason != UNDONE]
    holders = Counter(scene_id for node in standing for scene_id in node.evidence)
    for scene in scenes.values():
        expected = 1 if scene.status == "consumed" else 0
        assert holders[scene.scene_id] == expected, (scene.scene_id, scene.status, holders)
    for node in standing:
        assert len(set(node.evidence)) == len(node.evidence)


def _every_living_node_is_in_a_living_cluster(
    nodes: dict[str, Node], clusters: dict[str, Cluster]
) -> None:
    counts: Counter[str] = Counter()
    for node in nodes.values():
        if node.is_living:
            assert node.cluster_id in clusters, node.node_id
            assert clusters[node.cluster_id].state == "active", node.node_id
            counts[node.cluster_id] += 1
    for cluster in clusters.values():
        assert cluster.n_active == counts[cluster.cluster_id], cluster.cluster_id
        assert cluster.n_active <= CLUSTER_MEMBERS
        assert not cluster.dirty, cluster.cluster_id
        assert cluster.digest or not cluster.n_active, cluster.cluster_id


def _retired_clusters_form_a_forest(clusters: dict[str, Cluster]) -> None:
    for cluster in clusters.values():
        assert not cluster.children or cluster.state == "retired"
        # Several may have gone into one, so that one is met again; what never may be is a circle.
        visited: set[str] = set()
        open_ids = list(cluster.children)
        while open_ids:
            child = open_ids.pop()
            assert child in clusters
            assert child != cluster.cluster_id, "a cluster is among its own descendants"
            if child not in visited:
                visited.add(child)
                open_ids += clusters[child].children


def _nodes_are_trusted_as_their_evidence(scenes: dict[str, Scene], nodes: dict[str, Node]) -> None:
    # An agent's correction lowers the trust of a memory, and of what is merged from it.
    is_corrected = any(node.wordings for node in nodes.values())
    for node in nodes.values():
        told = [scenes[scene_id] for scene_id in node.evidence if scene_id in scenes]
        if told:
            trust = least_trusted([scene.trust for scene in told])
            assert node.trust == (least_trusted([trust, node.trust]) if is_corrected else trust)
            assert node.importance >= max(scene.importance for scene in told)
            assert set(node.when) >= {day for scene in told for day in scene.when}


def _clusters_follow_from_their_members(
    items: Sequence[Item],
    being_id: str,
    nodes: dict[str, Node],
    clusters: dict[str, Cluster],
    emb_id: str | None,
) -> None:
    vector_items = {str(item["sk"]): item for item in items if item["pk"] == keys.vectors(being_id)}
    for cluster in clusters.values():
        members = [n for n in nodes.values() if n.is_living and n.cluster_id == cluster.cluster_id]
        if members:
            _describes(cluster, members)
        if emb_id is None:
            every = [hashed(node.action) for node in members]
        else:
            points = [from_item(vector_items[f"P#{node.node_id}"]) for node in members]
            every = [vector for point in points if (vector := point.subject_vector(emb_id))]
            for node, point in zip(members, points, strict=True):
                assert (point.state, point.cluster_id) == (node.status, node.cluster_id)
        item = vector_items.get(CLUSTER + cluster.cluster_id, {})
        stored = item.get(MEAN_OF + (emb_id or HASHED))
        mean = mean_of(every)
        assert stored == (None if mean is None else packed(mean.vector))
        assert item.get(LENGTH_OF + (emb_id or HASHED)) == (mean and mean.length)


def _describes(cluster: Cluster, members: Sequence[Node]) -> None:
    days = sorted(day for node in members for day in node.when)
    assert [cluster.first_day, cluster.last_day] == [days[0], days[-1]], cluster.cluster_id
    if cluster.digest_source == "rules":
        lines = [line[2:] for line in (cluster.digest or "").splitlines() if line.startswith("- ")]
        assert len(lines) == min(3, len(members)), cluster.cluster_id
        actions = [" ".join(node.action.split()) for node in members]
        assert all(any(action.startswith(line.rstrip("…")) for action in actions) for line in lines)


def _the_being_counts_right(items: Sequence[Item], being_id: str, scenes: dict[str, Scene]) -> None:
    place = keys.meta(being_id)
    [meta] = [item for item in items if (item["pk"], item["sk"]) == tuple(place)]
    waiting = [scene for scene in scenes.values() if scene.status == "pending"]
    assert meta.get("pending_scenes", 0) == len(waiting)


def _every_recall_is_counted(items: Sequence[Item], being_id: str) -> None:
    assert not [item for item in items if item["pk"] == keys.recalls(being_id)]
    assert not [
        item for item in items if (item["pk"], item["sk"]) == tuple(keys.uncounted(being_id))
    ]

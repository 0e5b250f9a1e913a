"""Changes to clusters that several steps make: mark as dirty, move a memory, retire."""

from collections.abc import Sequence

from nacre.being.memory.index.cluster_vectors import vector_place
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Cluster
from nacre.being.memory.store.clusters import marking_dirty, replacing
from nacre.being.memory.store.nodes import replacing as replacing_node
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.steps.join_cluster import joining
from nacre.core.lazy_dataclasses import replace
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Delete, Write


def dirtying(context: RunContext, cluster_id: str | None, *, members: int = 0) -> list[Write]:
    """Return the write that marks a cluster for renewal; nothing if there is no such cluster."""
    if cluster_id is None or context.memory.clusters.get(context.being_id, cluster_id) is None:
        return []
    return [marking_dirty(context.being_id, cluster_id, members=members)]


def dirty_clusters(context: RunContext) -> list[Cluster]:
    """Return the clusters that are marked for renewal, ordered by id, with their latest state."""
    dirty = every_item(context.table, keys.dirty(context.being_id), index="gsi3")
    ids = [str(item["sk"]) for item in dirty]
    clusters = context.memory.clusters.get_many(context.being_id, ids)
    return [clusters[cluster_id] for cluster_id in sorted(clusters) if clusters[cluster_id].dirty]


def move_to_nearest(context: RunContext, node_id: str, source: str, targets: Sequence[str]) -> None:
    """Move a living member of a cluster to the nearest one of the targets that has room, if any."""
    node = context.memory.nodes.get(context.being_id, node_id)
    if node is None or not node.is_living or node.cluster_id != source:
        return
    vector = context.neighbours.subjects([node], context.space)[node_id]
    clusters = context.neighbours.candidates(targets, context.space)
    if not clusters:
        return
    nearest = context.neighbours.nearest_of(
        context.space.spot(node, vector), clusters, context.space
    )
    target = nearest.cluster.cluster_id
    after = replace(node, cluster_id=target, version=node.version + 1)
    writes: list[Write] = [replacing_node(context.being_id, node, after)]
    writes += dirtying(context, source, members=-1)
    writes += joining(context, nearest, target, node, vector)
    writes += context.index_updates.writes([after])
    context.commit(writes, counts={"moved": 1})


def retire(context: RunContext, cluster_id: str, children: tuple[str, ...], **counts: int) -> None:
    """Retire a cluster, unless it has living members (again)."""
    cluster = context.memory.clusters.get(context.being_id, cluster_id)
    if cluster is None or cluster.state == "retired" or cluster.n_active > 0:
        return
    after = replace(
        cluster,
        state="retired",
        children=children,
        n_active=0,
        dirty=False,
        version=cluster.version + 1,
    )
    context.ledger.commit(
        [
            replacing(context.being_id, after, version=cluster.version),
            Delete(vector_place(context.being_id, cluster_id)),
        ],
        counts={"retired": 1, **counts},
    )

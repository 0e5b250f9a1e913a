"""The step that revives forgotten memories that were recalled, and assigns missing clusters."""

from functools import partial

from nacre.being.memory.model import keys
from nacre.being.memory.model.forgetting_curve import DYING_BELOW, clock_below, initial_stability
from nacre.being.memory.model.types import Node
from nacre.being.memory.store.nodes import rewriting
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.patrol.compare.neighbours import CandidateCluster
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.steps.join_cluster import cluster_id_for, joining
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import PATROL_MOVES, PATROL_SCENES
from nacre.ports.vectors.embedder import Vector

_REVIVED = 1.5  # times the stability of a new memory


def revive(context: RunContext) -> None:
    """Revive dead nodes that were recalled, then assign a cluster to living ones without one."""
    counts = context.ledger.counts()
    limit = PATROL_MOVES - counts.get("revived", 0)
    if limit > 0:
        partition = keys.revivable(context.being_id)
        listed = context.table.query(partition, index="gsi3", limit=limit).items
        for node_id in sorted({*(str(item["sk"]) for item in listed), *context.recalled}):
            retry_on_conflict(partial(_revive, context, node_id))
    limit = PATROL_SCENES - counts.get("homed", 0)
    for status in ("active", "dying"):
        if limit > 0:
            page = context.memory.nodes.in_cluster(
                context.being_id, None, status=status, limit=limit
            )
            limit -= len(page.nodes)
            for node in page.nodes:
                retry_on_conflict(partial(_join_cluster, context, node.node_id))
    context.renew_lease()


def _revive(context: RunContext, node_id: str) -> None:
    node = context.memory.nodes.get(context.being_id, node_id)
    if node is None or not node.is_revivable:
        return
    stability = _REVIVED * initial_stability(node.importance)
    alive = replace(
        node,
        status="active",
        stability=stability,
        clock0=context.run.clock,
        due=clock_below(context.run.clock, stability, DYING_BELOW),
        reactivation_done=node.reactivation_count,
        count_at_death=None,
        version=node.version + 1,
    )
    vector = _vector(context, node)
    descendants = _living_clusters(context, node.cluster_id)
    if descendants:
        spot = context.space.spot(node, vector)
        cluster = context.neighbours.nearest_cluster(
            spot, descendants, context.space, at_any_distance=True
        )
    else:
        cluster = _nearest_cluster(context, node, vector)
    _put(context, node, alive, cluster, vector, "revived")


def _join_cluster(context: RunContext, node_id: str) -> None:
    node = context.memory.nodes.get(context.being_id, node_id)
    if node is None or not node.is_living or node.cluster_id is not None:
        return
    vector = _vector(context, node)
    after = replace(node, version=node.version + 1)
    _put(context, node, after, _nearest_cluster(context, node, vector), vector, "homed")


def _put(
    context: RunContext,
    before: Node,
    after: Node,
    cluster: CandidateCluster | None,
    vector: Vector,
    count: str,
) -> None:
    cluster_id = cluster_id_for(context, cluster, after.node_id)
    after = replace(after, cluster_id=cluster_id)
    writes = rewriting(context.being_id, before, after)
    writes += joining(context, cluster, cluster_id, after, vector)
    writes += context.index_updates.writes([after])
    context.commit(writes, counts={count: 1})


def _nearest_cluster(context: RunContext, node: Node, vector: Vector) -> CandidateCluster | None:
    near = context.neighbours.around(vector, node.action, context.space)
    spot = context.space.spot(node, vector)
    return context.neighbours.nearest_cluster(spot, near.cluster_ids, context.space)


def _vector(context: RunContext, node: Node) -> Vector:
    return context.neighbours.subjects([node], context.space)[node.node_id]


def _living_clusters(context: RunContext, cluster_id: str | None) -> list[str]:
    """Return the active clusters that a cluster has become, which may be the cluster itself."""
    ids = [] if cluster_id is None else [cluster_id]
    visited: set[str] = set()
    living: list[str] = []
    while ids:
        clusters = sorted(context.memory.clusters.get_many(context.being_id, ids).items())
        visited |= set(ids)
        living += [id_ for id_, cluster in clusters if cluster.state == "active"]
        ids = [
            child
            for _, cluster in clusters
            if cluster.state == "retired"
            for child in cluster.children
            if child not in visited
        ]
    return living

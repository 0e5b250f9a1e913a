"""The step that merges tiny clusters into the nearest cluster, if one is near enough."""

from functools import partial

from nacre.being.memory.model.types import Cluster
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.patrol.compare.geometry import mean, numbers, packed, unit
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.steps.cluster_changes import dirty_clusters, move_to_nearest, retire
from nacre.core.limits import PATROL_MOVES
from nacre.ports.items.table import Value

STEP = 7
PLAN = "SMALL"
_SMALL = 2  # members


def tidy(context: RunContext) -> None:
    """Move the members of small clusters; plan all moves before moving any memory."""
    if context.run.step < STEP:
        small = [
            cluster
            for cluster in dirty_clusters(context)
            if cluster.state == "active" and cluster.n_active <= _SMALL
        ]
        context.ledger.plan(PLAN, _planned(context, small), step=STEP)
    for entry in context.plan(PLAN) or []:
        _apply(context, entry.get("cluster", ""), entry.get("to", ""))
        context.renew_lease()


def _planned(context: RunContext, small: list[Cluster]) -> list[Value]:
    entries: list[Value] = []
    for cluster in small:
        members = context.neighbours.members(cluster.cluster_id)
        if not members:
            entries.append({"cluster": cluster.cluster_id, "to": ""})
            continue
        vectors = context.neighbours.subjects(members, context.space)
        centre = packed(unit(mean([numbers(vector) for vector in vectors.values()])))
        text = "\n".join(node.action for node in members)
        near = context.neighbours.around(centre, text, context.space)
        others = [id_ for id_ in near.cluster_ids if id_ != cluster.cluster_id]
        target = context.neighbours.nearest_cluster(
            centre, others, context.space, context.space.join(text)
        )
        if target is not None:
            entries.append({"cluster": cluster.cluster_id, "to": target.cluster.cluster_id})
    return entries[:PATROL_MOVES]


def _apply(context: RunContext, cluster_id: str, target: str) -> None:
    members = context.neighbours.members(cluster_id) if cluster_id else []
    if len(members) > _SMALL or (members and not target):
        return  # it has grown since the plan was made
    for node in members:
        retry_on_conflict(partial(move_to_nearest, context, node.node_id, cluster_id, (target,)))
    children = (target,) if target else ()
    if not target or _is_active(context, target):
        retry_on_conflict(lambda: retire(context, cluster_id, children))


def _is_active(context: RunContext, cluster_id: str) -> bool:
    cluster = context.memory.clusters.get(context.being_id, cluster_id)
    return cluster is not None and cluster.state == "active"

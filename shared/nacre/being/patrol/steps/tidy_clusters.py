"""The step that unites clusters about one subject, and dissolves empty ones."""

from collections.abc import Iterator
from functools import partial

from nacre.being.memory.model.types import Cluster
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.steps.cluster_changes import dirty_clusters, move_to_nearest, retire
from nacre.core.limits import CLUSTER_MEMBERS, PATROL_MOVES
from nacre.ports.items.table import Value

STEP = 7
PLAN = "SMALL"


def tidy(context: RunContext) -> None:
    """Unite clusters that changed with near ones; plan all moves before moving any memory."""
    if context.run.step < STEP:
        changed = [cluster for cluster in dirty_clusters(context) if cluster.state == "active"]
        changed.sort(key=lambda cluster: (cluster.n_active, cluster.cluster_id))
        context.ledger.plan(PLAN, list(_planned(context, changed)), step=STEP)
    for entry in context.plan(PLAN) or []:
        _apply(context, entry.get("cluster", ""), entry.get("to", ""))
        context.renew_lease()


def _planned(context: RunContext, changed: list[Cluster]) -> Iterator[Value]:
    moved: set[str] = set()
    sizes: dict[str, int] = {}  # of the targets, with what comes to them
    for cluster in changed:
        if len(moved) == PATROL_MOVES:
            return
        if cluster.cluster_id in sizes:
            continue  # others come to it
        members = context.neighbours.members(cluster.cluster_id)
        if not members:
            yield {"cluster": cluster.cluster_id, "to": ""}
            continue
        vectors = context.neighbours.subjects(members, context.space)
        spot = context.space.middle(members, [vectors[node.node_id] for node in members])
        near = context.neighbours.around(spot.vector, spot.text, context.space)
        others = [id_ for id_ in near.cluster_ids if id_ != cluster.cluster_id and id_ not in moved]
        target = context.neighbours.nearest_cluster(spot, others, context.space, room=len(members))
        if target is None:
            continue
        target_id = target.cluster.cluster_id
        size = sizes.get(target_id, target.cluster.n_active) + len(members)
        if size > CLUSTER_MEMBERS:
            continue
        moved.add(cluster.cluster_id)
        sizes[target_id] = size
        yield {"cluster": cluster.cluster_id, "to": target_id}


def _apply(context: RunContext, cluster_id: str, target: str) -> None:
    members = context.neighbours.members(cluster_id) if cluster_id else []
    if members and not target:
        return  # it has grown since the plan was made
    for node in members:
        retry_on_conflict(partial(move_to_nearest, context, node.node_id, cluster_id, (target,)))
    children = (target,) if target else ()
    if not target or _is_active(context, target):
        retry_on_conflict(lambda: retire(context, cluster_id, children))


def _is_active(context: RunContext, cluster_id: str) -> bool:
    cluster = context.memory.clusters.get(context.being_id, cluster_id)
    return cluster is not None and cluster.state == "active"

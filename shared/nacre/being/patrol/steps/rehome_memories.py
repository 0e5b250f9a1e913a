"""The step that moves single memories to a cluster that is nearer to them than their own.

A memory joins a cluster when it is noted, and clusters change afterwards. So the members of the
clusters that changed, and of the clusters next to them, are compared again.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from nacre.being.memory.model.types import Cluster
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.patrol.compare.geometry import dot, mean
from nacre.being.patrol.compare.grouping import MOVE, Group, Grouping, nearness, place_of
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.steps.cluster_changes import dirty_clusters, move_to_nearest
from nacre.being.patrol.steps.tidy_clusters import STEP
from nacre.core.limits import CLUSTER_MEMBERS, PATROL_REHOMED
from nacre.ports.items.table import Value

PLAN = "REHOME"
_CLUSTERS = 8  # that changed, and are looked at in one run
_NEXT_TO = 2  # clusters beside each of them
_COMPARED = 6  # clusters with which the members of one are compared


def rehome(context: RunContext) -> None:
    """Move memories to nearer clusters; plan all moves before moving any memory."""
    if context.plan(PLAN) is None:
        grouping, changed = context.space.grouping, dirty_clusters(context)
        if not changed:
            return
        planned = [] if grouping is None else list(_planned(context, grouping, changed))
        context.ledger.plan(PLAN, planned[:PATROL_REHOMED], step=STEP)
    for entry in context.plan(PLAN) or []:
        node_id, source, target = (entry.get(name, "") for name in ("node", "from", "to"))
        if node_id:
            retry_on_conflict(partial(move_to_nearest, context, node_id, source, (target,)))
    context.renew_lease()


def _planned(
    context: RunContext, grouping: Grouping, changed: Sequence[Cluster]
) -> Iterator[Value]:
    active = [cluster for cluster in changed if cluster.state == "active"]
    active.sort(key=lambda cluster: (-cluster.n_active, cluster.cluster_id))
    looked_at: set[str] = set()
    for cluster in active[:_CLUSTERS]:
        groups = _groups_around(context, cluster.cluster_id)
        for cluster_id in list(groups)[: 1 + _NEXT_TO]:
            if cluster_id not in looked_at:
                looked_at.add(cluster_id)
                yield from _moves(context, grouping, cluster_id, groups)


def _groups_around(context: RunContext, cluster_id: str) -> dict[str, Group]:
    """Return a cluster and those near it with room, the nearest first."""
    members = context.neighbours.members(cluster_id)
    if not members:
        return {}
    vectors = context.neighbours.subjects(members, context.space)
    spot = context.space.middle(members, [vectors[node.node_id] for node in members])
    assert spot.group is not None
    near = context.neighbours.around(spot.vector, spot.text, context.space)
    groups = {
        candidate.cluster.cluster_id: candidate.group
        for candidate in context.neighbours.candidates(near.cluster_ids, context.space)
        if candidate.group is not None
    }
    own = spot.group
    ranked = sorted(groups, key=lambda id_: (id_ != cluster_id, -nearness(own, groups[id_]), id_))
    groups[cluster_id] = own
    return {id_: groups[id_] for id_ in dict.fromkeys((cluster_id, *ranked[:_COMPARED]))}


def _moves(
    context: RunContext, grouping: Grouping, cluster_id: str, groups: Mapping[str, Group]
) -> Iterator[Value]:
    members = context.neighbours.members(cluster_id)
    vectors = context.neighbours.subjects(members, context.space)
    places = {node.node_id: place_of(node, vectors[node.node_id]) for node in members}
    if len(places) < 2:
        return
    others = {
        id_: group
        for id_, group in groups.items()
        if id_ != cluster_id and group.count < CLUSTER_MEMBERS
    }
    whole = grouping.group(mean(list(places.values())), 1).mean
    for node_id, place in places.items():
        memory = grouping.group(place, 1)
        # The product with the mean of the other members follows from the mean of all.
        with_all = dot(whole, memory.mean)
        own = (len(places) * with_all - memory.square) / (len(places) - 1)
        best = max(
            ((round(dot(group.mean, memory.mean), 9), id_) for id_, group in others.items()),
            default=None,
        )
        if best is not None and best[0] > own + MOVE:
            yield {"node": node_id, "from": cluster_id, "to": best[1]}

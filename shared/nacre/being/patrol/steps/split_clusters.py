"""The step that splits a cluster about two subjects, if a model agrees and names both."""

import uuid
from functools import partial
from typing import Any

from nacre.being.memory.model.types import Cluster, Node
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.patrol.compare.geometry import Numbers, numbers, unit
from nacre.being.patrol.compare.two_means import Halves, two_means
from nacre.being.patrol.planning.plans import Proposals
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.steps.cluster_changes import dirty_clusters, move_to_nearest, retire
from nacre.core.limits import CLUSTER_MEMBERS, PATROL_SPLITS, SPLIT_FROM
from nacre.ports.items.table import Absent, Put

STEP = 6
PLAN = "SPLIT"
_MAX_SCATTER = 0.88  # two halves are clear if they keep a smaller share of the scatter
_MIN_HALF = 3  # members
_CHILDREN = uuid.UUID("6e616372-6500-5000-8000-6368696c6472")


def split(context: RunContext) -> None:
    """Split clusters that are about two subjects; plan all splits before moving any memory."""
    if context.run.step < STEP:
        if context.planner is None:
            return
        proposals = proposed_splits(context)
        context.ledger.plan(
            PLAN, proposals.entries, step=STEP, reasons=proposals.reasons, counts=proposals.tokens
        )
    for entry in context.plan(PLAN) or []:
        if entry.get("halves"):
            _apply(context, entry)
            context.renew_lease()


def child_id(cluster_id: str, side: int) -> str:
    """Return the id of one half of a cluster."""
    return str(uuid.uuid5(_CHILDREN, f"{cluster_id}:{side}"))


def should_split(halves: Halves | None, count: int) -> bool:
    """Return whether a cluster is about two subjects, or has no room left."""
    if halves is None:
        return False
    are_clear = (
        min(len(halves.first), len(halves.second)) >= _MIN_HALF and halves.scatter < _MAX_SCATTER
    )
    return are_clear or count >= CLUSTER_MEMBERS


def proposed_splits(context: RunContext) -> Proposals:
    """Ask the model about the clusters that seem to be about two subjects; store nothing."""
    assert context.planner is not None
    proposals = Proposals()
    large = [
        cluster
        for cluster in dirty_clusters(context)
        if cluster.state == "active" and cluster.n_active >= SPLIT_FROM
    ]
    for cluster in large[:PATROL_SPLITS]:
        members = {node.node_id: node for node in context.neighbours.members(cluster.cluster_id)}
        halves = halves_of(context, list(members.values()))
        if halves is None or not should_split(halves, len(members)):
            continue
        first, second = (
            [members[node_id] for node_id in half] for half in (halves.first, halves.second)
        )
        result = context.planner.split(context.being_id, (first, second))
        context.renew_lease()
        proposals.tokens.update(result.tokens)
        if result.value is None:
            proposals.reasons.append(f"splitting: {result.reason}")
        elif not result.value.split:
            proposals.reasons.append("splitting: the model keeps a cluster whole")
        else:
            proposals.entries.append(
                {
                    "cluster": cluster.cluster_id,
                    "halves": [list(halves.first), list(halves.second)],
                    "labels": list(result.value.labels),
                }
            )
    return proposals


def halves_of(context: RunContext, members: list[Node]) -> Halves | None:
    """Return the halves of a cluster with these members; None if it is too small."""
    if len(members) < SPLIT_FROM:
        return None
    vectors = context.neighbours.subjects(members, context.space)
    directions: dict[str, Numbers] = {
        node_id: unit(context.space.around(numbers(vector))) for node_id, vector in vectors.items()
    }
    return two_means(directions)


def _apply(context: RunContext, entry: dict[str, Any]) -> None:
    parent = entry["cluster"]
    cluster = context.memory.clusters.get(context.being_id, parent)
    if cluster is None or cluster.state == "retired":
        return
    children = (child_id(parent, 0), child_id(parent, 1))
    existing = context.memory.clusters.get_many(context.being_id, children)
    for child, label in zip(children, entry["labels"], strict=True):
        if child not in existing:
            half = Cluster(cluster_id=child, created_at=context.run.now, label=label, dirty=True)
            context.ledger.commit([Put(half.to_item(context.being_id), Absent())])
    for child, ids in zip(children, entry["halves"], strict=True):
        for node_id in ids:
            retry_on_conflict(partial(move_to_nearest, context, node_id, parent, (child,)))
    for node in context.neighbours.members(parent):  # members that joined since the plan was made
        retry_on_conflict(partial(move_to_nearest, context, node.node_id, parent, children))
    retry_on_conflict(lambda: retire(context, parent, children, split=1))

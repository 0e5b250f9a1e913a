"""The step that splits a cluster about two subjects; a model may keep it whole, or name both."""

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

from nacre.being.memory.model.types import Cluster, Node
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.patrol.compare.geometry import numbers, unit
from nacre.being.patrol.compare.grouping import SPLIT, link, place_of
from nacre.being.patrol.compare.two_means import Halves, two_means
from nacre.being.patrol.planning.plans import Proposals
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.steps.cluster_changes import dirty_clusters, move_to_nearest, retire
from nacre.core.limits import CLUSTER_MEMBERS, PATROL_SPLITS, SPLIT_FROM
from nacre.ports.items.table import Absent, Put, Value
from nacre.ports.vectors.embedder import Vector

STEP = 6
PLAN = "SPLIT"
_MIN_HALF = 2  # members
# Before the Being's notes are measured:
_UNMEASURED_FROM, _UNMEASURED_HALF = 16, 3  # members of the cluster, and of a half
_MAX_SCATTER = 0.88  # two halves are clear if they keep a smaller share of the scatter
_CHILDREN = uuid.UUID("6e616372-6500-5000-8000-6368696c6472")


def split(context: RunContext) -> None:
    """Split clusters that are about two subjects; plan all splits before moving any memory."""
    if context.run.step < STEP:
        proposals = proposed_splits(context)
        if not proposals.entries and context.planner is None:
            return
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


def proposed_splits(context: RunContext) -> Proposals:
    """Find clusters about two subjects, and ask the model, if any, to agree; store nothing."""
    proposals = Proposals()
    large = [
        cluster
        for cluster in dirty_clusters(context)
        if cluster.state == "active" and cluster.n_active >= SPLIT_FROM
    ]
    large.sort(key=lambda cluster: (-cluster.n_active, cluster.cluster_id))
    for cluster in large:
        if len(proposals.entries) == PATROL_SPLITS:
            break
        members = {node.node_id: node for node in context.neighbours.members(cluster.cluster_id)}
        halves = clear_halves(context, list(members.values()))
        if halves is None:
            continue
        labels: list[Value] = ["", ""]
        if context.planner is not None:
            first, second = (
                [members[node_id] for node_id in half] for half in (halves.first, halves.second)
            )
            result = context.planner.split(context.being_id, (first, second))
            context.renew_lease()
            proposals.tokens.update(result.tokens)
            if result.value is None:
                proposals.reasons.append(f"splitting: {result.reason}")
                continue
            if not result.value.split:
                proposals.reasons.append("splitting: the model keeps a cluster whole")
                continue
            labels = list(result.value.labels)
        proposals.entries.append(
            {
                "cluster": cluster.cluster_id,
                "halves": [list(halves.first), list(halves.second)],
                "labels": labels,
            }
        )
    return proposals


def clear_halves(context: RunContext, members: list[Node]) -> Halves | None:
    """Return the halves of a cluster about two subjects, or of a full one; None for others."""
    grouping = context.space.grouping
    vectors = context.neighbours.subjects(members, context.space)
    if grouping is None:
        return _unmeasured_halves(context, vectors)
    places = {node.node_id: place_of(node, vectors[node.node_id]) for node in members}
    halves = two_means(places)
    if halves is None or _smaller(halves) < _MIN_HALF:
        return None
    first, second = (
        grouping.group_of([places[node_id] for node_id in half])
        for half in (halves.first, halves.second)
    )
    is_full = len(members) >= CLUSTER_MEMBERS
    return halves if is_full or link(first, second) < SPLIT else None


def _unmeasured_halves(context: RunContext, vectors: Mapping[str, Vector]) -> Halves | None:
    """Return the halves by meaning alone; without a measure only a model can tell two subjects."""
    if context.planner is None and len(vectors) < CLUSTER_MEMBERS:
        return None
    halves = two_means(
        {id_: unit(context.space.around(numbers(vector))) for id_, vector in vectors.items()}
    )
    if halves is None or len(vectors) < _UNMEASURED_FROM:
        return None
    are_clear = _smaller(halves) >= _UNMEASURED_HALF and halves.scatter < _MAX_SCATTER
    return halves if are_clear or len(vectors) >= CLUSTER_MEMBERS else None


def _smaller(halves: Halves) -> int:
    return min(len(halves.first), len(halves.second))


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

"""Splitting: a cluster about two subjects becomes two, if a model agrees and names them."""

import uuid
from functools import partial
from typing import Any

from nacre.being.memory.model.types import Cluster, Node
from nacre.being.memory.store.retry import settled
from nacre.being.patrol.compare.geometry import Numbers, numbers, unit
from nacre.being.patrol.compare.nearest import Home, mean_in
from nacre.being.patrol.compare.two_means import Halves, halves
from nacre.being.patrol.run.round import Round
from nacre.being.patrol.run.runs import INPUT_TOKENS, OUTPUT_TOKENS
from nacre.being.patrol.steps.cluster_changes import dirty_clusters, move, retire
from nacre.core.limits import CLUSTER_MEMBERS, PATROL_SPLITS, SPLIT_FROM
from nacre.ports.items.table import Absent, Put, Value

STEP = 6
PLAN = "SPLIT"
_TIGHTER = 0.88  # the share of the scatter that two halves may have at most
_LEAST = 3  # members of a half
_CHILDREN = uuid.UUID("6e616372-6500-5000-8000-6368696c6472")


def split(work: Round) -> None:
    """Divide the clusters that fall into two; decided for all before anything is moved."""
    if work.run.step < STEP:
        if work.thinking is None:
            return
        large = [
            each
            for each in dirty_clusters(work)
            if each.state == "active" and each.n_active >= SPLIT_FROM
        ]
        _plan(work, large[:PATROL_SPLITS])
    for entry in work.runs.plan(work.being_id, work.run.seq, PLAN) or []:
        if entry.get("halves"):
            _apply(work, entry)
            work.keep()


def child_id(cluster_id: str, side: int) -> str:
    """Return the id of one half of a cluster."""
    return str(uuid.uuid5(_CHILDREN, f"{cluster_id}:{side}"))


def falls_apart(found: Halves | None, count: int) -> bool:
    """Whether a cluster is about two subjects, or has no room left."""
    if found is None:
        return False
    clear = min(len(found.first), len(found.second)) >= _LEAST and found.scatter < _TIGHTER
    return clear or count >= CLUSTER_MEMBERS


def _plan(work: Round, large: list[Cluster]) -> None:
    assert work.thinking is not None
    entries: list[Value] = []
    reasons: list[str] = []
    tokens = {INPUT_TOKENS: 0, OUTPUT_TOKENS: 0}
    for cluster in large:
        members = {node.node_id: node for node in work.nearest.members(cluster.cluster_id)}
        found = halves_of(work, list(members.values()))
        if found is None or not falls_apart(found, len(members)):
            continue
        sides = [[members[each] for each in side] for side in (found.first, found.second)]
        thought = work.thinking.split(work.being_id, (sides[0], sides[1]))
        work.keep()
        tokens[INPUT_TOKENS] += thought.input_tokens
        tokens[OUTPUT_TOKENS] += thought.output_tokens
        if thought.value is None:
            reasons.append(f"splitting: {thought.reason}")
        elif not thought.value.split:
            reasons.append("splitting: the model keeps a cluster whole")
        else:
            entries.append(
                {
                    "cluster": cluster.cluster_id,
                    "halves": [list(found.first), list(found.second)],
                    "labels": list(thought.value.labels),
                }
            )
    work.ledger.plan(PLAN, entries, step=STEP, reasons=reasons, counts=tokens)


def halves_of(work: Round, members: list[Node]) -> Halves | None:
    """Return the halves of a cluster with these members; None for one that is too small."""
    if len(members) < SPLIT_FROM:
        return None
    vectors = work.nearest.subjects(members, work.space)
    around: dict[str, Numbers] = {
        node_id: unit(work.space.around(numbers(vector))) for node_id, vector in vectors.items()
    }
    return halves(around)


def _apply(work: Round, entry: dict[str, Any]) -> None:
    parent = entry["cluster"]
    found = work.memory.clusters.get(work.being_id, parent)
    if found is None or found.state == "retired":
        return
    children = (child_id(parent, 0), child_id(parent, 1))
    known = work.memory.clusters.get_many(work.being_id, children)
    for child, label in zip(children, entry["labels"], strict=True):
        if child not in known:
            cluster = Cluster(cluster_id=child, created_at=work.run.now, label=label, dirty=True)
            work.ledger.commit([Put(cluster.to_item(work.being_id), Absent())])
    for child, ids in zip(children, entry["halves"], strict=True):
        for node_id in ids:
            settled(partial(_move, work, node_id, parent, (child,)))
    for node in work.nearest.members(parent):  # what came since the halves were found
        settled(partial(_move, work, node.node_id, parent, children))
    settled(lambda: retire(work, parent, children, split=1))


def _move(work: Round, node_id: str, parent: str, children: tuple[str, ...]) -> None:
    node = work.memory.nodes.get(work.being_id, node_id)
    if node is None or not node.is_living or node.cluster_id != parent:
        return
    vector = work.nearest.subjects([node], work.space)[node_id]
    homes = work.nearest.homes(children, work.space)
    if homes:
        here = numbers(vector)
        move(work, node, min(homes, key=lambda home: _distance(work, here, home)), vector)


def _distance(work: Round, here: Numbers, home: Home) -> tuple[float, str]:
    if home.vector is None:
        return 0.0, home.cluster.cluster_id
    return -work.space.nearness(here, mean_in(home)), home.cluster.cluster_id

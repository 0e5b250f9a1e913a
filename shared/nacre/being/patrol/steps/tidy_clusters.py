"""Tidying: a cluster with hardly a member joins the nearest one, if one is near enough."""

from functools import partial

from nacre.being.memory.model.types import Cluster
from nacre.being.memory.store.retry import settled
from nacre.being.patrol.compare.geometry import mean, numbers, packed, unit
from nacre.being.patrol.run.round import Round
from nacre.being.patrol.steps.cluster_changes import dirty_clusters, move, retire
from nacre.core.limits import PATROL_MOVES
from nacre.ports.items.table import Value

STEP = 7
PLAN = "SMALL"
_SMALL = 2  # members


def tidy(work: Round) -> None:
    """Move the members of small clusters; all is decided before anything is moved."""
    if work.run.step < STEP:
        small = [
            each
            for each in dirty_clusters(work)
            if each.state == "active" and each.n_active <= _SMALL
        ]
        work.ledger.plan(PLAN, _planned(work, small), step=STEP)
    for entry in work.runs.plan(work.being_id, work.run.seq, PLAN) or []:
        _apply(work, entry.get("cluster", ""), entry.get("to", ""))
        work.keep()


def _planned(work: Round, small: list[Cluster]) -> list[Value]:
    entries: list[Value] = []
    for cluster in small:
        members = work.nearest.members(cluster.cluster_id)
        if not members:
            entries.append({"cluster": cluster.cluster_id, "to": ""})
            continue
        vectors = work.nearest.subjects(members, work.space)
        centre = packed(unit(mean([numbers(each) for each in vectors.values()])))
        text = "\n".join(node.action for node in members)
        near = work.nearest.around(centre, text, work.space)
        others = [each for each in near.cluster_ids if each != cluster.cluster_id]
        home = work.nearest.best(centre, others, work.space, work.space.join(text))
        if home is not None:
            entries.append({"cluster": cluster.cluster_id, "to": home.cluster.cluster_id})
    return entries[:PATROL_MOVES]


def _apply(work: Round, cluster_id: str, target: str) -> None:
    members = work.nearest.members(cluster_id) if cluster_id else []
    if len(members) > _SMALL or (members and not target):
        return  # it has grown since
    for node in members:
        settled(partial(_move, work, node.node_id, cluster_id, target))
    children = (target,) if target else ()
    if not target or _lives(work, target):
        settled(lambda: retire(work, cluster_id, children))


def _move(work: Round, node_id: str, source: str, target: str) -> None:
    node = work.memory.nodes.get(work.being_id, node_id)
    if node is None or not node.is_living or node.cluster_id != source:
        return
    homes = work.nearest.homes([target], work.space)
    if homes:
        move(work, node, homes[0], work.nearest.subjects([node], work.space)[node_id])


def _lives(work: Round, cluster_id: str) -> bool:
    found = work.memory.clusters.get(work.being_id, cluster_id)
    return found is not None and found.state == "active"

"""Bringing back what was asked for after its death, and housing what has no cluster."""

from dataclasses import replace
from functools import partial

from nacre.being.memory.model import keys
from nacre.being.memory.model.forgetting_curve import DYING_BELOW, clock_below, initial_stability
from nacre.being.memory.model.types import Node
from nacre.being.memory.store.nodes import replacing
from nacre.being.memory.store.retry import settled
from nacre.being.patrol.compare.nearest import Home
from nacre.being.patrol.run.round import Round
from nacre.being.patrol.steps.join_cluster import cluster_of, joining
from nacre.core.limits import PATROL_MOVES, PATROL_SCENES
from nacre.ports.embedder import Vector
from nacre.ports.items.table import Write

_REVIVED = 1.5  # times the stability of a new memory
_ANYWHERE = -1.0  # the least cosine there is


def revive(work: Round) -> None:
    """Bring back dead nodes that were recalled, then house living ones without a cluster."""
    counts = work.ledger.counts()
    room = PATROL_MOVES - counts.get("revived", 0)
    if room > 0:
        partition = keys.revivable(work.being_id)
        for item in work.table.query(partition, index="gsi3", limit=room).items:
            settled(partial(_revive, work, str(item["sk"])))
    room = PATROL_SCENES - counts.get("homed", 0)
    for status in ("active", "dying"):
        if room > 0:
            page = work.memory.nodes.in_cluster(work.being_id, None, status=status, limit=room)
            room -= len(page.nodes)
            for node in page.nodes:
                settled(partial(_house, work, node.node_id))
    work.keep()


def _revive(work: Round, node_id: str) -> None:
    node = work.memory.nodes.get(work.being_id, node_id)
    if node is None or not node.is_revivable:
        return
    stability = _REVIVED * initial_stability(node.importance)
    alive = replace(
        node,
        status="active",
        stability=stability,
        clock0=work.run.clock,
        due=clock_below(work.run.clock, stability, DYING_BELOW),
        reactivation_done=node.reactivation_count,
        count_at_death=None,
        version=node.version + 1,
    )
    vector = _vector(work, node)
    descendants = _living(work, node.cluster_id)
    if descendants:
        home = work.nearest.best(vector, descendants, work.space, _ANYWHERE)
    else:
        home = _nearest(work, node, vector)
    _put(work, node, alive, home, vector, "revived")


def _house(work: Round, node_id: str) -> None:
    node = work.memory.nodes.get(work.being_id, node_id)
    if node is None or not node.is_living or node.cluster_id is not None:
        return
    vector = _vector(work, node)
    after = replace(node, version=node.version + 1)
    _put(work, node, after, _nearest(work, node, vector), vector, "homed")


def _put(
    work: Round, before: Node, after: Node, home: Home | None, vector: Vector, count: str
) -> None:
    cluster_id = cluster_of(work, home, after.node_id)
    after = replace(after, cluster_id=cluster_id)
    writes: list[Write] = [replacing(work.being_id, before, after)]
    writes += joining(work, home, cluster_id, vector)
    writes += work.telling.writes([after])
    work.ledger.commit(writes, counts={count: 1})
    work.telling.tell(writes)


def _nearest(work: Round, node: Node, vector: Vector) -> Home | None:
    near = work.nearest.around(vector, node.action, work.space)
    join = work.space.join(node.action)
    return work.nearest.best(vector, near.cluster_ids, work.space, join)


def _vector(work: Round, node: Node) -> Vector:
    return work.nearest.subjects([node], work.space)[node.node_id]


def _living(work: Round, cluster_id: str | None) -> list[str]:
    """Return the clusters that live of what a cluster became, itself if it does."""
    left = [] if cluster_id is None else [cluster_id]
    seen: set[str] = set()
    living: list[str] = []
    while left:
        found = work.memory.clusters.get_many(work.being_id, left)
        seen |= set(left)
        living += [each for each in sorted(found) if found[each].state == "active"]
        left = [
            child
            for each in sorted(found)
            if found[each].state == "retired"
            for child in found[each].children
            if child not in seen
        ]
    return living

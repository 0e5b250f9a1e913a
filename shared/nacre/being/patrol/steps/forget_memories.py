"""Forgetting: what was recalled is refreshed, and what was not for long fades and dies.

Only nodes that something happens to are read: those that were touched since the last run, and
those whose next event is due on the clock of active days.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from nacre.being.memory.model import keys
from nacre.being.memory.model.forgetting_curve import (
    DEAD_BELOW,
    DYING_BELOW,
    clock_below,
    refreshed,
    retention,
)
from nacre.being.memory.model.types import Node
from nacre.being.memory.store.nodes import replacing
from nacre.being.memory.store.retry import settled
from nacre.being.patrol.run.round import Round
from nacre.being.patrol.steps.cluster_changes import dirtying
from nacre.core.limits import PATROL_FORGOTTEN, PATROL_REFRESHED
from nacre.ports.items.table import Range, Write

_AT_ONCE = 50  # nodes, between two looks at the lease


def flag(work: Round) -> None:
    """Refresh what was recalled, then let go of what is due; at most so many in one run."""
    counts = work.ledger.counts()
    touched = _listed(
        work, keys.touched(work.being_id), None, PATROL_REFRESHED - counts.get("refreshed", 0)
    )
    for number, node_id in enumerate(touched, start=1):
        settled(partial(_refresh, work, node_id))
        if number % _AT_ONCE == 0:
            work.keep()
    # Both ends of the clock count, and `$` comes behind the `#` that ends the number.
    until = Range(high=f"{work.run.clock:08}$")
    left = PATROL_FORGOTTEN - counts.get("dying", 0) - counts.get("dead", 0)
    for number, node_id in enumerate(_listed(work, keys.due(work.being_id), until, left), start=1):
        settled(partial(_let_go, work, node_id))
        if number % _AT_ONCE == 0:
            work.keep()


def refresh(node: Node, clock: int) -> Node:
    """Return a node with the recalls since the last time folded into its stability."""
    stability = refreshed(
        node.stability,
        elapsed=clock - node.clock0,
        times=node.reactivation_count - node.reactivation_done,
    )
    clock0 = max(node.clock0, clock)
    return replace(
        node,
        stability=stability,
        clock0=clock0,
        status="active",
        due=clock_below(clock0, stability, DYING_BELOW),
        reactivation_done=node.reactivation_count,
        version=node.version + 1,
    )


def faded(node: Node, clock: int) -> Node:
    """Return what a node is at this clock: active, dying or dead."""
    left = retention(clock - node.clock0, node.stability)
    if left < DEAD_BELOW:
        return replace(
            node,
            status="dead",
            due=None,
            count_at_death=node.reactivation_count,
            version=node.version + 1,
        )
    dying = left < DYING_BELOW
    due = clock_below(node.clock0, node.stability, DEAD_BELOW if dying else DYING_BELOW)
    status = "dying" if dying else node.status
    if (status, due) == (node.status, node.due):
        return node
    return replace(node, status=status, due=due, version=node.version + 1)


def _refresh(work: Round, node_id: str) -> None:
    node = work.memory.nodes.get(work.being_id, node_id)
    if node is None or not node.is_living or node.reactivation_count <= node.reactivation_done:
        return
    after = refresh(node, work.run.clock)
    writes: list[Write] = [replacing(work.being_id, node, after)]
    if after.status != node.status:
        writes += work.telling.writes([after])
    work.ledger.commit(writes, counts={"refreshed": 1})
    work.telling.tell(writes)


def _let_go(work: Round, node_id: str) -> None:
    node = work.memory.nodes.get(work.being_id, node_id)
    if (
        node is None
        or not node.is_living
        or node.pinned
        or node.due is None
        or node.due > work.run.clock
        or node.reactivation_count > node.reactivation_done
    ):
        return
    after = faded(node, work.run.clock)
    if after is node:
        return
    writes: list[Write] = [replacing(work.being_id, node, after)]
    if after.status != node.status:
        writes += work.telling.writes([after])
        writes += dirtying(work, node.cluster_id, members=-1 if after.status == "dead" else 0)
    counts = {"dying": int(after.status == "dying"), "dead": int(after.status == "dead")}
    # One whose day was moved by an import, say, has only got another day.
    work.ledger.commit(writes, counts=counts if after.status != node.status else {})
    work.telling.tell(writes)


def _listed(work: Round, partition: str, within: Range | None, limit: int) -> Sequence[str]:
    if limit <= 0:
        return ()
    page = work.table.query(partition, index="gsi3", keys=within, limit=limit)
    return [str(item["sk"]) for item in page.items]

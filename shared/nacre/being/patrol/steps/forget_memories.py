"""The step that forgets: recalled memories are refreshed, and those that were not fade and die.

Only two kinds of nodes are read: those recalled since the last run, and those whose next event is
due on the clock of active days.
"""

from collections.abc import Callable, Sequence
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
from nacre.being.memory.store.nodes import rewriting
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.steps.cluster_changes import dirtying
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import PATROL_FORGOTTEN, PATROL_REFRESHED
from nacre.ports.items.table import Range

_BATCH = 50  # nodes between two renewals of the lease


def forget(context: RunContext) -> None:
    """Refresh recalled memories, then fade those that are due; both up to a limit for one run."""
    counts = context.ledger.counts()
    limit = PATROL_REFRESHED - counts.get("refreshed", 0)
    listed = _node_ids(context, keys.touched(context.being_id), None, limit)
    _for_each(context, sorted({*listed, *context.recalled}), _refresh)
    limit = PATROL_FORGOTTEN - counts.get("dying", 0) - counts.get("dead", 0)
    _for_each(context, due_node_ids(context, context.run.clock, limit), _fade)


def _for_each(
    context: RunContext, node_ids: Sequence[str], action: Callable[[RunContext, str], None]
) -> None:
    for number, node_id in enumerate(node_ids, start=1):
        retry_on_conflict(partial(action, context, node_id))
        if number % _BATCH == 0:
            context.renew_lease()


def refresh(node: Node, clock: int) -> Node:
    """Return a node whose stability counts the recalls since the last refresh."""
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
    """Return a node with its state at this clock: active, dying or dead."""
    strength = retention(clock - node.clock0, node.stability)
    if strength < DEAD_BELOW:
        return replace(
            node,
            status="dead",
            due=None,
            count_at_death=node.reactivation_count,
            version=node.version + 1,
        )
    dying = strength < DYING_BELOW
    due = clock_below(node.clock0, node.stability, DEAD_BELOW if dying else DYING_BELOW)
    status = "dying" if dying else node.status
    if (status, due) == (node.status, node.due):
        return node
    return replace(node, status=status, due=due, version=node.version + 1)


def _refresh(context: RunContext, node_id: str) -> None:
    node = context.memory.nodes.get(context.being_id, node_id)
    if node is None or not node.is_living or node.reactivation_count <= node.reactivation_done:
        return
    after = refresh(node, context.run.clock)
    writes = rewriting(context.being_id, node, after)
    writes += context.index_updates.writes([after])
    context.commit(writes, counts={"refreshed": 1})


def _fade(context: RunContext, node_id: str) -> None:
    node = context.memory.nodes.get(context.being_id, node_id)
    if (
        node is None
        or not node.is_living
        or node.pinned
        or node.due is None
        or node.due > context.run.clock
        or node.reactivation_count > node.reactivation_done
    ):
        return
    after = faded(node, context.run.clock)
    if after is node:
        return
    writes = rewriting(context.being_id, node, after)
    if after.status != node.status:
        writes += context.index_updates.writes([after])
        writes += dirtying(context, node.cluster_id, members=-1 if after.status == "dead" else 0)
    counts = {"dying": int(after.status == "dying"), "dead": int(after.status == "dead")}
    # Otherwise only its next day has changed, as after an import.
    context.commit(writes, counts=counts if after.status != node.status else {})


def due_node_ids(context: RunContext, clock: int, limit: int) -> Sequence[str]:
    """Return the ids of nodes whose next event is due at this clock."""
    # The range includes both ends, and `$` sorts after the `#` that ends the number.
    return _node_ids(context, keys.due(context.being_id), Range(high=f"{clock:08}$"), limit)


def _node_ids(
    context: RunContext, partition: str, within: Range | None, limit: int
) -> Sequence[str]:
    if limit <= 0:
        return ()
    page = context.table.query(partition, index="gsi3", keys=within, limit=limit)
    return [str(item["sk"]) for item in page.items]

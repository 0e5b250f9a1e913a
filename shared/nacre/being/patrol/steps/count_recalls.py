"""The part of a run that counts logged recalls in their memories, each exactly once.

A transaction deletes the entries that it counts. So a run that was stopped continues with the
others.
"""

from collections.abc import Sequence
from functools import partial

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Node
from nacre.being.memory.store.evidence import is_overlong
from nacre.being.memory.store.nodes import replacing, rewriting
from nacre.being.memory.store.recall_log import (
    Recalls,
    counted,
    recalled_nodes,
    waiting_recalls,
)
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.steps.forget_memories import refresh
from nacre.core.limits import PATROL_RECALLS
from nacre.ports.items.table import Delete, Present, Write

_ENTRIES, _NODES = 40, 20  # in one transaction, with room for the index and the ledger


def count_recalls(context: RunContext) -> None:
    """Count the recalls that are logged, and strengthen the memories that are remembered.

    With more entries than one transaction takes, memories are strengthened in the last one, or
    by the next step. So all recalls of a memory count as those of one day.
    """
    announcement = keys.uncounted(context.being_id)
    if context.table.get(announcement) is not None:
        # Before the log is read: a recall that comes later announces itself again.
        context.commit([Delete(announcement)], counts={})
    left = PATROL_RECALLS - context.ledger.counts().get("recalls", 0)
    while left > 0 and (done := retry_on_conflict(partial(_count_some, context))):
        left -= done
        context.renew_lease()


def _count_some(context: RunContext) -> int:
    """Count the oldest entries in one transaction; return how many there were."""
    waiting = waiting_recalls(context.table, context.being_id, limit=_ENTRIES + 1)
    entries = _fitting(waiting)
    if not entries:
        return 0
    writes: list[Write] = [Delete(entry.key, Present()) for entry in entries]
    recalled = recalled_nodes(context.table, context.being_id, entries)
    refreshed: list[Node] = []
    has_moved = False
    for node, tally in recalled.values():
        after = counted(node, tally, context.run.now)
        if node.is_living and len(entries) == len(waiting):
            after = refresh(after, context.run.clock)
            refreshed.append(after)
        else:
            context.recalled.add(node.node_id)
        if is_overlong(after) and not has_moved:  # the transaction has room for one of them
            has_moved = True
            writes += rewriting(context.being_id, node, after)
        else:
            writes.append(replacing(context.being_id, node, after))
    writes += context.index_updates.writes(refreshed)
    context.commit(writes, counts={"recalls": len(entries), "refreshed": len(refreshed)})
    return len(entries)


def _fitting(waiting: Sequence[Recalls]) -> Sequence[Recalls]:
    """Return the first entries, as many as one transaction can count."""
    node_ids: set[str] = set()
    for number, entry in enumerate(waiting[:_ENTRIES]):
        node_ids |= entry.times.keys()
        if len(node_ids) > _NODES and number:
            return waiting[:number]
    return waiting[:_ENTRIES]

"""The part of a run that counts logged recalls in their memories, each exactly once.

A transaction deletes the batches that it counts. So a run that was stopped continues with the
others.
"""

from collections.abc import Sequence
from functools import partial

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Node
from nacre.being.memory.store.evidence import is_overlong
from nacre.being.memory.store.nodes import replacing, rewriting
from nacre.being.memory.store.recall_batches import RecallBatch
from nacre.being.memory.store.recall_log import (
    counted,
    recalled_nodes,
    waiting_batches,
)
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.steps.forget_memories import refresh
from nacre.core.limits import PATROL_RECALLS
from nacre.ports.items.table import Delete, Write

_BATCHES, _NODES = 40, 20  # in one transaction, with room for the index and the ledger


def count_recalls(context: RunContext) -> None:
    """Count the recalls that are logged, and strengthen the memories that are remembered.

    With more recalls than one transaction takes, memories are strengthened in the last one, or
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
    """Count the oldest batches in one transaction; return how many recalls there were."""
    waiting = waiting_batches(context.table, context.being_id, limit=_BATCHES + 1)
    batches = _fitting(waiting)
    recalls = [recall for batch in batches for recall in batch.recalls]
    if not recalls:
        return 0
    writes: list[Write] = [Delete(batch.key, batch.is_unchanged) for batch in batches]
    recalled = recalled_nodes(context.table, context.being_id, recalls)
    refreshed: list[Node] = []
    has_moved = False
    for node, tally in recalled.values():
        after = counted(node, tally, context.run.now)
        if node.is_living and len(batches) == len(waiting):
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
    context.commit(writes, counts={"recalls": len(recalls), "refreshed": len(refreshed)})
    return len(recalls)


def _fitting(waiting: Sequence[RecallBatch]) -> Sequence[RecallBatch]:
    """Return the first batches, as many as one transaction can count."""
    node_ids: set[str] = set()
    for number, batch in enumerate(waiting[:_BATCHES]):
        node_ids |= batch.node_ids
        if len(node_ids) > _NODES and number:
            return waiting[:number]
    return waiting[:_BATCHES]

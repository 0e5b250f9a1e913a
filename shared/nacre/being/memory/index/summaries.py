"""Summaries for the points of older versions, and for those whose summary is out of date.

Each patrol adds some, and stores how far it came. Until then, and for an older version that reads
the same data, a memory without a summary is read from its item.
"""

from collections.abc import Sequence

from nacre.being.memory.index.index_state import SUMMARIZED
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.index.vector_items import VectorItem, pages, update_each, vector_item
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Node, Scene
from nacre.being.memory.store.partitions import records_by_id
from nacre.being.memory.text.searchable_text import searchable
from nacre.ports.items.table import Absent, Change, Compare, Condition, Every, Update

_AT_ONCE = 64


def add_summaries(indexing: IndexSync, being_id: str, *, at_most: int) -> int:
    """Add the summaries of the next points that older versions wrote; return how many were seen.

    A call that was stopped is continued by the next one.
    """
    state = indexing.states.get(being_id)
    if state is None or state.summarized == SUMMARIZED:
        return 0
    seen = 0
    for items in pages(indexing.table, being_id, after=state.summarized, size=_AT_ONCE):
        renew_summaries(indexing, being_id, items)
        # All of them: a call that was stopped here may have changed the items already.
        indexing.sync(being_id, [item.id for item in items])
        seen += len(items)
        indexing.states.summarize(indexing.non_durable_table, being_id, items[-1].id)
        if seen >= at_most:
            return seen
    indexing.states.summarize(indexing.non_durable_table, being_id, SUMMARIZED)
    return seen


def renew_summaries(indexing: IndexSync, being_id: str, items: Sequence[VectorItem]) -> list[str]:
    """Write the summaries that points lack or that are out of date; return the points' ids.

    The caller updates the indexes.
    """
    table = indexing.table
    node_ids = [item.id for item in items if item.kind == "node"]
    scene_ids = [item.id for item in items if item.kind == "scene"]
    memories: dict[str, Node | Scene] = {
        **records_by_id(table, Node, keys.nodes(being_id), node_ids),
        **records_by_id(table, Scene, keys.scenes(being_id), scene_ids),
    }
    updates, changed = [], []
    for item in items:
        memory = memories.get(item.id)
        if memory is None:
            continue
        current = vector_item(searchable(memory), item)
        if current.text_sha != item.text_sha or item.is_near(current):
            continue
        as_read: Condition = (
            Absent("summary") if item.summary is None else Compare("summary", "=", item.summary)
        )
        change = Change(set={"summary": current.summary})
        same_text = Compare("text_sha", "=", item.text_sha)
        changed.append(item.id)
        updates.append(Update(keys.point(being_id, item.id), change, Every((same_text, as_read))))
    update_each(indexing.non_durable_table, updates)
    return changed

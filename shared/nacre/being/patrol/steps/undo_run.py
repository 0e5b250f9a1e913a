"""Undo a run: separate merged memories, and make superseded ones valid again."""

from functools import partial

from nacre.being.memory.model.counters import write_counted
from nacre.being.memory.model.types import merged_id_of
from nacre.being.memory.repositories import Repositories
from nacre.being.memory.store.nodes import no_longer_superseded, replacing
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.memory.text.searchable_text import searchable
from nacre.being.patrol.planning.plans import MergePlan
from nacre.being.patrol.run.runs import Runs
from nacre.being.patrol.steps.merge_memories import PLAN
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.table import Table


@dataclass(frozen=True, slots=True)
class UndoReport:
    """The merges of a run that were undone, and the reasons why others were not."""

    run_id: str
    undone: tuple[str, ...]  # ids of merged nodes, and of those that are no longer superseded
    not_undone: dict[str, str]  # id to reason


def undo(table: Table, memory: Repositories, being_id: str, run_id: str) -> UndoReport:
    """Undo the merges and supersessions of a run; a second call changes nothing.

    Raises NotFoundError for an unknown run, and InvalidInputError for an unfinished one.
    """
    runs = Runs(table)
    run = runs.get(being_id, run_id)
    if run is None:
        raise NotFoundError(f"there is no patrol run {run_id[:64]!r}")
    if run.state != "done":
        raise InvalidInputError(f"the run is {run.state}; undo it when it is done")
    undone: list[str] = []
    not_undone: dict[str, str] = {}
    for entry in reversed(runs.plan(being_id, run.seq, PLAN) or []):
        if not isinstance(entry.get("plan"), dict):
            continue
        plan = MergePlan.from_plain(entry["plan"])
        merged_id = merged_id_of(plan.merge) if len(plan.merge) > 1 else ""
        undone += [
            pair.old
            for pair in plan.supersede
            if retry_on_conflict(
                partial(_restore, table, memory, being_id, pair.old, merged_id, pair.new)
            )
        ]
        if memory.nodes.get(being_id, merged_id) is None:
            continue
        try:
            memory.edits.undo_merge(being_id, merged_id)
        except InvalidInputError as error:
            not_undone[merged_id] = str(error)
        else:
            undone.append(merged_id)
    return UndoReport(run_id, tuple(undone), not_undone)


def _restore(
    table: Table, memory: Repositories, being_id: str, node_id: str, *superseded_by: str
) -> bool:
    node = memory.nodes.get(being_id, node_id)
    if node is None or node.superseded_by is None or node.superseded_by not in superseded_by:
        return False
    after = no_longer_superseded(node)
    entries = [searchable(after)] if after.is_indexed else []
    index_change = memory.edits.index.prepare(being_id, entries)
    write_counted(table, being_id, [replacing(being_id, node, after), *index_change.writes])
    index_change.apply()
    return True

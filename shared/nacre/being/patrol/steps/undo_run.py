"""Taking a run back: what it merged comes apart, and what it superseded stands again."""

from dataclasses import dataclass, replace
from functools import partial

from nacre.being.memory.model.counters import write_counted
from nacre.being.memory.model.types import merged_id_of
from nacre.being.memory.repositories import Memory
from nacre.being.memory.store.nodes import replacing
from nacre.being.memory.store.retry import settled
from nacre.being.patrol.planning.plans import MergePlan
from nacre.being.patrol.run.runs import Runs
from nacre.being.patrol.steps.merge_memories import PLAN
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.ports.items.table import Table


@dataclass(frozen=True, slots=True)
class UndoReport:
    """Which merges of a run were taken back, and why others were not."""

    run_id: str
    undone: tuple[str, ...]  # ids of merged nodes, and of those that are no longer superseded
    not_undone: dict[str, str]  # id to reason


def undo(table: Table, memory: Memory, being_id: str, run_id: str) -> UndoReport:
    """Take back what a run has merged and superseded.

    Whoever does it twice finds it done. Raises NotFoundError for an unknown run, and
    InvalidInputError for one that is not over.
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
            if settled(partial(_let_stand, table, memory, being_id, pair.old, merged_id, pair.new))
        ]
        if memory.nodes.get(being_id, merged_id) is None:
            continue
        try:
            memory.merges.undo(being_id, merged_id)
        except InvalidInputError as error:
            not_undone[merged_id] = str(error)
        else:
            undone.append(merged_id)
    return UndoReport(run_id, tuple(undone), not_undone)


def _let_stand(
    table: Table, memory: Memory, being_id: str, node_id: str, *superseded_by: str
) -> bool:
    node = memory.nodes.get(being_id, node_id)
    if node is None or node.superseded_by is None or node.superseded_by not in superseded_by:
        return False
    after = replace(node, superseded_by=None, version=node.version + 1)
    write_counted(table, being_id, [replacing(being_id, node, after)])
    return True

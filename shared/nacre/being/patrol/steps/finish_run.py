"""The end of a run: done, or blocked until something answers again."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import (
    PENDING_MESSAGES,
    PENDING_SCENES,
    QUEUED_AT,
    WORK_SEQ,
    count_in,
    counters,
)
from nacre.being.memory.patrol_trigger import KIND
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.patrol.run.claim import MARKER
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.run.runs import OPEN_RUN, Run
from nacre.being.patrol.steps import merge_memories
from nacre.being.patrol.steps.write_journal import think_note_writes
from nacre.core.errors import ConditionFailedError, LeaseLostError, UnavailableError
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import (
    PATROL_AT,
    PATROL_FORGOTTEN,
    PATROL_MESSAGES,
    PATROL_MOVES,
    PATROL_RECALLS,
    PATROL_REFRESHED,
    PATROL_SCENES,
)
from nacre.jobs.job import Job, encode_job
from nacre.ports.items.table import (
    Absent,
    Change,
    Compare,
    Condition,
    Every,
    Item,
    Present,
    Update,
    Value,
)

_CAPS = {
    "recalls": PATROL_RECALLS,
    "refreshed": PATROL_REFRESHED,
    "revived": PATROL_MOVES,
    "homed": PATROL_SCENES,
}


def finish(context: RunContext, reasons: Sequence[str]) -> Run | None:
    """Close the run, so that the next one can be triggered; a backlog is queued at once.

    Returns the closed run, or None if the Being is gone.
    """
    return retry_on_conflict(lambda: _finish(context, list(reasons)))


def block(context: RunContext, reason: str) -> None:
    """Mark the run as blocked until the next one resumes it."""
    may_trigger = Change(remove=frozenset({QUEUED_AT}))
    # On these errors another worker has gone on, or the Being is gone.
    with suppress(ConditionFailedError, LeaseLostError):
        context.ledger.commit(
            [Update(keys.meta(context.being_id), may_trigger, Present())],
            also={"state": "blocked", "blocked": f"blocked: {reason}"},
        )


def _finish(context: RunContext, reasons: list[str]) -> Run | None:
    meta = counters(context.table, context.being_id)
    counts = context.ledger.counts()
    backlog = _backlog(meta, counts)
    run = context.runs.at(context.being_id, context.run.seq)
    if not counts and not (run and run.reasons):
        reasons.append("nothing to do: no scene and no message waits, and nothing is due")
    elif context.planner is None and context.plan(merge_memories.PLAN) is None:
        reasons.append("no_llm: consolidation skipped")
    queued = backlog > 0 and _queue_next_run(context, reasons)
    marker = None if run is None else run.marker_out
    values: dict[str, Value] = {} if marker is None else {MARKER: marker}
    if queued:
        values[QUEUED_AT] = context.run.now
    remove = {OPEN_RUN} | (set() if queued else {QUEUED_AT})
    is_idle = not (
        backlog
        or count_in(meta, PENDING_SCENES)
        or count_in(meta, PENDING_MESSAGES)
        or count_in(meta, WORK_SEQ) != context.run.work_seq
        or counts.get("unsettled")
    )
    if is_idle:
        remove |= {"gsi1pk", "gsi1sk"}
    # New work changes one of these counters; then the write fails, and all is read again.
    unchanged = [_has_value(name, meta) for name in (PENDING_SCENES, PENDING_MESSAGES, WORK_SEQ)]
    change = Change(set=values, remove=frozenset(remove))
    context.ledger.commit(
        [
            *think_note_writes(context),
            Update(keys.meta(context.being_id), change, Every((Present(), *unchanged))),
        ],
        reasons=reasons,
        also={"state": "done", "backlog": backlog},
    )
    if run is None:
        return None
    return replace(run, state="done", counts=counts, reasons=(*run.reasons, *reasons))


def _backlog(meta: Item, counts: Mapping[str, int]) -> int:
    """Return the amount of work left by a limit, or added during the run."""
    waiting = count_in(meta, PENDING_SCENES)
    # Scenes that came during the run triggered nothing, because a patrol was queued already.
    backlog = waiting if waiting >= PATROL_AT else 0
    if counts.get("messages_read", 0) >= PATROL_MESSAGES:
        backlog += count_in(meta, PENDING_MESSAGES)
    if counts.get("dying", 0) + counts.get("dead", 0) >= PATROL_FORGOTTEN:
        backlog += 1
    return backlog + sum(counts.get(name, 0) >= cap for name, cap in _CAPS.items())


def _queue_next_run(context: RunContext, reasons: list[str]) -> bool:
    job = Job(KIND, context.being_id, {"trigger": "backlog"})
    try:
        # Sent before the run is closed: after a crash in between it is sent twice, but never lost.
        context.queue.send(
            encode_job(job), group=context.being_id, dedupe_key=f"after-{context.run.run_id}"
        )
    except UnavailableError:
        reasons.append("backlog: the queue does not answer; the hourly sweep goes on")
        return False
    return True


def _has_value(name: str, meta: Item) -> Condition:
    value = meta.get(name)
    return Compare(name, "=", value) if isinstance(value, int) else Absent(name)

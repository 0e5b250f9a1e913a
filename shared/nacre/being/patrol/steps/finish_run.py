"""The end of a run: done, or blocked until something answers again."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

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
from nacre.being.memory.store.retry import settled
from nacre.being.patrol.run.claim import MARKER
from nacre.being.patrol.run.round import Round
from nacre.being.patrol.run.runs import OPEN_RUN, Run
from nacre.being.patrol.steps import merge_memories, split_clusters
from nacre.being.patrol.steps.write_journal import thinking_writes
from nacre.core.errors import ConditionFailedError, LeaseLostError, UnavailableError
from nacre.core.limits import (
    PATROL_AT,
    PATROL_FORGOTTEN,
    PATROL_MESSAGES,
    PATROL_MOVES,
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

_BY_MODEL = {merge_memories.PLAN: "consolidation", split_clusters.PLAN: "splitting"}
_CAPS = {
    "refreshed": PATROL_REFRESHED,
    "revived": PATROL_MOVES,
    "homed": PATROL_SCENES,
}


def finish(work: Round, reasons: Sequence[str]) -> Run | None:
    """Close the run, and let the next one be fired; what a cap left is queued.

    Returns the closed run; None where the Being is gone.
    """
    return settled(lambda: _finish(work, list(reasons)))


def block(work: Round, reason: str) -> None:
    """Let the run rest until the next one takes it up; what it has not done goes on waiting."""
    fires_again = Change(remove=frozenset({QUEUED_AT}))
    # Somebody else has gone on, or the Being is gone.
    with suppress(ConditionFailedError, LeaseLostError):
        work.ledger.commit(
            [Update(keys.meta(work.being_id), fires_again, Present())],
            also={"state": "blocked", "blocked": f"blocked: {reason}"},
        )


def _finish(work: Round, reasons: list[str]) -> Run | None:
    meta = counters(work.table, work.being_id)
    counts = work.ledger.counts()
    backlog = _backlog(meta, counts)
    run = work.runs.at(work.being_id, work.run.seq)
    if not counts and not (run and run.reasons):
        reasons.append("nothing to do: no scene and no message waits, and nothing is due")
    elif work.thinking is None:
        reasons += [
            f"no_llm: {what} skipped"
            for plan, what in _BY_MODEL.items()
            if work.runs.plan(work.being_id, work.run.seq, plan) is None
        ]
    queued = backlog > 0 and _queued(work, reasons)
    marker = None if run is None else run.marker_out
    set_: dict[str, Value] = {} if marker is None else {MARKER: marker}
    if queued:
        set_[QUEUED_AT] = work.run.now
    remove = {OPEN_RUN} | (set() if queued else {QUEUED_AT})
    is_idle = not (
        backlog
        or count_in(meta, PENDING_SCENES)
        or count_in(meta, PENDING_MESSAGES)
        or count_in(meta, WORK_SEQ) != work.run.work_seq
        or counts.get("unsettled")
    )
    if is_idle:
        remove |= {"gsi1pk", "gsi1sk"}
    # Whatever is announced meanwhile changes one of these, and then all is looked at again.
    as_read = [_same(name, meta) for name in (PENDING_SCENES, PENDING_MESSAGES, WORK_SEQ)]
    change = Change(set=set_, remove=frozenset(remove))
    work.ledger.commit(
        [
            *thinking_writes(work),
            Update(keys.meta(work.being_id), change, Every((Present(), *as_read))),
        ],
        reasons=reasons,
        also={"state": "done", "backlog": backlog},
    )
    if run is None:
        return None
    return replace(run, state="done", counts=counts, reasons=(*run.reasons, *reasons))


def _backlog(meta: Item, counts: Mapping[str, int]) -> int:
    """Return how much is left that would have been done but for a cap, or came meanwhile."""
    waiting = count_in(meta, PENDING_SCENES)
    # What came during the run found the patrol fired already, so nobody else sends for it.
    left = waiting if waiting >= PATROL_AT else 0
    if counts.get("messages_read", 0) >= PATROL_MESSAGES:
        left += count_in(meta, PENDING_MESSAGES)
    if counts.get("dying", 0) + counts.get("dead", 0) >= PATROL_FORGOTTEN:
        left += 1
    return left + sum(counts.get(name, 0) >= cap for name, cap in _CAPS.items())


def _queued(work: Round, reasons: list[str]) -> bool:
    job = Job(KIND, work.being_id, {"trigger": "backlog"})
    try:
        # Sent before the run is closed: a crash in between sends it twice, never not at all.
        work.queue.send(encode_job(job), group=work.being_id, repeat=f"after-{work.run.run_id}")
    except UnavailableError:
        reasons.append("backlog: the queue does not answer; the hourly sweep goes on")
        return False
    return True


def _same(name: str, meta: Item) -> Condition:
    value = meta.get(name)
    return Compare(name, "=", value) if isinstance(value, int) else Absent(name)

"""The end of a run: done, or blocked until something answers again."""

from nacre.errors import ConditionFailedError, UnavailableError
from nacre.jobs.job import Job, encode_job
from nacre.limits import PATROL_AT
from nacre.memory import keys
from nacre.memory.counters import PENDING_MESSAGES, PENDING_SCENES, QUEUED_AT, count_in, counters
from nacre.memory.settled import settled
from nacre.memory.trigger import KIND
from nacre.patrol.claim import WORK_SEQ
from nacre.patrol.round import Round
from nacre.patrol.runs import OPEN_RUN, run_key
from nacre.ports.table import Absent, Change, Compare, Condition, Every, Present, Update, Value


def finish(work: Round) -> None:
    """Close the run, and let the next one be fired."""
    settled(lambda: _finish(work))


def block(work: Round, reason: str) -> None:
    """Let the run rest until the next one takes it up; what it has not done goes on waiting."""
    place = run_key(work.being_id, work.run.seq)
    try:
        work.table.transact(
            [
                Update(
                    place,
                    Change(set={"state": "blocked", "blocked": f"blocked: {reason}"}),
                    Compare("state", "=", "open"),
                ),
                Update(keys.meta(work.being_id), Change(remove=frozenset({QUEUED_AT})), Present()),
            ]
        )
    except ConditionFailedError:
        return  # somebody else has gone on with it, or the Being is gone


def _finish(work: Round) -> None:
    meta = counters(work.table, work.being_id)
    waiting, unread = count_in(meta, PENDING_SCENES), count_in(meta, PENDING_MESSAGES)
    # What came meanwhile found the patrol fired already, so nobody else sends for it.
    backlog = waiting + unread if waiting >= PATROL_AT or unread else 0
    reasons: list[str] = []
    queued = backlog > 0 and _queued(work, reasons)
    as_read = [_same(name, meta.get(name)) for name in (PENDING_SCENES, PENDING_MESSAGES, WORK_SEQ)]
    set_: dict[str, Value] = {QUEUED_AT: work.run.now} if queued else {}
    remove = {OPEN_RUN} | (set() if queued else {QUEUED_AT})
    if not (waiting or unread) and count_in(meta, WORK_SEQ) == work.run.work_seq:
        remove |= {"gsi1pk", "gsi1sk"}
    change = Change(set=set_, remove=frozenset(remove))
    work.ledger.commit(
        [Update(keys.meta(work.being_id), change, Every((Present(), *as_read)))],
        reasons=reasons,
        also={"state": "done", "backlog": backlog},
    )


def _queued(work: Round, reasons: list[str]) -> bool:
    job = Job(KIND, work.being_id, {"trigger": "backlog"})
    try:
        # Sent before the run is closed: a crash in between sends it twice, never not at all.
        work.queue.send(encode_job(job), group=work.being_id, repeat=f"after-{work.run.run_id}")
    except UnavailableError:
        reasons.append("backlog: the queue does not answer; the hourly sweep goes on")
        return False
    return True


def _same(name: str, value: Value) -> Condition:
    return Compare(name, "=", value) if isinstance(value, int) else Absent(name)

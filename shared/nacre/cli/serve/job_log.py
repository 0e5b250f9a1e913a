"""Jobs in the log of a process that does them."""

from nacre.core.logs import Level, Log
from nacre.jobs.loop import Outcome


def log_job(log: Log, outcome: Outcome, *, fine: Level) -> None:
    """Write down what became of a job; `fine` is the level of one that did not fail."""
    log.write(
        fine if outcome.result in ("done", "busy") else "error",
        "job",
        message=outcome.message_id or None,
        group=outcome.group or None,
        attempt=outcome.attempt or None,
        result=outcome.result,
        error=outcome.error,
    )

"""A worker that starts with the first job, for processes that a client or a person waits for.

Without it, a laptop that never runs `nacre serve` would have no patrol.
"""

import threading

from nacre.core.logs import Level, Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.jobs.loop import Outcome, WorkerLoop
    from nacre.wiring.compose import Home

_DRAIN_SECONDS = 2.0  # a client kills the process soon after it has closed the input


def log_job(log: Log, outcome: "Outcome", *, success: Level) -> None:
    """Log the outcome of a job; `success` is the level of a job that did not fail."""
    log.write(
        success if outcome.result in ("done", "busy") else "error",
        "job",
        message=outcome.message_id or None,
        group=outcome.group or None,
        attempt=outcome.attempt or None,
        result=outcome.result,
        error=outcome.error,
    )


class OnDemandWorker:
    """Runs the jobs of a process after it has sent the first one."""

    def __init__(self, laptop: "Home", log: Log) -> None:
        self._laptop = laptop
        self._log = log
        self._lock = threading.Lock()
        self._starter: threading.Thread | None = None
        self._loop: WorkerLoop | None = None
        laptop.ports.job_signal.on_job = self._start_once

    def end(self) -> None:
        """Finish running jobs, or leave them to the next process."""
        with self._lock:
            starter, self._laptop.ports.job_signal.on_job = self._starter, _ignore
        if starter is not None:
            starter.join()
        if self._loop is not None:
            self._loop.stop(_DRAIN_SECONDS)

    def _start_once(self) -> None:
        with self._lock:
            if self._starter is None:
                # In a thread, so that the call that sent the job does not wait.
                self._starter = threading.Thread(target=self._start, name="nacre-work")
                self._starter.start()

    def _start(self) -> None:
        from nacre.faces.task_errors import TaskRules

        # From now on the loop itself handles the signal.
        loop = self._laptop.worker_loop(self._report, TaskRules(self._log))
        self._loop = loop
        loop.start()

    def _report(self, outcome: "Outcome") -> None:
        log_job(self._log, outcome, success="debug")


def _ignore() -> None:
    return

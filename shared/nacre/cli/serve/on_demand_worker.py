"""The worker of a client's own server: it begins with the first job, so that no start pays for it.

Without it a laptop that never runs `nacre serve` would have no patrol.
"""

import threading

from nacre.core.logs import Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.jobs.loop import Outcome, WorkerLoop
    from nacre.wiring.laptop import Laptop

_DRAIN_SECONDS = 2.0  # a client that has closed the input kills the process soon


class WorkOnDemand:
    """Runs the jobs of a process once it has sent one."""

    def __init__(self, laptop: "Laptop", log: Log) -> None:
        self._laptop = laptop
        self._log = log
        self._guard = threading.Lock()
        self._beginning: threading.Thread | None = None
        self._loop: WorkerLoop | None = None
        laptop.bell.heard = self._hear

    def end(self) -> None:
        """Finish what runs, or leave it to the next process that works here."""
        with self._guard:
            beginning, self._laptop.bell.heard = self._beginning, _unheard
        if beginning is not None:
            beginning.join()
        if self._loop is not None:
            self._loop.stop(_DRAIN_SECONDS)

    def _hear(self) -> None:
        with self._guard:
            if self._beginning is None:  # and not in the call that rang
                self._beginning = threading.Thread(target=self._begin, name="nacre-work")
                self._beginning.start()

    def _begin(self) -> None:
        from nacre.faces.task_errors import TaskRules

        # It listens to the bell from now on.
        loop = self._laptop.worker_loop(self._report, TaskRules(self._log))
        self._loop = loop
        loop.start()

    def _report(self, outcome: "Outcome") -> None:
        from nacre.cli.serve.job_log import log_job

        log_job(self._log, outcome, fine="debug")


def _unheard() -> None:
    return

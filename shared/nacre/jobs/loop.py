"""The laptop's worker: threads of the server that take jobs from the queue."""

import threading
import time
from collections.abc import Callable
from typing import Literal

from nacre.core.errors import LeaseHeldError, NacreError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import JOB_SECONDS, LEASE_LOOK_SECONDS, SWEEP_SECONDS
from nacre.jobs.worker import Worker
from nacre.ports.queue import Message, Queue

_IDLE_SECONDS = 1.0  # between two looks for jobs that another process sent
_THREADS = 6  # orders take minutes, and must not delay the jobs of other Beings
_RETRY_SECONDS = 10.0  # long enough for a short failure to pass


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one delivery, for the log; it contains no texts of users."""

    message_id: str
    group: str
    attempt: int
    result: Literal["done", "busy", "failed", "queue unavailable"]
    error: str | None = None  # the error's class, and its text when it is one of ours


Report = Callable[[Outcome], None]


class WorkerLoop:
    """Takes messages until it is stopped; a message that fails is tried again later."""

    def __init__(
        self,
        queue: Queue,
        worker: Worker,
        report: Report,
        *,
        threads: int = _THREADS,
        idle_seconds: float = _IDLE_SECONDS,
        retry_seconds: float = _RETRY_SECONDS,
        sweep: Callable[[], None] | None = None,
        sweep_seconds: float = SWEEP_SECONDS,
    ) -> None:
        self._queue = queue
        self._worker = worker
        self._report = report
        self._idle_seconds = idle_seconds
        self._retry_seconds = retry_seconds
        self._sweep = sweep
        self._sweep_seconds = sweep_seconds
        self._next_sweep = 0.0  # the first sweep runs at once, for work left from before the start
        self._sweeping = threading.Lock()
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._woken = 0
        self._busy: set[str] = set()  # messages that wait for a lease; each is reported once
        self._threads = [
            threading.Thread(target=self._work, name=f"nacre-worker-{number}", daemon=True)
            for number in range(threads)
        ]

    def start(self) -> None:
        """Start to take messages."""
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Look into the queue now, because a message was just sent."""
        with self._changed:
            self._woken += 1
            self._changed.notify()

    def stop(self, seconds: float) -> bool:
        """Finish the running jobs and stop; return False if they take longer than `seconds`.

        A job that is not finished returns to the queue when its time is over.
        """
        with self._changed:
            self._stopping.set()
            self._changed.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(seconds / len(self._threads))
        return not any(thread.is_alive() for thread in self._threads)

    def run_next(self) -> bool:
        """Take one message and run its job; return False if there was none."""
        try:
            message = self._queue.receive()
        except NacreError as error:
            self._report(Outcome("", "", 0, "queue unavailable", _described(error)))
            return False
        if message is None:
            return False
        try:
            self._run_job(message)
        except (
            NacreError
        ) as error:  # the job may be done while its message is not deleted: it comes again
            self._report_end(message, "queue unavailable", error)
        return True

    def _work(self) -> None:
        while not self._stopping.is_set():
            woken_before = self._woken
            self._sweep_if_due()
            if not self.run_next():
                with self._changed:
                    if not self._stopping.is_set() and woken_before == self._woken:
                        self._changed.wait(self._idle_seconds)

    def _sweep_if_due(self) -> None:
        """Look for work that nobody queued; on AWS a schedule queues a job for that."""
        if self._sweep is None:
            return
        with self._sweeping:
            if time.monotonic() < self._next_sweep:
                return
            self._next_sweep = time.monotonic() + self._sweep_seconds
        try:
            self._sweep()
        except Exception as error:  # noqa: BLE001  # the next one may get through
            self._report(Outcome("", "sweep", 0, "failed", _described(error)))

    def _run_job(self, message: Message) -> None:
        try:
            self._worker.run(
                message, keep_message=lambda: self._queue.postpone(message, JOB_SECONDS)
            )
        except LeaseHeldError as error:
            # The lease may be free in a moment, without a notice: look again soon.
            self._queue.give_back(message, LEASE_LOOK_SECONDS)
            if message.id not in self._busy:
                self._busy.add(message.id)
                self._report_end(message, "busy", error)
            return
        except Exception as error:  # noqa: BLE001  # no job may end the worker
            self._queue.postpone(message, self._retry_seconds)
            self._report_end(message, "failed", error)
        else:
            self._queue.done(message)
            self._report_end(message, "done")
        self._busy.discard(message.id)

    def _report_end(
        self,
        message: Message,
        result: Literal["done", "busy", "failed", "queue unavailable"],
        error: Exception | None = None,
    ) -> None:
        described = None if error is None else _described(error)
        self._report(Outcome(message.id, message.group, message.receives, result, described))


def _described(error: Exception) -> str:
    # Texts of other libraries may quote what a user wrote.
    name = type(error).__name__
    return f"{name}: {error}" if isinstance(error, NacreError) else name

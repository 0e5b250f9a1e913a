"""The laptop's worker: threads of the server that take jobs from the queue."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from nacre.core.errors import LeaseHeldError, NacreError
from nacre.core.limits import JOB_SECONDS, LEASE_LOOK_SECONDS, SWEEP_SECONDS
from nacre.jobs.worker import Worker
from nacre.ports.queue import Message, Queue

_IDLE_SECONDS = 1.0  # how soon a job that another process sent is found
_THREADS = 6  # orders take minutes, and none may hold up what another Being waits for
_RETRY_SECONDS = 10.0  # long enough for a hiccup to pass


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one delivery ended; for the log, so it holds no texts of users."""

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
        self._next_sweep = 0.0  # what was left undone before is looked for at once
        self._sweeping = threading.Lock()
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._woken = 0
        self._busy: set[str] = set()  # messages that wait for a lease, which is told once
        self._threads = [
            threading.Thread(target=self._work, name=f"nacre-worker-{number}", daemon=True)
            for number in range(threads)
        ]

    def start(self) -> None:
        """Begin to take messages."""
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Look into the queue now, because a message was just sent."""
        with self._changed:
            self._woken += 1
            self._changed.notify()

    def stop(self, seconds: float) -> bool:
        """Finish the jobs that run and end; False when they took longer than that.

        What is left then comes back to the queue when its time is over.
        """
        with self._changed:
            self._stopping.set()
            self._changed.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(seconds / len(self._threads))
        return not any(thread.is_alive() for thread in self._threads)

    def run_next(self) -> bool:
        """Take one message and deal with it; False when there was none."""
        try:
            message = self._queue.receive()
        except NacreError as error:
            self._report(Outcome("", "", 0, "queue unavailable", _described(error)))
            return False
        if message is None:
            return False
        try:
            self._deal_with(message)
        except NacreError as error:  # the job may be done and its message is not: it comes again
            self._tell(message, "queue unavailable", error)
        return True

    def _work(self) -> None:
        while not self._stopping.is_set():
            seen = self._woken
            self._sweep_if_due()
            if not self.run_next():
                with self._changed:
                    if not self._stopping.is_set() and seen == self._woken:
                        self._changed.wait(self._idle_seconds)

    def _sweep_if_due(self) -> None:
        """Look for work that nobody queued; on AWS a schedule sends for that."""
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

    def _deal_with(self, message: Message) -> None:
        try:
            self._worker.run(
                message, keep_message=lambda: self._queue.postpone(message, JOB_SECONDS)
            )
        except LeaseHeldError as error:
            # The holder may be done in a moment, and nobody tells: look again soon.
            self._queue.give_back(message, LEASE_LOOK_SECONDS)
            if message.id not in self._busy:
                self._busy.add(message.id)
                self._tell(message, "busy", error)
            return
        except Exception as error:  # noqa: BLE001  # no job may end the worker
            self._queue.postpone(message, self._retry_seconds)
            self._tell(message, "failed", error)
        else:
            self._queue.done(message)
            self._tell(message, "done")
        self._busy.discard(message.id)

    def _tell(
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

"""A watch over one attempt: keeps it alive, tells how far it is, and hears when it is given up."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from nacre.core.errors import ClientCapabilityError, LeaseLostError, NacreError
from nacre.core.limits import (
    TASK_MESSAGE_CHARS,
    TASK_RENEW_SECONDS,
    TASK_SECONDS,
    TASK_WATCH_SECONDS,
)
from nacre.protocol.context import capability_of


@dataclass(slots=True)
class TaskChannel:
    """What the handler says goes into the task; nobody is there to be asked."""

    can_ask: bool = False
    cancelled: bool = False
    told: str | None = None

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Take progress; a task has no place for anything else."""
        if method == "notifications/progress":
            self.told = _line(params)

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Refuse: questions of a task wait in it."""
        raise ClientCapabilityError(capability_of(method))


def _line(params: dict[str, Any]) -> str:
    done, total, message = params.get("progress"), params.get("total"), params.get("message")
    far = f"{done}" if total is None else f"{done} of {total}"
    return (f"{far}: {message}" if message else far)[:TASK_MESSAGE_CHARS]


@dataclass(slots=True)
class Watch:
    """Runs beside a handler, in a thread of its own.

    `tell` keeps a message and says whether the task is still ours to work on; `renew` holds
    its lease and its message for another while.
    """

    channel: TaskChannel
    tell: Callable[[str | None], bool]
    renew: Callable[[], None]
    seconds: float = TASK_SECONDS
    every: float = TASK_WATCH_SECONDS
    monotonic: Callable[[], float] = time.monotonic
    is_too_long: bool = False
    _over: threading.Event = field(default_factory=threading.Event)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _stop: Callable[[], None] | None = None
    _thread: threading.Thread | None = None

    def __enter__(self) -> "Watch":
        """Begin to watch."""
        self._thread = threading.Thread(target=self._watch, name="nacre-task", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End; nothing is written from then on."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def on_stop(self, stop: Callable[[], None]) -> None:
        """Call this once the attempt should end, at once where it should already."""
        with self._guard:
            self._stop = stop
            if self.channel.cancelled:
                stop()

    def _watch(self) -> None:
        begun = renewed = self.monotonic()
        said: str | None = None
        while not self._over.wait(self.every) and not self.channel.cancelled:
            now = self.monotonic()
            if now - begun >= self.seconds:
                self.is_too_long = True
                self._give_up()
                return
            told = self.channel.told
            # A store that cannot answer now may do so the next time.
            with suppress(NacreError):
                if not self.tell(None if told == said else told):
                    self._give_up()
                    return
                said = told
            try:
                if now - renewed >= TASK_RENEW_SECONDS:
                    self.renew()
                    renewed = now
            except LeaseLostError:
                self._give_up()
                return
            except NacreError:
                continue

    def _give_up(self) -> None:
        # Within the guard: whoever replaces `stop` may then let go of what it works on.
        with self._guard:
            self.channel.cancelled = True
            if self._stop is not None:
                self._stop()

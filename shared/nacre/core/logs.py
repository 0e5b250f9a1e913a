"""One structured line per event, on standard error, with ids and never with content."""

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from time import monotonic
from typing import Literal, TextIO

from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import RARE_LOG_SECONDS

Level = Literal["debug", "info", "warning", "error"]
_ORDER: tuple[Level, ...] = ("debug", "info", "warning", "error")
Field = str | int | float | bool | None


class Log:
    """Writes events at or above a level as JSON lines; a stack's lines may carry metrics."""

    def __init__(
        self, level: Level = "info", stream: TextIO | None = None, *, stack: str = ""
    ) -> None:
        self._from = _ORDER.index(level)
        self._stream = stream
        self._stack = stack

    def writes(self, level: Level) -> bool:
        """Tell whether events of this level are written."""
        return _ORDER.index(level) >= self._from

    def write(self, level: Level, event: str, **fields: Field) -> None:
        """Write one event; fields that are None are left out."""
        if self.writes(level):
            self._put(_line(datetime.now(UTC), level, event, fields))

    def count(self, level: Level, event: str, values: Mapping[str, float], **fields: Field) -> None:
        """Write one event, and count it in the stack's metrics whatever its level is.

        The names of the values are those of `nacre.core.metrics`.
        """
        if not (self._stack and values):
            self.write(level, event, **fields)
            return
        from nacre.core.metrics import members  # noqa: PLC0415 - the first call pays, not the start

        now = datetime.now(UTC)
        line = _line(now, level, event, fields)
        counted = members(self._stack, values, at=now.timestamp())
        self._put(f"{line[:-1]},{counted}}}")

    def _put(self, line: str) -> None:
        # No standard error, or nobody who reads it, must not fail the call that is told about.
        stream: TextIO | None = self._stream or sys.stderr
        with suppress(OSError, ValueError):
            if stream is not None:
                stream.write(f"{line}\n")
                stream.flush()


@dataclass(slots=True)
class _Kind:
    level: Level
    event: str
    said: str
    written: float
    times: int = 0


class RareLog:
    """Writes events that strangers can cause: one line of each kind a minute, with the count."""

    def __init__(self, log: Log, *, time: Callable[[], float] = monotonic) -> None:
        self._log = log
        self._time = time
        self._kinds: dict[tuple[str, str], _Kind] = {}

    def write(self, level: Level, event: str, *, said: str) -> None:
        """Write a line, or count it for the next one. `said` must be one of a few texts."""
        kind = self._kinds.get((event, said))
        if kind is None:
            kind = _Kind(level, event, said, self._time() - RARE_LOG_SECONDS)
            self._kinds[event, said] = kind
        kind.times += 1
        self._put(kind)

    def flush(self) -> None:
        """Write the counts that are older than a minute; call this from time to time."""
        for kind in self._kinds.values():
            self._put(kind)

    def _put(self, kind: _Kind) -> None:
        now = self._time()
        if kind.times and now - kind.written >= RARE_LOG_SECONDS:
            self._log.write(kind.level, kind.event, said=kind.said, times=kind.times)
            kind.written, kind.times = now, 0


def _line(now: datetime, level: Level, event: str, fields: Mapping[str, Field]) -> str:
    # Lambda reads the level of a line only beside a "timestamp" in this form.
    at = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    present = {name: value for name, value in fields.items() if value is not None}
    return json.dumps({"timestamp": at, "level": level, "event": event, **present})


def log_at(name: str, *, stack: str = "") -> Log:
    """Return a log of the level that the settings name: DEBUG, INFO, WARNING or ERROR.

    Libraries are kept quiet: at INFO some write the URLs that they ask, at DEBUG what they
    send, and Lambda's runtime would let them.
    """
    import logging  # noqa: PLC0415 - the runtime has loaded it; what starts without pays nothing

    logging.getLogger().setLevel(logging.WARNING)
    return Log(next(level for level in _ORDER if level.upper() == name), stack=stack)


def where(error: BaseException, *, trace: bool = True) -> str:
    """Return the kind of an error and the lines it came through, without its message.

    A message may quote what a caller sent. An error that stands for another names that one.
    """
    error = getattr(error, "raised", error)
    if not trace:
        return type(error).__name__
    import traceback  # noqa: PLC0415 - no start needs it

    frames = traceback.extract_tb(error.__traceback__)[-3:]
    path = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__name__} at {path}" if path else type(error).__name__

"""One structured line per event, on standard error, with ids and never with content."""

import json
import sys
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal, TextIO

Level = Literal["debug", "info", "warning", "error"]
_ORDER: tuple[Level, ...] = ("debug", "info", "warning", "error")
Field = str | int | float | bool | None


class Log:
    """Writes events at or above a level as JSON lines."""

    def __init__(self, level: Level = "info", stream: TextIO | None = None) -> None:
        self._from = _ORDER.index(level)
        self._stream = stream

    def writes(self, level: Level) -> bool:
        """Whether events of this level are written."""
        return _ORDER.index(level) >= self._from

    def write(self, level: Level, event: str, **fields: Field) -> None:
        """Write one event; fields that are None are left out."""
        if not self.writes(level):
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        known = {name: value for name, value in fields.items() if value is not None}
        line = json.dumps({"time": now, "level": level, "event": event, **known})
        # No standard error, or nobody who reads it, must not fail the call that is told about.
        stream: TextIO | None = self._stream or sys.stderr
        with suppress(OSError, ValueError):
            if stream is not None:
                stream.write(f"{line}\n")
                stream.flush()


def log_at(name: str) -> Log:
    """Return a log of the level that the settings name: DEBUG, INFO, WARNING or ERROR."""
    return Log(next(level for level in _ORDER if level.upper() == name))


def where(error: BaseException, *, trace: bool = True) -> str:
    """Return the kind of an error and the lines it came through, without its message.

    A message may quote what a caller sent.
    """
    if not trace:
        return type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    path = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__name__} at {path}" if path else type(error).__name__

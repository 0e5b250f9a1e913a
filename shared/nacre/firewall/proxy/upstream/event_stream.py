"""Server-sent events read as they come, and written: one message in each."""

from collections.abc import Iterator
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `data` is None for what carries none; `too_long` says that it was let go."""

    name: bytes = b""
    data: bytes | None = None
    id: bytes | None = None
    retry: bytes | None = None
    too_long: bool = False

    @property
    def is_message(self) -> bool:
        """Whether clients take the data for a message; they ignore events of other names."""
        return self.name in (b"", b"message")

    def encode(self, data: bytes | None = None) -> bytes:
        """Return the event as it goes on, with other data where some are given.

        It is spelt anew, so that every client reads the event that was read here.
        """
        lines = []
        if self.name:
            lines.append(b"event: " + self.name)
        if self.id is not None:
            lines.append(b"id: " + self.id)
        if self.retry is not None:
            lines.append(b"retry: " + self.retry)
        carried = self.data if data is None else data
        if carried is not None:
            lines.extend(b"data: " + line for line in carried.split(b"\n"))
        return b"\n".join(lines) + b"\n\n" if lines else BEAT


BEAT = b":\n\n"  # a comment, which keeps a connection alive
_BEAT = Event()


class EventReader:
    """Takes a stream apart; of an event that is longer than `limit`, only its head is kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._is_first = True
        self._after_return = False
        self._parts: list[bytes] = []
        self._size = 0
        self._name = b""
        self._data: list[bytes] = []
        self._length = 0
        self._id: bytes | None = None
        self._retry: bytes | None = None
        self._too_long = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that end within the chunk; it must be read to its end."""
        for line in self._lines(chunk):
            if not line:
                event = self._take()
                if event is not None:
                    yield event
            elif line.startswith(b":"):
                yield _BEAT
            else:
                self._field(line)

    def _lines(self, chunk: bytes) -> Iterator[bytes]:
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r")
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._keep(line)
            joined = b"".join(self._parts)
            self._parts, self._size = [], 0
            if self._is_first:
                self._is_first = False
                joined = joined.removeprefix(_BOM)
            yield joined
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size + self._length > self._limit:
            self._too_long = True
            # What says which field it is, and so that the line is not empty.
            part = part[:8] if not self._parts else b""
        if part:
            self._parts.append(part)

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                if not self._too_long:
                    self._data.append(value)
                    self._length += len(value) + 1
            case b"event":
                self._name = value
            case b"id" if b"\0" not in value:
                self._id = value
            case b"retry" if value.isdigit():
                self._retry = value
            case _:
                pass

    def _take(self) -> Event | None:
        event = Event(
            self._name,
            b"\n".join(self._data) if self._data and not self._too_long else None,
            self._id,
            self._retry,
            self._too_long,
        )
        self._clear()
        return None if event == _BEAT else event

    def _clear(self) -> None:
        self._name, self._id, self._retry = b"", None, None
        self._data, self._length = [], 0
        self._too_long = False

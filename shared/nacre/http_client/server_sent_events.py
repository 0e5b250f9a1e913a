"""Server-sent events: read from a response as they arrive, and written."""

from collections import deque
from collections.abc import Iterator

from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_WIRE_BYTES
from nacre.http_client.connection import Response

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `data` is None if it has none; of an event that is `too_long` it is dropped."""

    name: bytes = b""
    data: bytes | None = None
    id: bytes | None = None
    retry: bytes | None = None
    too_long: bool = False

    @property
    def is_message(self) -> bool:
        """True if the data is a message; clients ignore events of other names."""
        return self.name in (b"", b"message")

    def encode(self, data: bytes | None = None) -> bytes:
        """Return the event as bytes, with other data if given.

        It is written again, so that every client reads the same event that was read here.
        """
        lines = []
        if self.name:
            lines.append(b"event: " + self.name)
        if self.id is not None:
            lines.append(b"id: " + self.id)
        if self.retry is not None:
            lines.append(b"retry: " + self.retry)
        data = self.data if data is None else data
        if data is not None:
            lines.extend(b"data: " + line for line in data.split(b"\n"))
        return b"\n".join(lines) + b"\n\n" if lines else HEARTBEAT


HEARTBEAT = b":\n\n"  # a comment, which keeps a connection alive
_EMPTY = Event()


class EventReader:
    """Splits a stream into events; an event above the limit loses its data."""

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
                event = self._finish_event()
                if event != _EMPTY:
                    yield event
            elif line.startswith(b":"):
                yield _EMPTY
            else:
                self._add_field(line)

    def _lines(self, chunk: bytes) -> Iterator[bytes]:
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r")
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *ended, remainder = chunk.split(b"\n")
        for part in ended:
            self._add_part(part)
            line = b"".join(self._parts)
            self._parts, self._size = [], 0
            if self._is_first:
                self._is_first = False
                line = line.removeprefix(_BOM)
            yield line
        self._add_part(remainder)

    def _add_part(self, part: bytes) -> None:
        self._size += len(part)
        if self._size + self._length > self._limit:
            self._too_long = True
            # The name of the field stays, so that the line is not empty.
            part = part[:8] if not self._parts else b""
        if part:
            self._parts.append(part)

    def _add_field(self, line: bytes) -> None:
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

    def _finish_event(self) -> Event:
        event = Event(
            self._name,
            b"\n".join(self._data) if self._data and not self._too_long else None,
            self._id,
            self._retry,
            self._too_long,
        )
        self._name, self._id, self._retry = b"", None, None
        self._data, self._length = [], 0
        self._too_long = False
        return event


class ResponseEvents:
    """The events of a response, as they arrive. Iterating raises HttpError."""

    # No generator: most streams are left before their end, which closes a generator in a task.

    def __init__(self, response: Response) -> None:
        self._response = response
        self._reader = EventReader(MAX_WIRE_BYTES)
        self._events: deque[Event] = deque()

    def __aiter__(self) -> "ResponseEvents":
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            chunk = await self._response.next_chunk()
            if not chunk:
                raise StopAsyncIteration
            self._events.extend(self._reader.feed(chunk))
        return self._events.popleft()

"""Bytes as they arrive, split into lines: each line is one message."""

from nacre.core.limits import MAX_WIRE_BYTES

_TAIL_BYTES = 4096  # of a line that is too long: some servers write the id at its end
_SLACK_BYTES = 1 << 20  # collected above the limit before the middle is dropped


class LineSplitter:
    """Splits one direction of a session into lines.

    A line above the limit keeps its beginning and its end and stays too long, so that the guard
    refuses it and answers its sender.
    """

    def __init__(self, limit: int = MAX_WIRE_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self.size = 0  # of the line that is not complete yet

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that are complete, without their ends and without blank lines."""
        lines = chunk.split(b"\n")
        if len(lines) == 1:
            self._add_part(chunk)
            return []
        if self._parts:
            self._add_part(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts.clear()
            self.size = 0
        last_part = lines.pop()
        if last_part:
            self._add_part(last_part)
        elif len(lines) == 1 and lines[0][:1] == b"{" and lines[0][-1:] == b"}":
            return lines  # the common case: one whole message
        return [line.removesuffix(b"\r") for line in lines if line and not line.isspace()]

    def end(self) -> list[bytes]:
        """Return the line that the input ended in, if there is one."""
        return self.feed(b"\n") if self._parts else []

    def _add_part(self, part: bytes) -> None:
        self._parts.append(part)
        self.size += len(part)
        if self.size > self._limit + _SLACK_BYTES:
            line = b"".join(self._parts)
            self._parts = [line[: self._limit], line[-_TAIL_BYTES:]]
            self.size = self._limit + _TAIL_BYTES

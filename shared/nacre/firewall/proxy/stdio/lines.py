"""Bytes as they arrive, cut into the lines that messages are."""

from nacre.core.limits import MAX_WIRE_BYTES

_TAIL = 4096  # of a line that is too long: some servers write the id at its end
_SLACK = 1 << 20  # how much more is gathered before the middle is let go


class Lines:
    """One direction of a conversation.

    A line that is longer than a guard takes keeps its beginning and its end, and stays too
    long, so that it is refused and whoever waits for it is told.
    """

    def __init__(self, most: int = MAX_WIRE_BYTES) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that are whole now, without their ends; blank ones are none."""
        lines = chunk.split(b"\n")
        if len(lines) == 1:
            self._keep(chunk)
            return []
        if self._parts:
            self._keep(lines[0])
            lines[0] = self._taken()
        last = lines.pop()
        if last:
            self._keep(last)
        elif len(lines) == 1 and lines[0][:1] == b"{" and lines[0][-1:] == b"}":
            return lines  # as nearly always; what follows would say the same
        return [line.removesuffix(b"\r") for line in lines if line and not line.isspace()]

    def end(self) -> list[bytes]:
        """Return what stood behind the last end of a line, now that nothing follows."""
        return self.feed(b"\n") if self._parts else []

    def _keep(self, chunk: bytes) -> None:
        self._parts.append(chunk)
        self._size += len(chunk)
        if self._size > self._most + _SLACK:
            whole = b"".join(self._parts)
            self._parts = [whole[: self._most], whole[-_TAIL:]]
            self._size = self._most + _TAIL

    def _taken(self) -> bytes:
        whole = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return whole

"""Standard input and output beside an event loop, each in a thread of its own.

Whatever they are (pipes, files, a terminal), a side that stands still holds up nobody else.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncIterator

from nacre.core.limits import MAX_WIRE_BYTES

_PIECE = 64 * 1024
_AHEAD = 64  # lines that are read before they are needed


class Lines:
    """The lines of a descriptor; of one that is too long, the beginning."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        threading.Thread(target=self._read, name="nacre-stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the lines that hold something, until the input ends."""
        while (line := await self._queue.get()) is not None:
            self._room.release()
            if line.strip():
                yield line

    def _read(self) -> None:
        parts: list[bytes] = []
        size = 0
        while piece := self._piece():
            *whole, rest = piece.split(b"\n")
            for line in whole:
                parts.append(line)
                self._put(b"".join(parts).removesuffix(b"\r"))
                parts, size = [], 0
            size += len(rest)
            if rest and size <= MAX_WIRE_BYTES + _PIECE:  # a guard refuses what is longer
                parts.append(rest)
        if parts:
            self._put(b"".join(parts))
        self._put(None)

    def _piece(self) -> bytes:
        try:
            return os.read(self._descriptor, _PIECE)
        except OSError:
            return b""

    def _put(self, line: bytes | None) -> None:
        self._room.acquire()
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, line)
        except RuntimeError:  # the loop has ended
            return


class Output:
    """A descriptor that takes one line after another."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[bytes, asyncio.Future[None]]] = deque()
        self._some = threading.Semaphore(0)
        threading.Thread(target=self._write, name="nacre-stdout", daemon=True).start()

    async def write(self, raw: bytes) -> None:
        """Write a line; raises ConnectionError when nobody reads any more."""
        written: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((raw + b"\n", written))
        self._some.release()
        await asyncio.shield(written)

    def _write(self) -> None:
        while self._some.acquire():
            line, written = self._waiting.popleft()
            error: Exception | None = None
            try:
                left = memoryview(line)
                while left:
                    left = left[os.write(self._descriptor, left) :]
            except OSError:
                error = ConnectionError()
            try:
                self._loop.call_soon_threadsafe(_settle, written, error)
            except RuntimeError:  # the loop has ended
                return


def _settle(written: "asyncio.Future[None]", error: Exception | None) -> None:
    if written.done():
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(error)

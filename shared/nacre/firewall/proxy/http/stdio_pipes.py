"""Standard input and output beside an event loop, each in a thread.

Whether they are pipes, files or a terminal, a side that blocks delays nothing else.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncIterator

from nacre.firewall.proxy.stdio.lines import LineSplitter

_CHUNK_BYTES = 64 * 1024
_MAX_AHEAD = 64  # lines that are read before they are needed


class LineReader:
    """The lines of a descriptor, without blank ones."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(_MAX_AHEAD)
        threading.Thread(target=self._read, name="nacre-stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the lines until the input ends."""
        while (line := await self._queue.get()) is not None:
            self._room.release()
            yield line

    def _read(self) -> None:
        splitter = LineSplitter()
        while chunk := self._next_chunk():
            for line in splitter.feed(chunk):
                self._put(line)
        for line in splitter.end():
            self._put(line)
        self._put(None)

    def _next_chunk(self) -> bytes:
        try:
            return os.read(self._descriptor, _CHUNK_BYTES)
        except OSError:
            return b""

    def _put(self, line: bytes | None) -> None:
        self._room.acquire()
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, line)
        except RuntimeError:  # the loop has ended
            return


class LineWriter:
    """A descriptor that takes lines, one after another."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[bytes, asyncio.Future[None]]] = deque()
        self._count = threading.Semaphore(0)
        threading.Thread(target=self._write, name="nacre-stdout", daemon=True).start()

    async def write(self, raw: bytes) -> None:
        """Write a line; raises ConnectionError if the reader has closed."""
        completion: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((raw + b"\n", completion))
        self._count.release()
        await asyncio.shield(completion)

    def _write(self) -> None:
        while self._count.acquire():
            line, completion = self._waiting.popleft()
            error: Exception | None = None
            try:
                unwritten = memoryview(line)
                while unwritten:
                    unwritten = unwritten[os.write(self._descriptor, unwritten) :]
            except OSError:
                error = ConnectionError()
            try:
                self._loop.call_soon_threadsafe(_finish, completion, error)
            except RuntimeError:  # the loop has ended
                return


def _finish(completion: "asyncio.Future[None]", error: Exception | None) -> None:
    if completion.done():
        return
    if error is None:
        completion.set_result(None)
    else:
        completion.set_exception(error)

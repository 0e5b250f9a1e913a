"""The ends of pipes that a proxy writes to, without ever waiting for whoever reads."""

import os
import select
import stat

_SLICE = select.PIPE_BUF if hasattr(select, "PIPE_BUF") else 512


class Sink:
    """Bytes on their way out; what does not go now waits until `flush` is called again.

    A descriptor that others write to as well keeps its mode: where it may block, each
    flush writes only what a descriptor that is ready takes at once.
    """

    def __init__(self, descriptor: int, *, shared_with: int | None = None) -> None:
        self.descriptor = descriptor
        self.is_open = True
        self.is_broken = False  # whoever reads has gone
        self.size = 0
        self._queue: list[bytes] = []
        self._current: bytes | memoryview = b""
        kind = os.fstat(descriptor)
        is_pipe = stat.S_ISFIFO(kind.st_mode) or stat.S_ISSOCK(kind.st_mode)
        self._restores = False
        if is_pipe and (shared_with is None or not _is_same(kind, shared_with)):
            self._restores = shared_with is not None and os.get_blocking(descriptor)
            os.set_blocking(descriptor, False)
            self._is_eager = True
        else:
            self._is_eager = stat.S_ISREG(kind.st_mode)

    def put(self, line: bytes) -> None:
        """Take one line to write; a sink that is closed forgets it."""
        if self.is_open:
            self._queue += (line, b"\n")
            self.size += len(line) + 1

    def flush(self, *, is_ready: bool = False) -> None:
        """Write what can be written now; `is_ready`: the system says that it takes something."""
        is_eager = self._is_eager
        while self.size and (is_eager or is_ready):
            current = self._current
            if not current:
                current = b"".join(self._queue)
                self._queue.clear()
            try:
                written = os.write(self.descriptor, current if is_eager else current[:_SLICE])
            except BlockingIOError:
                self._current = current
                return
            except OSError:
                self.fail()
                return
            self.size -= written
            self._current = memoryview(current)[written:] if written < len(current) else b""
            is_ready = False

    def fail(self) -> None:
        """Take it that nobody reads any more."""
        self.is_broken = True
        self.close()

    def close(self) -> None:
        """Write no more; whoever reads sees the end."""
        if self.is_open:
            self.is_open = False
            self.size = 0
            self._queue.clear()
            self._current = b""
            if self._restores:
                os.set_blocking(self.descriptor, True)
            close(self.descriptor)


def close(descriptor: int) -> None:
    """Close a descriptor; a standard one leads nowhere then, so that no file gets its number."""
    if descriptor > 2:
        os.close(descriptor)
        return
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _is_same(kind: os.stat_result, descriptor: int) -> bool:
    try:
        other = os.fstat(descriptor)
    except OSError:
        return False
    return (kind.st_dev, kind.st_ino) == (other.st_dev, other.st_ino)

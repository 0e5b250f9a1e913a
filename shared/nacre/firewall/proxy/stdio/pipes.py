"""The ends of pipes that a proxy writes to, without waiting for the reader."""

import os
import select
import stat

_SLICE = select.PIPE_BUF if hasattr(select, "PIPE_BUF") else 512


class PipeWriter:
    """A descriptor to write to. Bytes that cannot be written now wait for the next `flush`.

    A descriptor that other programs write to as well keeps its mode. If it may block, each flush
    writes only as many bytes as a ready descriptor takes at once.
    """

    def __init__(self, descriptor: int, *, shared_with: int | None = None) -> None:
        self.descriptor = descriptor
        self.is_open = True
        self.is_broken = False  # the reader has gone
        self.size = 0
        self._queue: list[bytes] = []
        self._current: bytes | memoryview = b""
        kind = os.fstat(descriptor)
        is_pipe = stat.S_ISFIFO(kind.st_mode) or stat.S_ISSOCK(kind.st_mode)
        self._restores_blocking = False
        if is_pipe and (shared_with is None or not _is_same(kind, shared_with)):
            self._restores_blocking = shared_with is not None and os.get_blocking(descriptor)
            os.set_blocking(descriptor, False)
            self._is_eager = True
        else:
            self._is_eager = stat.S_ISREG(kind.st_mode)

    def put(self, line: bytes) -> None:
        """Add a line to write; does nothing after close."""
        if self.is_open:
            self._queue += (line, b"\n")
            self.size += len(line) + 1

    def flush(self, *, is_ready: bool = False) -> None:
        """Write as much as possible now; `is_ready` says that the system accepts bytes."""
        is_eager = self._is_eager
        while self.size and (is_eager or is_ready):
            current = self._current
            if not current:
                current = b"".join(self._queue)
                self._queue.clear()
            try:
                size = os.write(self.descriptor, current if is_eager else current[:_SLICE])
            except BlockingIOError:
                self._current = current
                return
            except OSError:
                self.fail()
                return
            self.size -= size
            self._current = memoryview(current)[size:] if size < len(current) else b""
            is_ready = False

    def fail(self) -> None:
        """Close the pipe after its reader has closed."""
        self.is_broken = True
        self.close()

    def close(self) -> None:
        """Write no more; the reader sees the end."""
        if self.is_open:
            self.is_open = False
            self.size = 0
            self._queue.clear()
            self._current = b""
            if self._restores_blocking:
                os.set_blocking(self.descriptor, True)
            close(self.descriptor)


def close(descriptor: int) -> None:
    """Close a descriptor; a standard one leads to /dev/null, so that no file gets its number."""
    if descriptor > 2:
        os.close(descriptor)
        return
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, descriptor)
    os.close(null)


def _is_same(kind: os.stat_result, descriptor: int) -> bool:
    try:
        other_kind = os.fstat(descriptor)
    except OSError:
        return False
    return (kind.st_dev, kind.st_ino) == (other_kind.st_dev, other_kind.st_ino)

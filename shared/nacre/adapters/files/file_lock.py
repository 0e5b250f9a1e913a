"""A lock for one process at a time; it is released when the process ends."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAUSE_SECONDS = 0.02

if sys.platform == "win32":
    import msvcrt

    def locks(descriptor: int) -> bool:
        """Take the lock of an open file; False where another process has it."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def locks(descriptor: int) -> bool:
        """Take the lock of an open file; False where another process has it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


@contextmanager
def locked(path: Path, *, seconds: float) -> Iterator[bool]:
    """Hold the lock of a file until the block ends; yields False if others hold it too long."""
    binary = getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | binary, 0o600)
    try:
        deadline = time.monotonic() + seconds
        has_lock = locks(descriptor)
        while not has_lock and time.monotonic() < deadline:
            time.sleep(_PAUSE_SECONDS)
            has_lock = locks(descriptor)
        yield has_lock
    finally:
        os.close(descriptor)

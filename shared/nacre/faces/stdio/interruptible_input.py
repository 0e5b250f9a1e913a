"""Standard input that a signal always interrupts.

Python runs the handler of a signal between two instructions. A signal that arrives between the last
one and a blocking read would wait for the next line, which may never come. Therefore the reader
waits for the input and for signals at once.
"""

import io
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


@contextmanager
def interruptible(stdin: BinaryIO) -> Iterator[BinaryIO]:
    """Yield the input as one whose reads end when a handler raises."""
    if sys.platform == "win32":  # cannot wait for a pipe
        yield stdin
        return
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield io.BufferedReader(_Input(stdin.fileno(), reading))
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


class _Input(io.RawIOBase):
    def __init__(self, descriptor: int, woken: int) -> None:
        self._descriptor = descriptor
        self._woken = woken

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        ready: list[int] = []
        while self._descriptor not in ready:
            ready, _, _ = select.select([self._descriptor, self._woken], [], [])
            if self._woken in ready:
                os.read(self._woken, 64)  # the handler runs now, and may raise
        return os.readv(self._descriptor, [buffer])

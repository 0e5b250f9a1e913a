import ctypes
import operator
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from nacre.faces.stdio.interruptible_input import interruptible

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot wait for a pipe")


class StopError(Exception):
    pass


@pytest.fixture
def pipe() -> Iterator[tuple[BinaryIO, int]]:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stdin:
        yield stdin, writing
        os.close(writing)


@pytest.fixture
def _stopping() -> Iterator[None]:
    def stop(_number: int, _frame: object) -> None:
        raise StopError

    before = signal.signal(signal.SIGTERM, stop)
    yield
    signal.signal(signal.SIGTERM, before)


def test_lines_are_read_as_they_are_written(pipe: tuple[BinaryIO, int]) -> None:
    stdin, writing = pipe
    long = b"x" * 50_000 + b"\n"
    os.write(writing, b"one\n\ntw")
    os.write(writing, b"o\n" + long)

    with interruptible(stdin) as lines:
        assert [lines.readline() for _ in range(4)] == [b"one\n", b"\n", b"two\n", long]


def test_the_end_of_the_input_is_an_empty_line() -> None:
    with Path(os.devnull).open("rb") as stdin, interruptible(stdin) as lines:
        assert lines.readline() == b""


@pytest.mark.usefixtures("_stopping")
def test_a_signal_interrupts_a_read_that_waits(pipe: tuple[BinaryIO, int]) -> None:
    stdin, _ = pipe
    sender = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM))
    sender.start()

    with interruptible(stdin) as lines, pytest.raises(StopError):
        lines.readline()

    sender.join()


@pytest.mark.usefixtures("_stopping")
def test_a_signal_just_before_the_wait_interrupts_it(
    pipe: tuple[BinaryIO, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin, _ = pipe
    arrive = partial(ctypes.pythonapi.PyErr_SetInterruptEx, int(signal.SIGTERM))
    wait = select.select

    def select_after_a_signal(*arguments: Any) -> Any:
        # `map` calls both without an instruction between them, in which a handler could run.
        return list(map(operator.call, [arrive, partial(wait, *arguments)]))[-1]

    with interruptible(stdin) as lines:
        monkeypatch.setattr(select, "select", select_after_a_signal)
        with pytest.raises(StopError):
            lines.readline()


def test_a_signal_without_consequences_is_waited_through(pipe: tuple[BinaryIO, int]) -> None:
    stdin, writing = pipe
    handled: list[int] = []

    def handle(number: int, _frame: object) -> None:
        handled.append(number)
        os.write(writing, b"after\n")

    before = signal.signal(signal.SIGUSR1, handle)
    sender = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
    sender.start()
    try:
        with interruptible(stdin) as lines:
            assert lines.readline() == b"after\n"
    finally:
        sender.join()
        signal.signal(signal.SIGUSR1, before)
    assert handled == [signal.SIGUSR1]


def test_the_wakeup_descriptor_of_before_is_restored() -> None:
    with Path(os.devnull).open("rb") as stdin, interruptible(stdin):
        pass

    assert signal.set_wakeup_fd(-1) == -1

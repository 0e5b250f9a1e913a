"""The threads of blocking calls."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nacre.faces.call_threads import CallThreads

_SECONDS = 60


def test_a_call_gives_its_value_or_its_error() -> None:
    threads = CallThreads(1)

    def fail() -> None:
        raise ValueError("no")

    assert threads.submit(divmod, 7, 2).result(_SECONDS) == (3, 1)
    with pytest.raises(ValueError, match="no"):
        threads.submit(fail).result(_SECONDS)


def test_as_many_calls_run_at_once_as_there_may_be_threads() -> None:
    threads = CallThreads(3)
    together = threading.Barrier(3)

    calls = [threads.submit(together.wait, _SECONDS) for _ in range(9)]

    assert sorted(call.result(_SECONDS) for call in calls) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_no_more_threads_are_started_than_there_may_be() -> None:
    threads = CallThreads(2)

    calls = [threads.submit(threading.get_ident) for _ in range(200)]

    assert len({call.result(_SECONDS) for call in calls}) <= 2


def test_a_call_that_was_cancelled_before_its_turn_does_not_run() -> None:
    threads = CallThreads(1)
    release = threading.Event()
    first, second = threads.submit(release.wait, _SECONDS), threads.submit(print, "never")

    assert second.cancel()
    release.set()

    assert first.result(_SECONDS)
    assert threads.submit(int, "3").result(_SECONDS) == 3


def test_a_call_that_hangs_does_not_keep_the_process_alive() -> None:
    code = (
        "import threading; from nacre.faces.call_threads import CallThreads;"
        "begun = threading.Event();"
        "CallThreads(1).submit(lambda: (begun.set(), threading.Event().wait())); begun.wait()"
    )
    package = Path(__file__).parents[2] / "shared"

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=package, timeout=_SECONDS, capture_output=True
    )

    assert (done.returncode, done.stderr) == (0, b"")

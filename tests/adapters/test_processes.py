"""Which processes of this machine have ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nacre.adapters.processes import Processes

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

_SAYS_ITS_NAME = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    "from nacre.adapters.processes import Processes;"
    "print(Processes().me, flush=True); sys.stdin.read()"
)
_PACKAGE = Path(__file__).parents[2] / "shared"


@contextmanager
def another() -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run a process until it is killed, and give it with its name."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SAYS_ITS_NAME, str(_PACKAGE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def test_a_process_that_runs_is_not_gone() -> None:
    mine = Processes()

    assert mine.me is not None
    assert mine.me == Processes().me
    assert not mine.is_gone(mine.me)
    with another() as (_, name):
        assert name != mine.me
        assert not mine.is_gone(name)


def test_a_process_that_was_killed_is_gone_even_before_its_parent_asks() -> None:
    mine = Processes()
    with another() as (process, name):
        process.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert mine.is_gone(name)

        process.wait()
        assert mine.is_gone(name)


def test_a_number_that_came_again_is_another_process() -> None:
    mine = Processes()
    assert mine.me is not None
    place, number, began = mine.me.split("/")

    assert mine.is_gone(f"{place}/{number}/{int(began) - 1}")


@pytest.mark.parametrize("name", ["", "x", "other/1/1", "{place}/x/1", "{place}//", "{place}/-1/1"])
def test_nothing_is_known_of_other_machines_and_other_names(name: str) -> None:
    mine = Processes()
    assert mine.me is not None
    place = mine.me.split("/", maxsplit=1)[0]

    assert not mine.is_gone(name.format(place=place))


def test_a_number_that_no_process_can_have_is_gone() -> None:
    mine = Processes()
    assert mine.me is not None
    place = mine.me.split("/", maxsplit=1)[0]

    assert mine.is_gone(f"{place}/{2**22 + 1}/1")

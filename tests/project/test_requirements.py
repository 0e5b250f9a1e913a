import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CARRIED
from tests.requirements import PENDING, REQUIREMENTS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def carried(pytestconfig: pytest.Config) -> set[str]:
    if CARRIED in pytestconfig.stash:
        return pytestconfig.stash[CARRIED]
    # Another process, because one pytest cannot collect within another.
    run = subprocess.run(
        [sys.executable, "tests/requirements.py", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return set(json.loads(run.stdout))


def test_every_promise_that_is_not_pending_is_carried_by_a_test(carried: set[str]) -> None:
    assert REQUIREMENTS.keys() - PENDING - carried == set()


def test_no_test_carries_an_unknown_promise(carried: set[str]) -> None:
    assert carried - REQUIREMENTS.keys() == set()


def test_a_promise_leaves_pending_with_its_test(carried: set[str]) -> None:
    assert carried & PENDING == set()


def test_pending_holds_known_promises() -> None:
    assert PENDING - REQUIREMENTS.keys() == set()

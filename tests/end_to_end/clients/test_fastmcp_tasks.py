"""FastMCP's client, which fetches the results of tasks by itself, and the Python SDK under it."""

import json
import os
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from infra.tools import programs
from tests.end_to_end.conformance.faces import FACES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("face", FACES.values(), ids=FACES)
def test_its_calls_end_as_if_they_had_been_answered(
    face: Callable[[], AbstractContextManager[str]],
) -> None:
    with face() as url:
        done = subprocess.run(
            [
                programs("client-fastmcp") / "python",
                *("-m", "tests.end_to_end.clients.fastmcp_conversation", url),
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "at once": "Hello, Ann!",
        "slow": "Computed x in 0.2 seconds",
        "failed": "Error: This job always fails",
        "refused": "This job always ends with a protocol error",
        "asked": "Deleted a.txt",
        "asked twice at once": "Alice: True",
        "asked before": "Hello, Alice, after a while",
        "given up": ["working", "cancelled"],
    }

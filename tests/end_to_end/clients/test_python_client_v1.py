"""The first generation's official Python client, which most agents still ship."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from infra.tools import programs
from tests.end_to_end.conformance.faces import laptop
from tests.scaffolding.lambda_events import EVENT_SHAPES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SEEN = {
    "version": "2025-11-25",
    "session": None,
    "has_tools": True,
    "simple": "This is a simple text response for testing.",
    "failed": [True, "Error: This tool intentionally returns an error for testing"],
    "progress": [[0, 100], [50, 100], [100, 100]],
    "asked": [False, 'User response: action=accept, content={"username": "the username"}'],
    "resource": "This is the content of the static text resource.",
    "prompt": "This is a simple prompt for testing.",
    "unknown": -32602,
}
# The answer to a question would reach another invocation.
UNASKED = {"asked": [True, "Error: This call needs a client with the 'elicitation' capability"]}


def converse(where: str) -> Any:
    done = subprocess.run(
        [programs("client-v1") / "python", "-m", "tests.end_to_end.clients.v1_conversation", where],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'shared'}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("shape", EVENT_SHAPES)
def test_it_drives_the_lambda_handler(shape: str) -> None:
    assert converse(shape) == SEEN | UNASKED


def test_it_talks_to_the_laptop_server() -> None:
    with laptop() as url:
        assert converse(url) == SEEN

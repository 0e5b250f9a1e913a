"""Examples that need words on their command line say so."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize(
    ("script", "usage"),
    [("first-call/ask.py", "usage: ask.py URL TOKEN"), ("orders/model.py", "usage: model.py PORT")],
)
def test_a_script_without_its_words_explains_itself(script: str, usage: str) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(usage)

"""The example prints what its page shows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "tools-in-process"


@pytest.mark.requirement("002.example.two-tools")
def test_the_example_prints_what_its_page_shows() -> None:
    shown = (EXAMPLE / "README.md").read_text(encoding="utf-8").split("```")[1]
    _kind, _command, *expected = shown.strip().splitlines()

    run = subprocess.run(
        [sys.executable, str(EXAMPLE / "tools_in_process.py")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "shared")},
    )

    assert (run.stdout.splitlines(), run.stderr) == (expected, "")

"""In the pipeline a skipped security test is red."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SKIPPED = """
import pytest

nothing = pytest.mark.skipif(True, reason="nothing to look at")


@pytest.mark.security
@nothing
def test_of_security() -> None:
    assert True


@nothing
def test_of_something_else() -> None:
    assert True
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pipeline", "outcome"), [({"NACRE_PIPELINE": "1"}, "1 skipped, 1 error"), ({}, "2 skipped")]
)
def test_a_skipped_security_test_is_red_in_the_pipeline(
    pipeline: dict[str, str], outcome: str, tmp_path: Path
) -> None:
    test = tmp_path / "test_skipped.py"
    test.write_text(SKIPPED)
    given = {key: value for key, value in os.environ.items() if key != "NACRE_PIPELINE"}
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-p", "tests.conftest", "-c", str(ROOT / "pyproject.toml"), str(test)),
        ],
        cwd=ROOT,
        env=given | pipeline,
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome in run.stdout


def test_the_pipeline_says_that_it_is_one() -> None:
    assert "export NACRE_PIPELINE=1" in (ROOT / ".ci" / "run").read_text()

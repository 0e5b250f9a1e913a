"""What a user's type checker accepts and refuses."""

import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "user_types"
REFUSED = CASES / "refused.py.txt"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    from mypy import api

    # Its name hides the file from the checks of this project's own code.
    refused = tmp_path_factory.mktemp("user") / "refused.py"
    refused.write_bytes(REFUSED.read_bytes())
    out, err, _status = api.run(
        [
            "--strict",
            "--no-incremental",
            "--hide-error-context",
            "--no-error-summary",
            "--config-file=",
            f"--python-executable={sys.executable}",
            "--cache-dir=/dev/null",
            str(CASES / "accepted.py"),
            str(refused),
        ]
    )
    assert err == ""
    return out


@pytest.mark.slow
def test_what_works_passes_the_strict_checker(report: str) -> None:
    assert [line for line in report.splitlines() if "accepted.py" in line] == []


def test_what_cannot_work_is_refused_where_it_is_written(report: str) -> None:
    source = REFUSED.read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(source, 1) if "# refused" in line}
    found = {
        int(line.split(":")[1])
        for line in report.splitlines()
        if "refused.py" in line and ": error:" in line
    }

    assert found == marked
    assert len(marked) >= 8

"""Run the attack suite and print its tables: python -m tests.end_to_end.attacks.run [OPTIONS]."""

import sys
from pathlib import Path

import pytest

from tests.end_to_end.attacks.rows import rows_of_tests

ROOT = Path(__file__).parents[3]
WHOLE = ("tests/end_to_end/attacks/", "tests/fuzz/")


def files() -> list[str]:
    """Return the folders and files with tests that carry a row."""
    marked = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if '@attack("' in path.read_text()
    ]
    named = [each.partition("::")[0] for each in rows_of_tests()]
    others = [each for each in dict.fromkeys((*marked, *named)) if not each.startswith(WHOLE)]
    return [*(each for each in WHOLE if any((ROOT / each).glob("test_*.py"))), *others]


def main() -> int:
    """Run what stands in the tables, and what else looks for holes."""
    options = ["-p", "tests.end_to_end.attacks.table", "-m", "not benchmark", *sys.argv[1:]]
    return pytest.main([*options, *files()])


if __name__ == "__main__":
    raise SystemExit(main())

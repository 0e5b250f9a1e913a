"""The tables themselves: every row is carried, and by tests that are there."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.attacks.rows import rows, rows_of_tests

ROOT = Path(__file__).parents[3]


def marked() -> set[str]:
    """Return the rows that tests carry by a mark."""
    texts = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    return set(re.findall(r'^@attack\("([A-Z]\d+)"\)', texts, re.MULTILINE))


def test_every_row_has_a_test_and_every_mark_a_row() -> None:
    elsewhere = {row for carried in rows_of_tests().values() for row in carried}

    assert marked() | elsewhere == set(rows())
    assert not marked() & elsewhere


def test_the_tests_that_stand_elsewhere_are_there() -> None:
    missing = []
    for place in rows_of_tests():
        path, _, name = place.partition("::")
        tree = ast.parse((ROOT / path).read_text())
        if name not in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}:
            missing.append(place)

    assert missing == []


def test_every_row_says_what_has_to_come_of_it() -> None:
    said = [row for row in rows().values() if len(row.attack) > 2 < len(row.expected)]

    assert len(said) == len(rows()) > 100


@pytest.mark.slow
@pytest.mark.parametrize(("chosen", "code"), [((), 1), (("-k", "says"), 0)])
def test_a_run_that_leaves_rows_out_fails_unless_it_was_asked_to(
    chosen: tuple[str, ...], code: int
) -> None:
    some = [f"{Path(__file__)}::test_every_row_says_what_has_to_come_of_it"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-p", "tests.end_to_end.attacks.table", "-m", "not benchmark", *chosen, *some],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, "1 passed" in done.stdout) == (code, True), done.stdout
    assert "R1   NOT RUN" in done.stdout

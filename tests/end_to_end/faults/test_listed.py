"""The page of faults and their tests say the same."""

import ast
from functools import cache

import pytest

from tests.end_to_end.faults.listed import ROOT, listed, rows


@cache
def named_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(each.name for each in tree.body if isinstance(each, ast.FunctionDef))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_fault_says_what_is_expected_and_which_tests_show_it(
    row: tuple[str, str, list[str]],
) -> None:
    _, expected, tests = row

    assert expected
    assert tests
    missing = [test for test in tests if test.split("::")[1] not in named_in(test.split("::")[0])]
    assert missing == []


def test_a_fault_stands_there_once() -> None:
    faults = [fault for fault, *_ in rows()]

    assert len(faults) > 30
    assert len(faults) == len(set(faults))


def test_every_test_of_the_suite_is_named() -> None:
    paths = [
        str(each.relative_to(ROOT)) for each in (ROOT / "tests/end_to_end/faults").glob("test_*.py")
    ]
    own = {
        f"{path}::{name}"
        for path in paths
        if not path.endswith("test_listed.py")
        for name in named_in(path)
        if name.startswith("test_")
    }

    assert own - set(listed()) == set()

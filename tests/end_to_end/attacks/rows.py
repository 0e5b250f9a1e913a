"""The rows of the attack tables, and the mark by which a test carries one."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

FILE = Path(__file__).with_name("rows.yml")

attack = pytest.mark.attack


@dataclass(frozen=True, slots=True)
class Row:
    """An attack, its expected result, and its tests in other suites."""

    id: str
    table: str
    attack: str
    expected: str
    tests: tuple[str, ...] = ()


@cache
def rows() -> dict[str, Row]:
    """Return the rows of all tables by their ids, in their order."""
    by_id: dict[str, Row] = {}
    tables: list[dict[str, Any]] = yaml.safe_load(FILE.read_text())
    for table in tables:
        for fields in table["rows"]:
            row = Row(table=table["table"], **{**fields, "tests": tuple(fields.get("tests", ()))})
            assert row.id not in by_id, row.id
            by_id[row.id] = row
    return by_id


@cache
def rows_of_tests() -> dict[str, tuple[str, ...]]:
    """Return the ids of the rows that tests of other suites cover, by `path::name` of the test."""
    by_test: dict[str, tuple[str, ...]] = {}
    for row in rows().values():
        for test in row.tests:
            by_test[test] = (*by_test.get(test, ()), row.id)
    return by_test

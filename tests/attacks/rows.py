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
    """What somebody tries, what has to come of it, and tests that stand elsewhere."""

    id: str
    table: str
    attack: str
    expected: str
    tests: tuple[str, ...] = ()


@cache
def rows() -> dict[str, Row]:
    """Return the rows of all tables by their ids, in their order."""
    found: dict[str, Row] = {}
    tables: list[dict[str, Any]] = yaml.safe_load(FILE.read_text())
    for table in tables:
        for said in table["rows"]:
            row = Row(table=table["table"], **{**said, "tests": tuple(said.get("tests", ()))})
            assert row.id not in found, row.id
            found[row.id] = row
    return found


@cache
def rows_of_tests() -> dict[str, tuple[str, ...]]:
    """Return the rows that tests elsewhere carry, by `path::name` of the test."""
    found: dict[str, tuple[str, ...]] = {}
    for row in rows().values():
        for test in row.tests:
            found[test] = (*found.get(test, ()), row.id)
    return found

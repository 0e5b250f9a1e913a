"""Marks of the search index that were written before the clock was set back."""

from collections.abc import Iterator
from contextlib import closing
from random import Random

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.index.marks import Marks
from nacre.core.limits import INDEX_GRACE_SECONDS, INDEX_KEEP_SECONDS
from tests.adapters.conftest import StillClock

BEING = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def table(clock: StillClock) -> Iterator[SqliteTable]:
    with closing(SqliteDatabase(":memory:")) as database:
        yield SqliteTable(database, now=clock)


def ids(marks: Marks) -> list[str]:
    return [point for page in marks.all(BEING) for mark in page for point in mark.ids]


def test_what_a_clock_that_was_ahead_left_to_repair_is_repaired_now(
    table: SqliteTable, clock: StillClock
) -> None:
    marks = Marks(table, clock=clock, rng=Random(1))
    clock.move(400 * 86_400)
    table.transact([marks.points_mark(BEING, ["late"])])
    clock.move(-400 * 86_400)

    assert ids(marks) == ["late"]
    assert list(marks.beings()) == [BEING]
    assert [marks.is_abandoned(mark) for page in marks.all(BEING) for mark in page] == [True]


def test_what_is_not_due_yet_still_waits(table: SqliteTable, clock: StillClock) -> None:
    marks = Marks(table, clock=clock, rng=Random(1))
    table.transact([marks.forget_mark(BEING, "e1", seconds=INDEX_KEEP_SECONDS)])
    table.transact([marks.points_mark(BEING, ["new"])])

    assert ids(marks) == ["new"]
    assert list(marks.beings()) == []
    clock.move(INDEX_GRACE_SECONDS + 1)
    assert list(marks.beings()) == [BEING]

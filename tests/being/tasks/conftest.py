"""Tasks over both stores, as a face and a worker meet them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.ports.items.table import Table
from tests.adapters.conftest import StillClock
from tests.being.tasks.worlds import World
from tests.scaffolding.two_stores import clock, stack, table

__all__ = ["clock", "stack", "table"]


@pytest.fixture
def world(table: Table, clock: StillClock, tmp_path: Path) -> Iterator[World]:
    """A server with a worker on the item store of a laptop, and on that of a stack."""
    database = SqliteDatabase(":memory:")
    yield World(table, database, clock, tmp_path)
    database.close()


@pytest.fixture
def laptop(clock: StillClock, tmp_path: Path) -> Iterator[World]:
    """The same on the laptop's alone."""
    from nacre.adapters.sqlite.table import SqliteTable

    database = SqliteDatabase(":memory:")
    yield World(SqliteTable(database, now=clock), database, clock, tmp_path)
    database.close()

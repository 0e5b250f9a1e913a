"""Stores for tests that make their own, such as one for each example of a law."""

from collections.abc import Iterator
from contextlib import contextmanager

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.clock import Clock
from nacre.ports.items.table import Table


@contextmanager
def sqlite_table(clock: Clock) -> Iterator[tuple[Table, SqliteDatabase]]:
    """Open a new store in memory."""
    database = SqliteDatabase(":memory:")
    try:
        yield SqliteTable(database, now=clock), database
    finally:
        database.close()

"""A copy of a store that others go on writing to: its state at one moment, in one file."""

import sqlite3
from contextlib import closing
from pathlib import Path

from nacre.adapters.sqlite_database import SqliteDatabase
from nacre.errors import StoreError

_COUNTED = ("data", "tokens", "messages")


def copy_database(source: Path, target: Path) -> None:
    """Write what the store holds at this moment to a new file, without what was deleted.

    Writers go on meanwhile, and nothing of theirs is in it from then on.
    """
    database = SqliteDatabase(source)
    try:
        with database.read() as connection:
            connection.execute("VACUUM INTO ?", (str(target),))
    finally:
        database.close()
    # The copy is born without a log; a store that has one stays so for good.
    with closing(sqlite3.connect(target)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def count_rows(path: Path) -> dict[str, int]:
    """Read a whole store that nobody else uses; return its counts, or raise StoreError."""
    database = SqliteDatabase(path)
    try:
        if problems := database.problems():
            raise StoreError(f"the store is damaged ({problems[0]}); nothing was kept of it")
        with database.read() as connection:
            return {
                name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608  # fixed names
                for name in _COUNTED
            }
    finally:
        database.close()

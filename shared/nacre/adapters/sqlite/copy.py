"""A copy of a store while others write to it: its state at one moment, in one file."""

import sqlite3
from contextlib import closing
from pathlib import Path

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.core.errors import StoreError, UnavailableError

_COUNTED = ("data", "tokens", "messages")


def copy_database(source: Path, target: Path) -> None:
    """Write the present content of the store to a new file, without deleted rows.

    Writers are not blocked; their later writes are not in the copy.
    """
    database = SqliteDatabase(source)
    try:
        with database.read() as connection:
            _vacuum(connection, target)
    finally:
        database.close()
    # The copy is born without a log; a store that has one stays so for good.
    with closing(sqlite3.connect(target)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def _vacuum(connection: sqlite3.Connection, target: Path) -> None:
    try:
        connection.execute("VACUUM INTO ?", (str(target),))
    except sqlite3.Error as error:
        # The disk of the target is full: a copy writes nothing next to the store.
        if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_FULL:
            raise
        raise UnavailableError(
            f"{target.parent}: the disk is full. A copy of the store takes as much as the store"
            " has. Free some space, or write it elsewhere."
        ) from error


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

"""Finds traces of erased texts in the laptop's store: in rows, and in the pages of its files."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.core.errors import UnavailableError
from nacre.ports.operation.residue import Trace, owner_of

_CHUNK = 1024 * 1024
_PIECE = 48  # bytes of a text that are searched in pages: long texts span several pages
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"


class SqliteResidue:
    """Searches one database file and its log."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def find(self, needles: Sequence[str]) -> Iterator[Trace]:
        """Yield each row that holds one of these texts, or if there is none, the files that do."""
        forms = _forms(needles)
        is_any = False
        with self._database.read() as connection:
            owners = _owners(connection)
            for (table,) in connection.execute(_TABLES).fetchall():
                for trace in _rows(connection, table, forms, owners):
                    is_any = True
                    yield trace
        if not is_any:
            yield from map(Trace, self._in_files(forms))

    def drop_jobs(self, being_id: str) -> None:
        """Remove the jobs of a Being that are in the queue."""
        with self._database.write() as connection:
            connection.execute(
                'DELETE FROM messages WHERE "group" = ? OR "group" LIKE ?',
                (being_id, f"{being_id}#%"),
            )
            connection.execute(
                "DELETE FROM message_repeats WHERE repeat LIKE ? OR repeat LIKE ?",
                (f"{being_id} %", f"{being_id}#%"),
            )

    def settle(self) -> None:
        """Rewrite the file without the content of deleted rows, and empty its log.

        Deleted rows stay in pages until the space is needed. Overwriting them at every delete
        would slow down all writes.
        """
        with self._database.read() as connection:
            connection.execute("VACUUM")
            busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise UnavailableError(
                f"{self._database.path}: another process is reading, so that deleted rows are"
                " still in the file. Stop it, then run the command again."
            )

    def _in_files(self, forms: Sequence[bytes]) -> Iterator[str]:
        if self._database.path == ":memory:":
            return
        path = Path(self._database.path)
        pieces = {form[:_PIECE] for form in forms}
        for file in (path, path.with_name(f"{path.name}-wal")):
            with suppress(FileNotFoundError):
                if _holds(file, pieces):
                    yield f"pages of {file.name}"


def _rows(
    connection: sqlite3.Connection, table: str, forms: Sequence[bytes], owners: dict[int, str]
) -> Iterator[Trace]:
    cursor = connection.execute(f'SELECT * FROM "{table}"')  # noqa: S608  # a name of the schema
    names = [column[0] for column in cursor.description]
    for row in cursor:
        values = [
            value.encode() if isinstance(value, str) else value
            for value in row
            if isinstance(value, str | bytes)
        ]
        if any(form in value for value in values for form in forms):
            columns = dict(zip(names, row, strict=True))
            place = [str(columns[name]) for name in ("pk", "sk", "id") if name in columns]
            owner = owner_of(str(columns.get("pk", ""))) or owners.get(
                columns.get("set_number", -1)
            )
            yield Trace(" ".join([table, *place]), owner)


def _owners(connection: sqlite3.Connection) -> dict[int, str]:
    """Return the Being of each set of points, by its number."""
    try:
        return dict(connection.execute("SELECT number, being_id FROM vector_sets").fetchall())
    except sqlite3.OperationalError:  # nothing was indexed yet
        return {}


def _forms(needles: Sequence[str]) -> list[bytes]:
    """Return the texts as rows hold them: unchanged, and as JSON writes them."""
    forms = {needle.encode() for needle in needles}
    forms |= {json.dumps(needle, ensure_ascii=False)[1:-1].encode() for needle in needles}
    return sorted(form for form in forms if form)


def _holds(file: Path, pieces: set[bytes]) -> bool:
    overlap = max(map(len, pieces), default=1)
    with file.open("rb") as content:
        before = b""
        while chunk := content.read(_CHUNK):
            window = before + chunk
            if any(piece in window for piece in pieces):
                return True
            before = window[-overlap:]
    return False

"""The dead letters of a queue in SQLite: jobs that failed too often."""

from collections.abc import Generator
from datetime import UTC, datetime

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.core.clock import Clock, system_clock
from nacre.ports.operation.dead_letters import DeadLetter

_PAGE = 100
_SELECT = """
SELECT place, id, "group", body, receives, dead_at FROM messages
WHERE queue = ? AND dead_at IS NOT NULL AND place > ? ORDER BY place LIMIT ?
"""
# The copy gets a new place: at the old one it would overtake a running job of its group.
_COPY = """
INSERT INTO messages (queue, id, "group", body, visible_at, receives)
SELECT queue, id, "group", body, ?, 0 FROM messages
WHERE place = ? AND queue = ? AND id = ? AND dead_at IS NOT NULL
"""


class SqliteDeadLetters:
    """The DeadLetters of the queue with this name."""

    def __init__(self, database: SqliteDatabase, name: str, *, now: Clock = system_clock) -> None:
        self._database = database
        self._name = name
        self._clock = now

    def look(self) -> Generator[DeadLetter]:
        """Yield the letters in the order in which they were sent."""
        place = 0
        while True:
            with self._database.read() as connection:
                rows = connection.execute(_SELECT, (self._name, place, _PAGE)).fetchall()
            for place, message_id, group, body, receives, dead_at in rows:
                died_at = datetime.fromtimestamp(dead_at, UTC)
                yield DeadLetter(message_id, group, body, receives, died_at, str(place))
            if len(rows) < _PAGE:
                return

    def send_back(self, letter: DeadLetter) -> bool:
        """Put a letter at the end of its group in the queue; return False if it does not exist."""
        place = int(letter.receipt)
        with self._database.write() as connection:
            now = self._clock().timestamp()
            copied = connection.execute(_COPY, (now, place, self._name, letter.id)).rowcount
            if copied:
                connection.execute("DELETE FROM messages WHERE place = ?", (place,))
        return bool(copied)

    def count(self) -> int:
        """Return the number of letters."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT count(*) FROM messages WHERE queue = ? AND dead_at IS NOT NULL",
                (self._name,),
            ).fetchone()
        return int(row[0])

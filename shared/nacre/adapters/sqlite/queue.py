"""The queue on SQLite."""

import sqlite3
import uuid

from nacre.adapters.input_checks import check_message
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.purging import safe_moment
from nacre.core.clock import Clock, system_clock
from nacre.core.limits import (
    CLOCK_TOLERANCE_SECONDS,
    DEAD_MESSAGE_DAYS,
    JOB_SECONDS,
    MAX_RECEIVES,
    QUEUE_DEDUPE_SECONDS,
)
from nacre.ports.processes import Holders
from nacre.ports.queue import Depth, Message

# A delivery due later than any delivery can last was made before the clock was set back. A message
# that was never delivered is available whatever the clock says.
_FREE = "(receipt IS NULL OR visible_at <= :now OR visible_at > :latest)"
# The first waiting message of each group; later ones must wait for it.
_HEADS = f"""
SELECT place, id, "group", body, receives FROM messages
WHERE place IN (
    SELECT min(place) FROM messages WHERE queue = :queue AND dead_at IS NULL GROUP BY "group"
) AND {_FREE} ORDER BY place LIMIT 1
"""  # noqa: S608  # fixed text
_TAKEN = f"""
SELECT receipt FROM messages WHERE queue = :queue AND dead_at IS NULL AND NOT {_FREE}
"""  # noqa: S608  # fixed text
_COUNTS = f"""
SELECT count(*) FILTER (WHERE dead_at IS NULL AND {_FREE}),
    count(*) FILTER (WHERE dead_at IS NULL AND NOT {_FREE}),
    count(*) FILTER (WHERE dead_at IS NOT NULL) FROM messages WHERE queue = :queue
"""  # noqa: S608  # fixed text
_MINE = "queue = ? AND id = ? AND receipt = ? AND visible_at > ? AND dead_at IS NULL"


class SqliteQueue:
    """A Queue in the database; several queues share it under their names.

    A delivery and a pause last for `visibility` seconds at most. The clock is read inside each
    transaction: a writer must not mistake its wait for a clock that was set back.

    With `holders`, a receipt names the process that took the message, and messages held by a
    process that has certainly ended are redelivered at once.
    """

    def __init__(
        self,
        database: SqliteDatabase,
        name: str,
        *,
        now: Clock = system_clock,
        visibility: float = JOB_SECONDS,
        max_receives: int = MAX_RECEIVES,
        holders: Holders | None = None,
    ) -> None:
        self._database = database
        self._name = name
        self._clock = now
        self._visibility = visibility
        self._max_receives = max_receives
        self._holders = holders

    def send(self, body: str, *, group: str, dedupe_key: str | None = None) -> str:
        """Add a message and return its id."""
        check_message(body, group, dedupe_key)
        message_id = str(uuid.uuid4())
        with self._database.write() as connection:
            now = self._now()
            if dedupe_key is not None:
                earlier = self._remember(connection, group, dedupe_key, message_id, now)
                if earlier is not None:
                    return earlier
            connection.execute(
                'INSERT INTO messages (queue, id, "group", body, visible_at, receives)'
                " VALUES (?, ?, ?, ?, ?, 0)",
                (self._name, message_id, group, body, now),
            )
        return message_id

    def receive(self) -> Message | None:
        """Take the next message that may be worked on; return None if there is none now."""
        with self._database.read() as connection:  # an idle worker does not lock the file
            now = self._now()
            if self._head(connection, now) is None and not self._orphaned_receipts(connection, now):
                return None
        with self._database.write() as connection:
            now = self._now()
            for receipt in self._orphaned_receipts(connection, now):
                connection.execute(
                    "UPDATE messages SET visible_at = ? WHERE queue = ? AND receipt = ?",
                    (now, self._name, receipt),
                )
            while (head := self._head(connection, now)) is not None:
                place, message_id, group, body, receives = head
                if receives < self._max_receives:
                    receipt = self._receipt()
                    connection.execute(
                        "UPDATE messages SET receives = ?, receipt = ?, visible_at = ?"
                        " WHERE place = ?",
                        (receives + 1, receipt, now + self._visibility, place),
                    )
                    return Message(message_id, group, body, receives + 1, receipt)
                self._dead_letter(connection, place, now)
        return None

    def done(self, message: Message) -> None:
        """Remove a message; nothing happens when its receipt is no longer valid."""
        with self._database.write() as connection:
            connection.execute(
                f"DELETE FROM messages WHERE {_MINE}",  # noqa: S608  # fixed text
                (self._name, message.id, message.receipt, self._now()),
            )

    def postpone(self, message: Message, seconds: float) -> None:
        """Deliver the message again after `seconds` from now; 0 is at once."""
        self._pause(message, seconds, receives_to_refund=0)

    def give_back(self, message: Message, seconds: float) -> None:
        """Deliver the message again after `seconds`; this delivery does not count."""
        self._pause(message, seconds, receives_to_refund=1)

    def _pause(self, message: Message, seconds: float, *, receives_to_refund: int) -> None:
        with self._database.write() as connection:
            now = self._now()
            end = now + min(seconds, self._visibility)
            connection.execute(
                f"UPDATE messages SET visible_at = ?, receives = receives - ? WHERE {_MINE}",  # noqa: S608  # fixed text
                (end, receives_to_refund, self._name, message.id, message.receipt, now),
            )

    def depth(self) -> Depth:
        """Count the messages."""
        with self._database.read() as connection:
            row = connection.execute(_COUNTS, self._parameters(self._now())).fetchone()
        return Depth(waiting=row[0], in_flight=row[1], dead=row[2])

    def waiting(self) -> int:
        """Count the messages that wait to be taken."""
        return self.depth().waiting

    def _receipt(self) -> str:
        me = None if self._holders is None else self._holders.me
        return str(uuid.uuid4()) if me is None else f"{uuid.uuid4()} {me}"

    def _orphaned_receipts(self, connection: sqlite3.Connection, now: float) -> list[str]:
        """Return the receipts of deliveries to processes that have ended."""
        if self._holders is None:
            return []
        rows = connection.execute(_TAKEN, self._parameters(now)).fetchall()
        holder_of = {str(receipt): str(receipt).partition(" ")[2] for (receipt,) in rows}
        gone = {name for name in set(holder_of.values()) if name and self._holders.is_gone(name)}
        return [receipt for receipt, name in holder_of.items() if name in gone]

    def _head(
        self, connection: sqlite3.Connection, now: float
    ) -> tuple[int, str, str, str, int] | None:
        row: tuple[int, str, str, str, int] | None
        row = connection.execute(_HEADS, self._parameters(now)).fetchone()
        return row

    def _parameters(self, now: float) -> dict[str, str | float]:
        latest = now + self._visibility + CLOCK_TOLERANCE_SECONDS
        return {"queue": self._name, "now": now, "latest": latest}

    def _remember(
        self,
        connection: sqlite3.Connection,
        group: str,
        dedupe_key: str,
        message_id: str,
        now: float,
    ) -> str | None:
        """Return the id of the message that was sent before under this name, if any."""
        latest = now + QUEUE_DEDUPE_SECONDS + CLOCK_TOLERANCE_SECONDS  # as with deliveries
        connection.execute(
            "DELETE FROM message_repeats WHERE until <= ? OR until > ?", (now, latest)
        )
        key = (self._name, f"{group} {dedupe_key}")  # neither contains a space
        row = connection.execute(
            "SELECT id FROM message_repeats WHERE queue = ? AND repeat = ?", key
        ).fetchone()
        if row is not None:
            return str(row[0])
        connection.execute(
            "INSERT INTO message_repeats (queue, repeat, id, until) VALUES (?, ?, ?, ?)",
            (*key, message_id, now + QUEUE_DEDUPE_SECONDS),
        )
        return None

    def _dead_letter(self, connection: sqlite3.Connection, place: int, now: float) -> None:
        connection.execute("UPDATE messages SET dead_at = ? WHERE place = ?", (now, place))
        safe_now = min(int(now), safe_moment(connection, int(now)))
        connection.execute(
            "DELETE FROM messages WHERE queue = ? AND dead_at <= ?",
            (self._name, safe_now - DEAD_MESSAGE_DAYS * 86400),
        )

    def _now(self) -> float:
        return self._clock().timestamp()

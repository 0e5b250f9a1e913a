"""Rows stored under the hash of a secret: sign-in links, codes, requests, sessions, challenges.

The table never holds the secret itself, and every row expires.
"""

from datetime import datetime

from nacre.access.tokens.token_format import digest
from nacre.ports.items.table import (
    EXPIRES_AT,
    SCHEMA,
    Absent,
    Change,
    Condition,
    Every,
    Item,
    Key,
    Present,
    Table,
)

_SCHEMA_VERSION = 1


class SecretRows:
    """Adds, finds and redeems the rows of one kind of secret."""

    def __init__(self, table: Table, prefix: str, sort_key: str) -> None:
        self._table = table
        self._prefix = prefix
        self._sort_key = sort_key

    def add(self, secret: str, fields: Item, *, until: int) -> Item:
        """Store a new row that expires at `until`, in epoch seconds, and return it."""
        row: Item = {
            **self._key(secret).attributes(),
            SCHEMA: _SCHEMA_VERSION,
            **fields,
            EXPIRES_AT: until,
        }
        self._table.put(row, when=Absent())
        return row

    def get(self, secret: str) -> Item | None:
        """Return the row of a secret, or None."""
        return self._table.get(self._key(secret))

    def redeem(self, secret: str, now: datetime) -> Item:
        """Mark the row as used and return it; it stays until it expires.

        Raises ConditionFailedError when there is no row or it is used already, so of several
        callers at once only one succeeds.
        """
        used = Change(set={"used": int(now.timestamp())})
        unused = Every((Present(), Absent("used")))
        return self._table.update(self._key(secret), used, when=unused)

    def take(self, secret: str, *, when: Condition | None = None) -> Item | None:
        """Remove the row and return it, or None if there was none."""
        return self._table.delete(self._key(secret), when=when)

    def _key(self, secret: str) -> Key:
        return Key(f"{self._prefix}#{digest(secret)}", self._sort_key)

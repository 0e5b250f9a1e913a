"""The log levels of a stack's older clients, kept as items."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from nacre.adapters.aws.log_levels import StoredLogLevels
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.errors import UnavailableError
from nacre.core.limits import LOG_LEVEL_DAYS, LOG_LEVEL_SECONDS
from nacre.ports.items.table import Key, Put

NOW = datetime(2026, 4, 14, tzinfo=UTC)
DAY = 24 * 60 * 60


class Items:
    """A table of this process, read and written as an environment of Lambda does it."""

    def __init__(self) -> None:
        self.now = NOW.timestamp()
        self._table = SqliteTable(
            SqliteDatabase(":memory:"), "data", now=lambda: datetime.fromtimestamp(self.now, UTC)
        )
        self.reads = 0

    def get(self, key: tuple[str, str]) -> Mapping[str, Any] | None:
        self.reads += 1
        return self._table.get(Key(*key))

    def transact(self, writes: list[Put]) -> None:
        self._table.transact(writes)

    def environment(self) -> StoredLogLevels:
        """Return the log levels as another environment sees them."""
        return StoredLogLevels(
            self, self, lambda: datetime.fromtimestamp(self.now, UTC), tick=lambda: self.now
        )


def test_a_choice_counts_in_every_environment() -> None:
    items = Items()
    items.environment().choose("tok_1", "codex/1", "error")
    other = items.environment()

    assert other.chosen("tok_1", "codex/1") == "error"
    assert other.chosen("tok_1", "gemini/1") is None
    assert other.chosen("tok_2", "codex/1") is None


def test_a_level_is_read_again_after_seconds_and_not_before() -> None:
    items = Items()
    here, there = items.environment(), items.environment()
    assert here.chosen("tok_1", "a") is None
    there.choose("tok_1", "a", "debug")

    assert (here.chosen("tok_1", "a"), items.reads) == (None, 1)
    items.now += LOG_LEVEL_SECONDS
    assert here.chosen("tok_1", "a") == "debug"


def test_a_choice_is_forgotten_in_the_end() -> None:
    items = Items()
    items.environment().choose("tok_1", "a", "debug")
    items.now += LOG_LEVEL_DAYS * DAY + 1

    assert items.environment().chosen("tok_1", "a") is None


def test_a_store_that_is_away_costs_log_messages_and_no_call() -> None:
    class Away(Items):
        def get(self, key: tuple[str, str]) -> Mapping[str, Any] | None:
            raise UnavailableError("the table does not answer")

    assert Away().environment().chosen("tok_1", "a") is None

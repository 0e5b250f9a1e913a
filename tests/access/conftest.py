"""A real item store, a clock that stands still until told, and repeatable chance."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from nacre.access.beings import Beings
from nacre.access.owners import Owners
from nacre.access.tokens.store import TokenStore
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.ports.items.table import Table


class Time:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 11, 18, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def pass_(self, **parts: float) -> None:
        self.moment += timedelta(**parts)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def table(tmp_path: Path, time: Time) -> Iterator[Table]:
    database = SqliteDatabase(tmp_path / "nacre.db")
    yield SqliteTable(database, "tokens", now=time)
    database.close()


@pytest.fixture
def tokens(table: Table, time: Time) -> TokenStore:
    return TokenStore(table, clock=time, rng=Random(1))


@pytest.fixture
def beings(table: Table, time: Time) -> Beings:
    return Beings(table, clock=time, rng=Random(2))


@pytest.fixture
def owners(table: Table, time: Time) -> Owners:
    return Owners(table, clock=time)

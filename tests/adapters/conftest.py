"""What the suites of the ports share: a clock that stands still, a fake AWS, both item stores."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.ports.items.table import Table
from tests.scaffolding.aws_stack import Stack, aws_stack


class StillClock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.time = datetime(2026, 7, 28, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def move(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)

    def at(self, seconds: float) -> int:
        """Return a moment from now, in epoch seconds."""
        return int(self.time.timestamp() + seconds)


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with aws_stack() as stack:
        yield stack


@pytest.fixture(params=["sqlite", "dynamodb"])
def table(request: pytest.FixtureRequest, clock: StillClock) -> Iterator[Table]:
    """The item store of a laptop, and that of a stack."""
    if request.param == "dynamodb":
        stack: Stack = request.getfixturevalue("stack")
        yield DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=clock)
        stack.clear("DataTable")
        return
    database = SqliteDatabase(":memory:")
    yield SqliteTable(database, now=clock)
    database.close()

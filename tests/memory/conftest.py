"""A memory on either store, with a clock that stands still."""

from collections.abc import Iterator

import pytest

from nacre.adapters.dynamodb_table import DynamoTable
from nacre.adapters.sqlite_database import SqliteDatabase
from nacre.adapters.sqlite_table import SqliteTable
from tests.adapters.conftest import StillClock
from tests.aws_stack import Stack, aws_stack
from tests.memory.keeping import Keeper, keeper, queue_of


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with aws_stack() as stack:
        yield stack


@pytest.fixture(params=["sqlite", "dynamodb"])
def kept(request: pytest.FixtureRequest, clock: StillClock) -> Iterator[Keeper]:
    """A memory on SQLite and on DynamoDB."""
    database = SqliteDatabase(":memory:")
    queue = queue_of(database, clock)
    if request.param == "dynamodb":
        stack: Stack = request.getfixturevalue("stack")
        yield keeper(DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=clock), queue, clock)
        stack.clear("DataTable")
    else:
        yield keeper(SqliteTable(database, now=clock), queue, clock)
    database.close()


@pytest.fixture
def laptop(clock: StillClock) -> Iterator[Keeper]:
    """A memory on SQLite only, for laws that take many examples."""
    database = SqliteDatabase(":memory:")
    yield keeper(SqliteTable(database, now=clock), queue_of(database, clock), clock)
    database.close()

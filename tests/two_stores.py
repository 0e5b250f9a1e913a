"""The item store of a laptop and that of a stack, with a clock that stands still."""

from collections.abc import Iterator

import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.ports.items.table import Table
from tests.adapters.conftest import StillClock
from tests.aws_stack import Stack, aws_stack


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

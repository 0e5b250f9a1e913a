"""A memory on either store, with a clock that stands still."""

from collections.abc import Iterator

import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, keeper, queue_of
from tests.being.memory.lambda_face import LambdaFace
from tests.being.memory.minds import Minded, builtin, minded
from tests.scaffolding.aws_stack import Stack
from tests.scaffolding.two_stores import clock, stack

__all__ = ["clock", "stack"]


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


@pytest.fixture(params=["laptop", "aws"])
def mind(request: pytest.FixtureRequest, clock: StillClock) -> Iterator[Minded]:
    """A mind on SQLite with the local index, and one on DynamoDB with Qdrant."""
    yield from a_mind(request, clock)


def a_mind(
    request: pytest.FixtureRequest, clock: StillClock, *, llm_base_url: str = ""
) -> Iterator[Minded]:
    """Give a mind on the stores that the fixture's parameter names.

    `lambda` is that of AWS, called by events of an HTTP API.
    """
    embedder, tokens = builtin()
    database = SqliteDatabase(":memory:")
    queue = queue_of(database, clock)
    if request.param != "laptop":
        from qdrant_client import QdrantClient

        from nacre.adapters.qdrant.vectors import QdrantVectors

        stack: Stack = request.getfixturevalue("stack")
        table = DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=clock)
        client = QdrantClient(":memory:")
        made = minded(
            table,
            queue,
            lambda emb_id: QdrantVectors(client, emb_id),
            clock,
            embedder=embedder,
            tokens=tokens,
            llm_base_url=llm_base_url,
        )
        if request.param == "lambda":
            made.face = LambdaFace(made.server)
        yield made
        client.close()
        stack.clear("DataTable")
    else:
        yield minded(
            SqliteTable(database, now=clock),
            queue,
            lambda emb_id: LocalVectors(database, emb_id),
            clock,
            embedder=embedder,
            tokens=tokens,
            llm_base_url=llm_base_url,
        )
    database.close()


@pytest.fixture
def wordy(clock: StillClock) -> Iterator[Minded]:
    """A mind on the laptop that has no vectors."""
    database = SqliteDatabase(":memory:")
    yield minded(
        SqliteTable(database, now=clock),
        queue_of(database, clock),
        lambda emb_id: LocalVectors(database, emb_id),
        clock,
    )
    database.close()

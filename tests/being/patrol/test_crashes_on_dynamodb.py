"""The same on DynamoDB: a patrol that was stopped ends as if nothing had happened."""

from random import Random
from typing import Any

import pytest

from nacre.access.beings import Beings
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.vectors.item_vectors import ItemVectors
from nacre.being.memory.index.cluster_vectors import ClusterMeans
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.repositories import open_repositories
from nacre.being.memory.store.nodes import Nodes
from nacre.being.patrol.patrol import Patrol
from tests.adapters.conftest import StillClock
from tests.being.memory.minds import builtin
from tests.being.patrol.stand_in import StandIn
from tests.being.patrol.worlds import Fuse, FusedQueue, FusedTable, Stopped, World
from tests.scaffolding.aws_stack import Stack

EVERY = 9  # writes, between two that a run is stopped before


def rows(stack: Stack) -> list[Any]:
    items: list[Any] = []
    request: dict[str, Any] = {"TableName": stack.ids["DataTable"]}
    while True:
        answer = stack.dynamodb.scan(**request)
        items += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return sorted(items, key=lambda row: (row["pk"]["S"], row["sk"]["S"]))
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def restore(stack: Stack, content: list[Any]) -> None:
    stack.clear("DataTable")
    for row in content:
        stack.dynamodb.put_item(TableName=stack.ids["DataTable"], Item=row)


def opened(stack: Stack, database: SqliteDatabase, being_id: str | None = None) -> World:
    """Return a world on the table as it is, without a search index beside the items."""
    clock, fuse, rng = StillClock(), Fuse(), Random(7)
    table = FusedTable(DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=clock), fuse)
    if being_id is None:
        being_id = Beings(table, clock=clock, rng=Random(1)).create("Pearl", owner="me").being_id
    embedder, _ = builtin()
    queue = FusedQueue(SqliteQueue(database, "jobs", now=clock), fuse)
    indexing = IndexSync(
        table, lambda emb_id: ItemVectors(table, emb_id), embedder, clock=clock, rng=rng
    )
    means = ClusterMeans(table, Nodes(table, indexing, clock=clock), indexing)
    memory = open_repositories(table, queue, indexing, means, clock=clock, rng=rng)
    patrol = Patrol(table, queue, memory, indexing, clock=clock)
    return World(
        database=database,
        clock=clock,
        being_id=being_id,
        embedder=embedder,
        table=table,
        queue=queue,
        indexing=indexing,
        memory=memory,
        patrol=patrol,
        fuse=fuse,
        planner=StandIn(),
    )


@pytest.mark.slow
def test_stopped_on_dynamodb_it_ends_the_same(stack: Stack) -> None:
    database = SqliteDatabase(":memory:")
    world = opened(stack, database)
    world.note("the cat caught a mouse in the cellar", "the cat caught a mouse in the barn")
    world.note("Bob sold his boat", "Bob sold his boat.", "Eve baked rye bread")
    start = rows(stack)
    unstopped = opened(stack, database, world.being_id)
    assert unstopped.run().counts["merged"] == 2
    expected = rows(stack)

    for number in range(0, unstopped.fuse.writes, EVERY):
        restore(stack, start)
        stopped = opened(stack, database, world.being_id)
        stopped.fuse.stop_before = number
        with pytest.raises(Stopped):
            stopped.run()
        opened(stack, database, world.being_id).run()
        assert rows(stack) == expected, number
    stack.clear("DataTable")
    database.close()

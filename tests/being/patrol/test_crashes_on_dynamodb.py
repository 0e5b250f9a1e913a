"""The same on DynamoDB: a patrol that was stopped ends as if nothing had happened."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from nacre.access.beings import Beings
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.vectors import file_vectors
from nacre.adapters.vectors.item_vectors import ItemVectors
from nacre.being.memory.index.cluster_vectors import ClusterMeans
from nacre.being.memory.index.maintenance import IndexMaintenance
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.repositories import open_repositories
from nacre.being.memory.store.nodes import Nodes
from nacre.being.patrol.patrol import Patrol
from nacre.being.patrol.run import index_updates
from nacre.ports.vectors.vector_index import VectorIndex
from tests.adapters.conftest import StillClock
from tests.being.memory.minds import builtin
from tests.being.patrol.stand_in import StandIn
from tests.being.patrol.worlds import Fuse, FusedQueue, FusedTable, Stopped, World
from tests.scaffolding.aws_stack import Stack
from tests.scaffolding.index_files import files_of

EVERY = 9  # writes, between two that a run is stopped before


def rows(stack: Stack) -> list[Any]:
    """Return every item, but for which file has the points: its name is another each time."""
    items: list[Any] = []
    request: dict[str, Any] = {"TableName": stack.ids["DataTable"]}
    while True:
        answer = stack.dynamodb.scan(**request)
        items += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            others = (row for row in items if row["sk"]["S"] != "INDEX#FILE")
            return sorted(others, key=lambda row: (row["pk"]["S"], row["sk"]["S"]))
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def restore(stack: Stack, content: list[Any]) -> None:
    stack.clear("DataTable")
    for row in content:
        stack.dynamodb.put_item(TableName=stack.ids["DataTable"], Item=row)


def opened(
    stack: Stack,
    database: SqliteDatabase,
    being_id: str | None = None,
    *,
    blobs: Path | None = None,
) -> World:
    """Return a world on the table as it is, with an index in files or in the items themselves."""
    clock, fuse, rng = StillClock(), Fuse(), Random(7)
    table = FusedTable(DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=clock), fuse)
    if being_id is None:
        being_id = Beings(table, clock=clock, rng=Random(1)).create("Pearl", owner="me").being_id
    embedder, _ = builtin()
    queue = FusedQueue(SqliteQueue(database, "jobs", now=clock), fuse)

    def items(emb_id: str) -> VectorIndex:
        return ItemVectors(table, emb_id)

    index = items if blobs is None else files_of(table, blobs, clock)
    indexing = IndexSync(table, index, embedder, clock=clock, rng=rng)
    means = ClusterMeans(table, Nodes(table, indexing), indexing)
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


def in_step(world: World) -> bool:
    """Return whether the index has what the items have."""
    maintenance = IndexMaintenance(world.indexing)
    return maintenance.check(world.being_id).is_in_sync


@pytest.mark.slow
@pytest.mark.parametrize("searched", ["items", "files", "files renewed in the run"])
def test_stopped_on_dynamodb_it_ends_the_same(
    stack: Stack, searched: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if searched == "files renewed in the run":
        for module in (file_vectors, index_updates):
            monkeypatch.setattr(module, "INDEX_FILE_CHANGES", 3)
    database = SqliteDatabase(":memory:")
    blobs = None if searched == "items" else tmp_path
    world = opened(stack, database, blobs=blobs)
    world.note("the cat caught a mouse in the cellar", "the cat caught a mouse in the barn")
    world.note("Bob sold his boat", "Bob sold his boat.", "Eve baked rye bread")
    start = rows(stack)
    unstopped = opened(stack, database, world.being_id, blobs=blobs)
    assert unstopped.run().counts["merged"] == 2
    expected = rows(stack)

    for number in range(0, unstopped.fuse.writes, EVERY):
        restore(stack, start)
        stopped = opened(stack, database, world.being_id, blobs=blobs)
        stopped.fuse.stop_before = number
        with pytest.raises(Stopped):
            stopped.run()
        again = opened(stack, database, world.being_id, blobs=blobs)
        again.run()
        assert rows(stack) == expected, number
        assert in_step(again), number
    stack.clear("DataTable")
    database.close()

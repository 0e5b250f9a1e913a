"""The index of a stack whose Qdrant server goes away and comes back."""

from pathlib import Path

import pytest

from infra.qdrant_server import QdrantServer
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.qdrant.calls import QdrantCalls, connect
from nacre.adapters.qdrant.vectors import QdrantVectors
from nacre.being.memory.index.maintenance import RepairResult
from nacre.core.errors import UnavailableError
from tests.adapters.conftest import StillClock
from tests.being.memory.indexed import Bench, entry
from tests.scaffolding.aws_stack import Stack

pytestmark = pytest.mark.slow


def test_what_is_written_while_the_server_is_down_is_found_once_it_is_repaired(
    tmp_path: Path, stack: Stack, clock: StillClock
) -> None:
    server = QdrantServer(tmp_path)
    server.start()
    try:
        table = DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=clock)
        client = connect(server.url)
        call = QdrantCalls(sleep=lambda _: None)
        bench = Bench(table, lambda emb_id: QdrantVectors(client, emb_id, call=call), clock)
        bench.write(entry("before", "pearl"))
        assert bench.found("pearl") == (["before"], ["before"])

        server.kill()
        bench.write(entry("meanwhile", "pearl"))
        bench.remove("before")
        with pytest.raises(UnavailableError):
            bench.found("pearl")
        assert sorted(bench.marks()) == [("before",), ("meanwhile",)]
        assert bench.failed == [bench.being_id] * 2

        server.start()
        assert bench.upkeep.repair(bench.being_id) == RepairResult(points=2, remaining=0)
        assert bench.found("pearl") == (["meanwhile"], ["meanwhile"])
        assert bench.upkeep.check(bench.being_id).is_in_sync
    finally:
        server.kill()
        stack.clear("DataTable")

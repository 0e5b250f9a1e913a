"""Both wirings for the commands that move and erase: a folder, and a stack with its worker."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import boto3
import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.aws.sqs_queue import SqsQueue
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.index import jobs
from nacre.being.memory.index.sync import Indexing
from nacre.being.memory.repositories import Memory, memory_over
from nacre.core.clock import system_clock
from nacre.jobs.loop import WorkerLoop
from nacre.ports.items.table import Table
from nacre.ports.queue import Queue
from nacre.protocol.http import error_map
from nacre.wiring import aws
from nacre.wiring.data_folder import DATABASE
from nacre.wiring.features.embeddings import embedders
from nacre.wiring.features.index import laptop_index, stack_index
from nacre.wiring.laptop import QUEUE
from nacre.wiring.settings import Settings
from tests.aws_stack import REGION
from tests.being.memory.keeping import Renewals
from tests.cli.conftest import Nacre
from tests.wiring.deployed import deployed, outputs_of


@dataclass(frozen=True)
class World:
    """A store, the options that name it, and the memory that its server has."""

    options: list[str]
    table: Table
    memory: Memory
    indexing: Indexing
    file: Path | None  # of the store, where it has one
    raw: Any = None  # the client of the stack's tables

    @property
    def content(self) -> bytes:
        """Every byte that the store has on this machine, or in its tables."""
        if self.file is not None:
            every = sorted(self.file.parent.glob(f"{self.file.name}*"))
            return b"".join(each.read_bytes() for each in every)
        found = b""
        for name in self.raw.list_tables()["TableNames"]:
            for page in self.raw.get_paginator("scan").paginate(TableName=name):
                found += repr(page["Items"]).encode()
        return found


@contextmanager
def laptop_world(folder: Path, nacre: Nacre, *, embeds: bool = True) -> Iterator[World]:
    from nacre.adapters.sqlite.queue import SqliteQueue

    nacre("owner", "list")  # makes the folder
    database = SqliteDatabase(folder / DATABASE)
    table: Table = SqliteTable(database)
    queue: Queue = SqliteQueue(database, QUEUE)
    settings = Settings(str(folder))
    embedder = embedders(settings).primary if embeds else None
    index = laptop_index(database, queue, embedder, settings, clock=system_clock, rng=Random(1))
    memory = memory_over(
        table, queue, index.indexing, Renewals(), clock=system_clock, rng=Random(2)
    )
    yield World([], table, memory, index.indexing, folder / DATABASE)
    database.close()


@contextmanager
def stack_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Deploy a stack whose worker runs until the block ends."""
    monkeypatch.setattr(jobs, "_POLL_SECONDS", 0.02)
    with deployed(monkeypatch) as stack:
        session = boto3.Session(region_name=REGION)
        outputs = outputs_of(stack)
        dynamodb, sqs = session.client("dynamodb"), session.client("sqs")
        table = DynamoTable(dynamodb, outputs["DataTableName"])
        queue = SqsQueue(sqs, outputs["QueueUrl"], dead_letter_url="")
        settings = Settings(
            "", data_table=outputs["DataTableName"], queue_url=outputs["QueueUrl"], region=REGION
        )
        embedder = embedders(settings).primary
        index = stack_index(table, queue, embedder, settings, clock=system_clock, rng=Random(1))
        memory = memory_over(
            table, queue, index.indexing, Renewals(), clock=system_clock, rng=Random(2)
        )
        loop = WorkerLoop(
            queue, aws.worker(settings, error_map)(), lambda _: None, threads=1, idle_seconds=0.02
        )
        loop.start()
        try:
            yield World(["--stack", stack], table, memory, index.indexing, None, dynamodb)
        finally:
            assert loop.stop(60)

"""Both wirings for the commands that move and erase: a folder, and a stack with its worker."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import boto3
import pytest

from nacre.being.memory.index import jobs
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.repositories import Repositories, open_repositories
from nacre.jobs.loop import WorkerLoop
from nacre.ports.items.table import Table
from nacre.protocol.http import error_map
from nacre.wiring import aws
from nacre.wiring.compose import Home, compose
from nacre.wiring.data_folder import DATABASE
from nacre.wiring.laptop import LaptopPorts
from nacre.wiring.settings import Settings
from tests.being.memory.keeping import Renewals
from tests.cli.conftest import Nacre
from tests.scaffolding.aws_stack import REGION
from tests.wiring.deployed import deployed, outputs_of


@dataclass(frozen=True)
class World:
    """A store, the options that name it, and the memory that its server has."""

    options: list[str]
    table: Table
    memory: Repositories
    indexing: IndexSync
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
    nacre("owner", "list")  # makes the folder
    settings = Settings(str(folder), embeddings="builtin" if embeds else "none")
    home = compose(LaptopPorts(folder), settings)
    yield World([], home.data, _memory(home), home.index.indexing, folder / DATABASE)
    home.close()


def _memory(home: Home) -> Repositories:
    ports = home.ports
    return open_repositories(
        ports.data, ports.queue, home.index.indexing, Renewals(), clock=ports.clock, rng=Random(2)
    )


@contextmanager
def stack_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Deploy a stack whose worker runs until the block ends."""
    monkeypatch.setattr(jobs, "_POLL_SECONDS", 0.02)
    with deployed(monkeypatch) as stack:
        session = boto3.Session(region_name=REGION)
        outputs = outputs_of(stack)
        settings = Settings(
            "", data_table=outputs["DataTableName"], queue_url=outputs["QueueUrl"], region=REGION
        )
        home = compose(aws.worker_ports(settings), settings)
        worker = home.worker(error_map)
        loop = WorkerLoop(home.ports.queue, worker, lambda _: None, threads=1, idle_seconds=0.02)
        loop.start()
        try:
            indexing = home.index.indexing
            raw = session.client("dynamodb")
            yield World(["--stack", stack], home.data, _memory(home), indexing, None, raw)
        finally:
            assert loop.stop(60)

"""Two processes at one Being: who waits begins as soon as the other has ended."""

import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.clock import system_clock
from nacre.jobs.job import Job, encode_job
from nacre.jobs.lease import Leases
from nacre.jobs.loop import WorkerLoop
from nacre.jobs.worker import Worker
from nacre.ports.items.table import Key

_KEY = Key("B#b1", "LOCK#PATROL")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "nacre.db"


def test_a_waiting_job_of_a_running_worker_begins_soon_after_the_holder_ends(path: Path) -> None:
    with closing(SqliteDatabase(path)) as here, closing(SqliteDatabase(path)) as there:
        other = Leases(SqliteTable(there), now=system_clock)
        lease = other.take(_KEY)  # by another process, which has 300 s from now
        begun, busy = threading.Event(), threading.Event()
        worker = Worker(Leases(SqliteTable(here), now=system_clock))
        worker.register("patrol", lambda _: begun.set(), lease="PATROL")
        queue = SqliteQueue(here, "q")
        loop = WorkerLoop(
            queue, worker, lambda outcome: busy.set() if outcome.result == "busy" else None
        )
        queue.send(encode_job(Job("patrol", "b1")), group="b1")
        loop.start()
        try:
            assert busy.wait(60)
            assert not begun.is_set()
            other.give_back(lease)
            freed = time.monotonic()

            assert begun.wait(60)
            assert time.monotonic() - freed < 30
        finally:
            loop.stop(60)

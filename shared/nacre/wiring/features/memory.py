"""The mind behind a server's memory tools, made by the first call that needs it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nacre.core.clock import Clock

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.adapters.sqlite.database import SqliteDatabase
    from nacre.being.memory.services import Mind
    from nacre.being.patrol.setup import Patrolling
    from nacre.jobs.lease import Leases
    from nacre.jobs.worker import Worker
    from nacre.ports.items.table import Table
    from nacre.ports.queue import Queue
    from nacre.wiring.features.index import SearchIndex
    from nacre.wiring.settings import Settings

T = TypeVar("T")


class Once(Generic[T]):
    """What is made at the first call, however many threads call."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._guard = Lock()
        self._made: list[T] = []

    @property
    def is_made(self) -> bool:
        """Whether it was made."""
        return bool(self._made)

    def __call__(self) -> T:
        """Return it."""
        with self._guard:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]


@dataclass(frozen=True, slots=True)
class Minded:
    """A mind, the index that it searches, and the patrols that tend it."""

    mind: "Mind"
    index: "SearchIndex"
    # Few calls need it.
    patrolling: "Callable[[], Patrolling]"


def laptop_mind(
    database: "SqliteDatabase",
    queue: "Callable[[], Queue]",
    settings: "Settings",
    clock: Clock,
    *,
    leases: "Callable[[], Leases]",
    key_file: "Path",
) -> Callable[[], Minded]:
    """Return what makes the mind over a database on this machine."""

    def make() -> Minded:
        calm_numpy()
        from random import SystemRandom

        from nacre.adapters.sqlite.table import SqliteTable
        from nacre.being.memory.services import mind_over
        from nacre.wiring.features.embeddings import embedders
        from nacre.wiring.features.index import laptop_index

        rng = SystemRandom()
        chosen = embedders(settings)
        table: Table = SqliteTable(database, "data", now=clock)
        jobs = queue()
        index = laptop_index(database, jobs, chosen.primary, settings, clock=clock, rng=rng)
        mind = mind_over(table, jobs, index.indexing, chosen.tokens, clock=clock, rng=rng)

        def patrolling() -> "Patrolling":
            from nacre.being.patrol.setup import patrolling_over
            from nacre.wiring.features.models import laptop_thinkers

            thinkers = laptop_thinkers(database, key_file, settings, clock)
            return patrolling_over(
                mind.memory, table, jobs, index.indexing, thinkers, leases(), clock=clock
            )

        return Minded(mind, index, Once(patrolling))

    return Once(make)


def stack_mind(
    clients: Callable[[], Callable[[str], Any]], settings: "Settings", clock: Clock
) -> Callable[[], Minded]:
    """Return what makes the mind over a stack; `clients` gives what opens an AWS service."""

    def make() -> Minded:
        calm_numpy()
        from random import SystemRandom

        from nacre.adapters.aws.dynamodb.table import DynamoTable
        from nacre.adapters.aws.sqs_queue import SqsQueue
        from nacre.being.memory.services import mind_over
        from nacre.wiring.features.embeddings import embedders
        from nacre.wiring.features.index import stack_index, stack_secret

        rng = SystemRandom()
        client = clients()
        chosen = embedders(settings, key=lambda: stack_secret(client, settings.embedding_secret))
        table: Table = DynamoTable(client("dynamodb"), settings.data_table)
        # Nothing here takes messages, so none can be given up.
        jobs: Queue = SqsQueue(client("sqs"), settings.queue_url, dead_letter_url="")
        index = stack_index(
            table,
            jobs,
            chosen.primary,
            settings,
            clock=clock,
            rng=rng,
            key=lambda: stack_secret(client, settings.qdrant_secret),
        )
        mind = mind_over(table, jobs, index.indexing, chosen.tokens, clock=clock, rng=rng)

        def patrolling() -> "Patrolling":
            from nacre.being.patrol.setup import patrolling_over
            from nacre.jobs.lease import Leases
            from nacre.wiring.features.models import stack_thinkers

            thinkers = stack_thinkers(lambda: client, settings, clock)
            leases = Leases(table, now=clock)
            return patrolling_over(
                mind.memory, table, jobs, index.indexing, thinkers, leases, clock=clock
            )

        return Minded(mind, index, Once(patrolling))

    return Once(make)


def register_memory_jobs(worker: "Worker", minded: Minded, *, stack: str = "") -> None:
    """Let a worker know what there is to do for memories; `stack` counts what sweeps find."""
    from nacre.jobs import sweep

    minded.index.jobs.register(worker, minded.index.upkeep)
    minded.patrolling().jobs.register(worker)
    worker.register(sweep.KIND, lambda _: sweep_memories(minded, stack=stack))


def sweep_memories(minded: Minded, *, stack: str = "") -> None:
    """Send jobs for what no call has queued, or what was lost."""
    from nacre.core.metrics import INDEX_DRIFT, PATROL_BACKLOG, PATROL_LAG, count

    drifting = minded.index.jobs.sweep(minded.index.indexing.marks)
    swept = minded.patrolling().jobs.sweep()
    found = {
        PATROL_LAG: round(swept.lag_seconds),
        PATROL_BACKLOG: swept.beings,
        INDEX_DRIFT: drifting,
    }
    count(stack, "sweep", found)


def calm_numpy() -> None:
    """Let numpy work in the calling thread: its own threads cost more than a search is worth.

    They are made when it loads, so this comes before.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")

"""Patrols as a whole: those that a worker runs, and those that a caller asks for."""

from dataclasses import dataclass

from nacre.clock import Clock
from nacre.jobs.lease import Leases
from nacre.memory.indexing import Indexing
from nacre.memory.memory import Memory
from nacre.patrol.calls import PatrolCalls
from nacre.patrol.jobs import PatrolJobs
from nacre.patrol.patrol import patrol_over
from nacre.patrol.thinkers import Thinkers
from nacre.ports.queue import Queue
from nacre.ports.table import Table


@dataclass(frozen=True, slots=True)
class Patrolling:
    """Both sides of the queue."""

    jobs: PatrolJobs
    calls: PatrolCalls


def patrolling_over(
    memory: Memory,
    table: Table,
    queue: Queue,
    indexing: Indexing,
    thinkers: Thinkers,
    leases: Leases,
    *,
    clock: Clock,
) -> Patrolling:
    """Return the patrols of the Beings that these stores hold."""
    patrol = patrol_over(memory, table, queue, indexing, clock=clock)
    return Patrolling(
        PatrolJobs(patrol, table, queue, thinkers, memory.trigger, clock),
        PatrolCalls(table, memory.history, memory.trigger, leases, thinkers),
    )

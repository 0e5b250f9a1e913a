"""Patrols as a whole: those that a worker runs, and those that a caller asks for."""

from dataclasses import dataclass

from nacre.being.memory.index.sync import Indexing
from nacre.being.memory.repositories import Memory
from nacre.being.patrol.jobs import PatrolJobs
from nacre.being.patrol.patrol import patrol_over
from nacre.being.patrol.planning.model_choice import Thinkers
from nacre.being.patrol.trigger import PatrolCalls
from nacre.core.clock import Clock
from nacre.jobs.lease import Leases
from nacre.ports.items.table import Table
from nacre.ports.queue import Queue


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

"""Tasks: the requests of clients, and the jobs of a worker."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from nacre.being.tasks.client_requests import TaskQueue, TaskRequests
from nacre.being.tasks.store import TaskStore
from nacre.being.tasks.stored_call import TaskContents
from nacre.core.clock import Clock

if TYPE_CHECKING:
    from nacre.jobs.lease import Leases
    from nacre.jobs.worker import Worker
    from nacre.ports.blobs import Blobs
    from nacre.ports.items.table import Table
    from nacre.ports.queue import Queue
    from nacre.ports.untrusted_results import UntrustedResults
    from nacre.ports.vault import Vault
    from nacre.protocol.application_rules import Explainer
    from nacre.protocol.surface import ToolSource


class TaskParts:
    """The tasks of one store: `requests` serves clients, `register` lets a worker do them."""

    def __init__(
        self,
        table: "Table",
        queue: "Callable[[], Queue]",
        leases: "Callable[[], Leases]",
        clock: Clock,
        *,
        blobs: "Callable[[], Blobs]",
        vault: "Callable[[], Vault]",
        received: "Callable[[], UntrustedResults]",
    ) -> None:
        from random import SystemRandom

        self._store = TaskStore(table, TaskContents(blobs), vault, clock, SystemRandom())
        self._queue = TaskQueue(queue)
        self._leases = leases
        self._received = received
        self.requests = TaskRequests(self._store, self._queue, leases, received)

    def register(
        self, worker: "Worker", surface: "Callable[[], ToolSource]", rules: "Explainer"
    ) -> None:
        """Let a worker do tasks, on the surface that their callers reach."""
        from nacre.being.tasks.jobs import TaskJobs

        jobs = TaskJobs(self._store, self._queue, self._leases(), surface, rules, self._received)
        jobs.register(worker)

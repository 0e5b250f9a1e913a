"""Tasks on both wirings: where they are kept, and who does them; made when first needed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nacre.clock import Clock
from nacre.wiring.mind import Once

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.jobs.lease import Leases
    from nacre.jobs.worker import Worker
    from nacre.ports.blobs import Blobs
    from nacre.ports.queue import Queue
    from nacre.ports.table import Table
    from nacre.ports.vault import Vault
    from nacre.protocol.rulebook import Explainer
    from nacre.protocol.surface import ToolSource
    from nacre.tasks.desk import TaskDesk
    from nacre.wiring.settings import Settings


@dataclass(frozen=True, slots=True)
class Tasking:
    """What tasks are kept in."""

    table: "Table"
    queue: "Callable[[], Queue]"
    leases: "Callable[[], Leases]"
    blobs: "Callable[[], Blobs]"
    vault: "Callable[[], Vault]"
    clock: Clock

    def desk(self) -> "TaskDesk":
        """Return what callers meet."""
        from nacre.tasks.desk import TaskDesk

        store, sending = self._parts()
        return TaskDesk(store, sending, self.leases)

    def register(
        self, worker: "Worker", surface: "Callable[[], ToolSource]", rules: "Explainer"
    ) -> None:
        """Let a worker know how tasks are done, on the surface that their callers reach."""
        from nacre.tasks.jobs import TaskJobs

        store, sending = self._parts()
        TaskJobs(store, sending, self.leases(), surface, rules).register(worker)

    def _parts(self) -> Any:
        from random import SystemRandom

        from nacre.tasks.contents import Contents
        from nacre.tasks.sending import TaskSending
        from nacre.tasks.store import TaskStore

        store = TaskStore(self.table, Contents(self.blobs), self.vault, self.clock, SystemRandom())
        return store, TaskSending(self.queue)


def laptop_tasking(
    table: "Callable[[], Table]",
    queue: "Callable[[], Queue]",
    leases: "Callable[[], Leases]",
    clock: Clock,
    *,
    blobs: "Callable[[], Blobs]",
    key_file: "Path",
) -> Callable[[], Tasking]:
    """Return what makes the tasks of a data folder."""

    def make() -> Tasking:
        from nacre.wiring.thinking import file_vault

        return Tasking(table(), queue, leases, blobs, file_vault(key_file), clock)

    return Once(make)


def stack_tasking(
    clients: "Callable[[], Callable[[str], Any]]", settings: "Settings", clock: Clock
) -> Callable[[], Tasking]:
    """Return what makes the tasks of a stack; `clients` gives what opens an AWS service."""

    def make() -> Tasking:
        from nacre.adapters.dynamodb_table import DynamoTable
        from nacre.wiring.thinking import kms_vault

        client = clients()
        table = DynamoTable(client("dynamodb"), settings.data_table)

        def queue() -> "Queue":
            from nacre.adapters.sqs_queue import SqsQueue

            return SqsQueue(client("sqs"), settings.queue_url, dead_letter_url="")

        def leases() -> "Leases":
            from nacre.jobs.lease import Leases

            return Leases(table, now=clock)

        def blobs() -> "Blobs":
            from nacre.adapters.s3_blobs import S3Blobs

            settings.require("bucket")
            return S3Blobs(client("s3"), settings.bucket, kms_key_id=settings.key_arn)

        return Tasking(
            table,
            Once(queue),
            Once(leases),
            Once(blobs),
            kms_vault(client, settings.key_arn),
            clock,
        )

    return Once(make)

"""Tasks on both wirings: where they are kept, and who does them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nacre.being.tasks.client_requests import TaskDesk
from nacre.being.tasks.contents import Contents
from nacre.being.tasks.store import TaskStore
from nacre.being.tasks.task_queue import TaskSending
from nacre.core.clock import Clock
from nacre.wiring.features.memory import Once

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.jobs.lease import Leases
    from nacre.jobs.worker import Worker
    from nacre.ports.blobs import Blobs
    from nacre.ports.items.table import Table
    from nacre.ports.queue import Queue
    from nacre.ports.vault import Vault
    from nacre.protocol.application_rules import Explainer
    from nacre.protocol.surface import ToolSource
    from nacre.wiring.settings import Settings


class Tasking:
    """The tasks of one store: `desk` is what callers meet, `register` has a worker do them."""

    def __init__(
        self,
        table: "Table",
        queue: "Callable[[], Queue]",
        leases: "Callable[[], Leases]",
        clock: Clock,
        *,
        blobs: "Callable[[], Blobs]",
        vault: "Callable[[], Vault]",
    ) -> None:
        from random import SystemRandom

        self._store = TaskStore(table, Contents(blobs), vault, clock, SystemRandom())
        self._sending = TaskSending(queue)
        self._leases = leases
        self.desk = TaskDesk(self._store, self._sending, leases)

    def register(
        self, worker: "Worker", surface: "Callable[[], ToolSource]", rules: "Explainer"
    ) -> None:
        """Let a worker know how tasks are done, on the surface that their callers reach."""
        from nacre.being.tasks.jobs import TaskJobs

        jobs = TaskJobs(self._store, self._sending, self._leases(), surface, rules)
        jobs.register(worker)


def laptop_tasking(
    table: "Table",
    queue: "Callable[[], Queue]",
    leases: "Callable[[], Leases]",
    clock: Clock,
    *,
    blobs: "Callable[[], Blobs]",
    key_file: "Path",
) -> Tasking:
    """Return the tasks of a data folder."""
    from nacre.wiring.features.models import file_vault

    return Tasking(
        table, Once(queue), Once(leases), clock, blobs=Once(blobs), vault=file_vault(key_file)
    )


def stack_tasking(client: "Callable[[str], Any]", settings: "Settings", clock: Clock) -> Tasking:
    """Return the tasks of a stack; `client` opens an AWS service."""
    from nacre.adapters.aws.dynamodb.table import DynamoTable
    from nacre.wiring.features.models import kms_vault

    table = DynamoTable(client("dynamodb"), settings.data_table)

    def queue() -> "Queue":
        from nacre.adapters.aws.sqs_queue import SqsQueue

        return SqsQueue(client("sqs"), settings.queue_url, dead_letter_url="")

    def leases() -> "Leases":
        from nacre.jobs.lease import Leases

        return Leases(table, now=clock)

    def blobs() -> "Blobs":
        from nacre.adapters.aws.s3_blobs import S3Blobs

        settings.require("bucket")
        return S3Blobs(client("s3"), settings.bucket, kms_key_id=settings.key_arn)

    vault = kms_vault(client, settings.key_arn)
    return Tasking(table, Once(queue), Once(leases), clock, blobs=Once(blobs), vault=vault)

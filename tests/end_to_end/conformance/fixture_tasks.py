"""Fixtures that are long work, and what keeps and does them."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from nacre import Context, ToolError, ToolResult, ToolServer, tool
from nacre.adapters.files.blobs import FileBlobs
from nacre.adapters.files.vault import FileVault
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.tasks.client_requests import TaskRequests
from nacre.core.clock import Clock, system_clock
from nacre.core.errors import InvalidParamsError
from nacre.jobs.lease import Leases
from nacre.jobs.loop import WorkerLoop
from nacre.jobs.notifying_queue import AnnouncingQueue, JobSignal
from nacre.jobs.worker import Worker
from nacre.ports.untrusted_results import NoUntrustedResults
from nacre.protocol.http import error_map
from nacre.protocol.surface import ToolSource
from nacre.wiring.features.tasks import TaskParts
from tests.end_to_end.conformance.fixture_questions import NAME, elicit, field
from tests.scaffolding.lambda_events import BEING

_WORKERS = 12  # the suite leaves some work of a minute behind


@tool(name="greet")
async def greet(name: str) -> str:
    """Greets, at once."""
    return f"Hello, {name}!"


@tool(name="slow_compute", task="optional")
async def slow_compute(seconds: float, label: str = "") -> str:
    """Takes so many seconds."""
    await asyncio.sleep(seconds)
    return f"Computed {label} in {seconds} seconds"


@tool(name="failing_job", task="required")
async def failing_job() -> str:
    """Fails after a moment."""
    await asyncio.sleep(0.2)
    raise ToolError("This job always fails")


@tool(name="protocol_error_job", task="required")
async def protocol_error_job() -> str:
    """Ends with a protocol error."""
    raise InvalidParamsError("This job always ends with a protocol error")


@tool(name="confirm_delete", task="required")
async def confirm_delete(filename: str, context: Context) -> str:
    """Deletes a file when somebody agrees."""
    question = elicit(f"Delete {filename}?", {"confirm": {"type": "boolean"}})
    answer = (await context.ask({"confirm": question}))["confirm"]
    return f"Deleted {filename}" if field(answer, "confirm") else f"Kept {filename}"


@tool(name="multi_input", task="required")
async def multi_input(context: Context) -> str:
    """Asks two things at once."""
    confirm = elicit("Sure?", {"confirm": {"type": "boolean"}})
    answers = await context.ask({"name": NAME, "confirm": confirm})
    return f"{field(answers['name'], 'name')}: {field(answers['confirm'], 'confirm')}"


@tool(name="test_tool_with_task")
async def with_task(context: Context) -> ToolResult:
    """Asks for a name first, and goes on as a task."""
    name = field((await context.ask({"user_name": NAME}))["user_name"], "name")
    await context.as_task(required=True)
    return ToolResult.text(f"Hello, {name}, after a while")


def register_tasks(server: ToolServer) -> None:
    """Add the fixtures."""
    for fixture in (
        greet,
        slow_compute,
        failing_job,
        protocol_error_job,
        confirm_delete,
        multi_input,
        with_task,
    ):
        server.register_tool(fixture)


def resting_tasks(clock: Clock) -> Callable[[], TaskRequests]:
    """Keep tasks that nobody does."""
    database = SqliteDatabase(":memory:")
    table = SqliteTable(database, "data", now=clock)
    table.put({"pk": f"B#{BEING}", "sk": "META", "schema": 1})
    folder = Path("/nowhere")  # small calls without a key need neither
    tasks = TaskParts(
        table,
        lambda: SqliteQueue(database, "jobs", now=clock),
        lambda: Leases(table, now=clock),
        clock,
        blobs=lambda: FileBlobs(folder),
        vault=lambda: FileVault(folder),
        received=NoUntrustedResults,
    )
    return lambda: tasks.requests


@contextmanager
def tasks_of(surface: ToolSource) -> Iterator[Callable[[], TaskRequests]]:
    """Keep tasks in a folder of their own, and do them, until the block ends."""
    with TemporaryDirectory() as name:
        folder, signal = Path(name), JobSignal()
        database = SqliteDatabase(folder / "tasks.db")
        table = SqliteTable(database, "data")
        table.put({"pk": f"B#{BEING}", "sk": "META", "schema": 1})
        leases = Leases(table, now=system_clock)
        queue = AnnouncingQueue(SqliteQueue(database, "jobs"), signal)
        tasks = TaskParts(
            table,
            lambda: queue,
            lambda: leases,
            system_clock,
            blobs=lambda: FileBlobs(folder / "blobs"),
            vault=lambda: FileVault(folder / "vault.key"),
            received=NoUntrustedResults,
        )
        worker = Worker(leases)
        tasks.register(worker, lambda: surface, error_map)
        loop = WorkerLoop(queue, worker, lambda _: None, threads=_WORKERS, idle_seconds=0.1)
        signal.on_job = loop.wake
        loop.start()
        try:
            yield lambda: tasks.requests
        finally:
            loop.stop(60)
            database.close()

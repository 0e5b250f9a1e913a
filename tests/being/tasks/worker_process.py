"""A laptop's worker that can be killed: `python -m tests.being.tasks.worker_process FOLDER`.

One of its tools writes a line for each attempt and takes a minute at the first, the other one
takes steps.
"""

import asyncio
import sys
import threading
import time
from pathlib import Path

from nacre import Context, tool
from nacre.adapters.files.blobs import FileBlobs
from nacre.adapters.files.vault import FileVault
from nacre.adapters.processes import Processes
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.clock import system_clock
from nacre.jobs.lease import Leases
from nacre.jobs.loop import WorkerLoop
from nacre.jobs.worker import Worker
from nacre.ports.untrusted_results import NoUntrustedResults
from nacre.protocol.http import error_map
from nacre.sdk.tool_server import ToolServer
from nacre.wiring.features.tasks import TaskParts


def server(folder: Path) -> ToolServer:
    """Return a server with the tool."""
    small = ToolServer("small", "1")

    @small.register_tool
    @tool(task="required", blocking=True)
    async def writes(context: Context) -> str:
        """Writes a line for each attempt."""
        assert context.task is not None
        attempts = [*context.task.notes.get("seen", []), context.task.attempt]
        with (folder / "attempts").open("a") as file:
            file.write(f"{context.task.attempt} {context.llm_api_key}\n")
        context.task.keep({"seen": attempts})
        if len(attempts) == 1:
            time.sleep(60)
        return f"attempts {attempts}"

    @small.register_tool
    @tool(task="required")
    async def steps(many: int, context: Context) -> str:
        """Takes so many steps, each noted, and an attempt for every two."""
        assert context.task is not None
        for number in range(context.task.notes.get("done", 0), many):
            await asyncio.sleep(0.01)
            context.task.keep({"done": number + 1})
            with (folder / "steps").open("a") as file:
                file.write(".")
            if number % 2:
                context.task.go_on_later()
        return f"{context.task.notes['done']} steps"

    return small


class Place:
    """The tasks of a folder, as the laptop keeps them, and a loop that does them."""

    def __init__(self, folder: Path) -> None:
        self.database = SqliteDatabase(folder / "nacre.db")
        self.table = SqliteTable(self.database, "data")
        queue = SqliteQueue(self.database, "jobs", holders=Processes())
        leases = Leases(self.table, now=system_clock, holders=Processes())
        tasks = TaskParts(
            self.table,
            lambda: queue,
            lambda: leases,
            system_clock,
            blobs=lambda: FileBlobs(folder / "blobs"),
            vault=lambda: FileVault(folder / "vault.key"),
            received=NoUntrustedResults,
        )
        self.requests = tasks.requests
        worker = Worker(leases)
        tasks.register(worker, lambda: server(folder), error_map)
        self.loop = WorkerLoop(queue, worker, lambda _: None, threads=3, idle_seconds=0.02)


if __name__ == "__main__":
    Place(Path(sys.argv[1])).loop.start()
    threading.Event().wait()

"""A laptop's worker that can be killed: `python -m tests.tasks.worker_process FOLDER`.

Its one tool writes a line for each attempt, and takes a minute at the first.
"""

import sys
import threading
import time
from pathlib import Path

from nacre import Context, tool
from nacre.adapters.file_blobs import FileBlobs
from nacre.adapters.file_vault import FileVault
from nacre.adapters.processes import Processes
from nacre.adapters.sqlite_database import SqliteDatabase
from nacre.adapters.sqlite_queue import SqliteQueue
from nacre.adapters.sqlite_table import SqliteTable
from nacre.clock import system_clock
from nacre.faces import error_map
from nacre.jobs.lease import Leases
from nacre.jobs.loop import WorkerLoop
from nacre.jobs.worker import Worker
from nacre.tools.server import ToolServer
from nacre.wiring.tasking import Tasking


def server(folder: Path) -> ToolServer:
    """Return a server with the tool."""
    small = ToolServer("small", "1")

    @small.register_tool
    @tool(task="required", blocking=True)
    async def writes(context: Context) -> str:
        """Writes a line for each attempt."""
        assert context.task is not None
        seen = [*context.task.notes.get("seen", []), context.task.attempt]
        with (folder / "attempts").open("a") as file:
            file.write(f"{context.task.attempt} {context.llm_api_key}\n")
        context.task.keep({"seen": seen})
        if len(seen) == 1:
            time.sleep(60)
        return f"attempts {seen}"

    return small


def tasking(folder: Path) -> tuple[SqliteDatabase, Tasking]:
    """Return the tasks of a folder, as the laptop keeps them."""
    database = SqliteDatabase(folder / "nacre.db")
    table = SqliteTable(database, "data")
    queue = SqliteQueue(database, "jobs", holders=Processes())
    leases = Leases(table, now=system_clock, holders=Processes())
    return database, Tasking(
        table,
        lambda: queue,
        lambda: leases,
        lambda: FileBlobs(folder / "blobs"),
        lambda: FileVault(folder / "vault.key"),
        system_clock,
    )


def loop_of(folder: Path, tasks: Tasking) -> WorkerLoop:
    """Return a loop that does the folder's jobs."""
    worker = Worker(tasks.leases())
    tasks.register(worker, lambda: server(folder), error_map)
    return WorkerLoop(tasks.queue(), worker, lambda _: None, threads=1, idle_seconds=0.02)


if __name__ == "__main__":
    loop_of(Path(sys.argv[1]), tasking(Path(sys.argv[1]))[1]).start()
    threading.Event().wait()

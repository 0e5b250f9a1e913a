"""A small server whose calls may go on as tasks: what a client sends it, and a worker's turns."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from nacre.adapters.files.blobs import FileBlobs
from nacre.adapters.files.vault import FileVault
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.being.tasks.client_requests import TaskQueue, TaskRequests
from nacre.being.tasks.jobs import TaskJobs
from nacre.being.tasks.store import TaskStore
from nacre.being.tasks.stored_call import TaskContents
from nacre.being.tasks.task import partition
from nacre.core.coroutines import Looper, step
from nacre.core.limits import TASK_SECONDS
from nacre.faces.mcp_endpoint import Rules
from nacre.jobs.lease import Leases
from nacre.jobs.loop import Outcome, WorkerLoop
from nacre.jobs.worker import Worker
from nacre.ports.items.table import Item, Table
from nacre.ports.queue import Queue
from nacre.ports.untrusted_results import NoUntrustedResults
from nacre.protocol.caller import Caller, Peer
from nacre.protocol.context import Channel, Silence
from nacre.protocol.dispatch.methods import Dispatcher
from nacre.protocol.dispatch.request_state import RequestStates, SigningKeys
from nacre.protocol.http import error_map
from nacre.protocol.messages import Answer, Request
from nacre.protocol.principal import FULL, Principal
from nacre.protocol.surface import Surface
from nacre.protocol.versions import MODERN, TASKS
from nacre.sdk.decorator import FunctionTool
from nacre.sdk.tool_server import ToolServer
from tests.adapters.conftest import StillClock
from tests.scaffolding.lambda_events import BEING

CALLER = Principal("tok_1", BEING, FULL)
TAKES: dict[str, Any] = {"extensions": {TASKS: {}}, "elicitation": {}}
KEY = "sk-of-the-caller-0123456789"


class World:
    """A server, its tasks, and a worker that does one job when it is told to."""

    def __init__(
        self, table: Table, database: SqliteDatabase, clock: StillClock, folder: Path
    ) -> None:
        self.table, self.clock = table, clock
        self.server = ToolServer("small", "1")
        self.queue: Queue = SqliteQueue(database, "jobs", now=clock)
        self.blobs = FileBlobs(folder / "blobs", now=clock)
        vault = FileVault(folder / "vault.key")
        self.store = TaskStore(
            table, TaskContents(lambda: self.blobs), lambda: vault, clock, Random(7)
        )
        self.leases = Leases(table, now=clock)
        self.task_queue = TaskQueue(lambda: self.queue)
        self.requests = TaskRequests(
            self.store, self.task_queue, lambda: self.leases, NoUntrustedResults
        )
        self.outcomes: list[Outcome] = []
        self.caller = Caller(MODERN, CALLER, Peer(TAKES), KEY)
        self.serve(self.server)
        table.put({"pk": f"B#{BEING}", "sk": "META", "schema": 1})

    def serve(self, surface: Surface) -> None:
        """Have clients and the worker reach this surface from now on."""
        keys = SigningKeys(b"k" * 32)
        self.surface = surface
        self.dispatcher = Dispatcher(
            surface,
            rules=Rules(),
            states=RequestStates(lambda: keys, self.clock),
            tasks=lambda: self.requests,
        )

    def add(self, tool: FunctionTool[Any, Any]) -> None:
        """Offer a tool."""
        self.server.register_tool(tool)

    def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        caller: Caller | None = None,
        channel: Channel | None = None,
    ) -> dict[str, Any]:
        """Send a request; return what it is answered, result and error alike."""
        begun = self.dispatcher.begin(Request(1, method, dict(params)), caller or self.caller)
        if not isinstance(begun, Answer):
            running = begun.run(channel or Silence())
            begun = step(running) if begun.blocking else Looper().run(running)
        return dict(json.loads(begun.body))

    def call(self, tool: str, *, caller: Caller | None = None, **arguments: Any) -> dict[str, Any]:
        """Call a tool; return its result."""
        params = {"name": tool, "arguments": arguments}
        return dict(self.ask("tools/call", params, caller=caller)["result"])

    def begin(self, tool: str, **arguments: Any) -> str:
        """Call a tool that goes on as a task; return the task's id."""
        return str(self.call(tool, **arguments)["taskId"])

    def get(self, task_id: str) -> dict[str, Any]:
        """Look at a task."""
        return dict(self.ask("tasks/get", {"taskId": task_id})["result"])

    def code(self, method: str, task_id: str, *, caller: Caller | None = None) -> int:
        """Return the code of the error that a request about a task meets."""
        return int(self.ask(method, {"taskId": task_id}, caller=caller)["error"]["code"])

    def by(self, principal: Principal) -> Caller:
        """Return the same client with another token."""
        return replace(self.caller, principal=principal)

    def work(self, **options: Any) -> bool:
        """Do one job; False when there is none."""
        return self.loop(**options).run_next()

    def loop(self, *, seconds: float = TASK_SECONDS) -> WorkerLoop:
        """Return a worker's loop."""
        worker = Worker(self.leases)
        jobs = TaskJobs(
            self.store,
            self.task_queue,
            self.leases,
            lambda: self.surface,
            error_map,
            NoUntrustedResults,
            seconds=seconds,
            every=0.01,
        )
        jobs.register(worker)
        return WorkerLoop(
            self.queue, worker, self.outcomes.append, idle_seconds=0.01, retry_seconds=0
        )

    def items(self) -> list[Item]:
        """Return the stored items of tasks."""
        return list(self.table.query(partition(BEING)).items)

    def kinds(self) -> list[str]:
        """Return which kinds of items the store holds of tasks."""
        return sorted(str(item["sk"]).partition("#")[0] for item in self.items())

    def blob_files(self) -> list[Path]:
        """Return the blobs on the disk."""
        folder = self.blobs._folder
        return [path for path in folder.rglob("*") if path.is_file()]


def text_of(result: Mapping[str, Any]) -> str:
    """Return the text of a result with one."""
    return str(result["content"][0]["text"])

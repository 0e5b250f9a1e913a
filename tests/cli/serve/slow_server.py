"""`nacre serve` with a slow tool and a slow job beside its own.

slow_server.py FOLDER [ARGUMENT ...]   the arguments are those of `nacre`

Each makes the file FOLDER/call or FOLDER/job when it runs, and ends once FOLDER/go is there.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nacre import tool
from nacre.being import application
from nacre.being.memory.services import MemoryServices
from nacre.being.tools.registered_tools import own_server
from nacre.cli.main import main
from nacre.core.clock import Clock
from nacre.jobs.worker import Work, Worker
from nacre.sdk.tool_server import ToolServer
from nacre.wiring.features import memory
from nacre.wiring.features.memory import register_memory_jobs

FOLDER = Path(sys.argv[1])


def wait_until_told(what: str) -> None:
    """Say that something runs, and wait."""
    (FOLDER / what).touch()
    while not (FOLDER / "go").exists():
        time.sleep(0.02)


@tool(blocking=True)
async def wait() -> str:
    """Answer when told to."""
    wait_until_told("call")
    return "waited"


def slow_server(mind: Callable[[], MemoryServices], clock: Clock, **others: Any) -> ToolServer:
    """Return a Being's server, with the slow tool."""
    server = own_server(mind, clock, **others)
    server.register_tool(wait)
    return server


def work(_: Work) -> None:
    """Be done when told to."""
    wait_until_told("job")


def register_jobs(worker: Worker, *parts: Any, **others: Any) -> None:
    """Know the product's jobs, and the slow one."""
    register_memory_jobs(worker, *parts, **others)
    worker.register("wait", work)


vars(application).update(being_server=slow_server)
vars(memory).update(register_memory_jobs=register_jobs)
main(sys.argv[2:])

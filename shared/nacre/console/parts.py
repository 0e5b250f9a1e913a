"""The parts of the owner's pages, in the portal function and in the laptop server.

The pages are imported when they are added: they would double what the portal function loads at
its start, and OAuth clients need none of them.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING

from nacre.core.clock import Clock
from nacre.core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from fastapi import FastAPI

    from nacre.being.language_model.api_keys import LlmKeys
    from nacre.being.memory.erase.eraser import Eraser
    from nacre.being.memory.services import MemoryServices
    from nacre.being.patrol.trigger import PatrolRequests
    from nacre.gateway.login.logins import Logins
    from nacre.gateway.servers.config import ServerList
    from nacre.gateway.servers.references import References
    from nacre.ports.audit import AuditRecords
    from nacre.ports.items.table import Table


@dataclass(frozen=True, slots=True)
class Console:
    """The parts of the memory pages; each is created once, when a page first needs it."""

    table: "Callable[[], Table]"
    memory_services: "Callable[[], MemoryServices]"
    eraser: "Callable[[], Eraser]"
    # The command that exports the Being {being}, and the size limit of an answer in bytes.
    export_command: str = "nacre export FILE --being {being}"
    largest_answer: int | None = None
    # The command line that serves the Being {being} over stdio to a client on this machine;
    # empty if there is none.
    stdio: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Control:
    """The parts of the control pages; each is created when a page first needs it."""

    clock: Clock
    rng: Random
    table: "Callable[[], Table]"
    patrols: "Callable[[], PatrolRequests]"
    keys: "Callable[[], LlmKeys]"
    records: "Callable[[str], AuditRecords]"  # by a Being's id
    servers: "Callable[[], Mapping[str, ServerList]]"  # by where they are configured
    logins: "Callable[[], Logins]"  # of owners to those servers
    references: "Callable[[], References]"  # in the configuration of servers
    own_tools: Callable[[], Sequence[str]]
    # The name and text of the policy file that overrides pushed policies, if there is one.
    policy_file: Callable[[], tuple[str, str] | None] = lambda: None
    # On a laptop, proxies write to the same audit log without a Being.
    is_laptop: bool = True


def memory_pages(parts: Console) -> "Callable[[FastAPI], None]":
    """Return a function that adds the memory pages to the portal."""

    def add(app: "FastAPI") -> None:
        from nacre.console.pages import MEMORY_ROUTES  # noqa: PLC0415

        app.state.console = parts
        for router in MEMORY_ROUTES:
            app.routes.extend(router.routes)  # as `portal_app` does

    return add


def control_pages(parts: Control) -> "Callable[[FastAPI], None]":
    """Return a function that adds the control pages to the portal."""

    def add(app: "FastAPI") -> None:
        from nacre.console.pages import CONTROL_ROUTES  # noqa: PLC0415

        app.state.control = parts
        for router in CONTROL_ROUTES:
            app.routes.extend(router.routes)  # as `portal_app` does

    return add

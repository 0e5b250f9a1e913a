"""The sources of other servers: a file, and a user's own packages."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.gateway.catalogue.event_loops import OwnLoops
    from nacre.gateway.catalogue.snapshot import LocalServers
    from nacre.gateway.servers.config import ServerList
    from nacre.wiring.features.policies import Tell
    from nacre.wiring.ports import Ports
    from nacre.wiring.settings import Settings

_MAX_REFERENCE = 200  # characters shown of a reference


def no_other_servers(ports: "Ports", settings: "Settings") -> "Callable[[], bool]":
    """Return a function that tells, without loading the gateway, that no server is configured.

    On a stack it always returns False, because each check would cost a request.
    """

    @cache
    def has_own_servers() -> bool:
        from nacre.adapters.tool_servers import announced

        return bool(settings.servers_file or settings.tool_servers or next(announced(), None))

    def has_no_servers() -> bool:
        from nacre.gateway.servers.store import ServerStore

        if ports.is_stack or has_own_servers():
            return False
        return not ServerStore(lambda: ports.data).entries()

    return has_no_servers


def server_file(settings: "Settings") -> "Callable[[], ServerList]":
    """Return the function that reads the server file, and reads it again after a change."""
    from pathlib import Path

    from nacre.core.errors import ConfigurationError
    from nacre.gateway.servers.config import Problem, ServerList, read_servers

    if not settings.servers_file:
        return ServerList
    path = Path(settings.servers_file).expanduser()
    last_read: list[tuple[tuple[int, int], ServerList]] = []

    def read() -> ServerList:
        try:
            stat = path.stat()
            version = (stat.st_mtime_ns, stat.st_size)
            if not last_read or last_read[0][0] != version:
                text = path.read_text("utf-8-sig")
                last_read[:] = [(version, read_servers(text, source=path.name))]
        except (OSError, UnicodeDecodeError, ConfigurationError) as error:
            reason = str(error) if isinstance(error, ConfigurationError) else "cannot be read"
            return ServerList((), (Problem(path.name, reason),))
        return last_read[0][1]

    return read


def server_lists(ports: "Ports", settings: "Settings") -> "dict[str, ServerList]":
    """Return the configured servers by source: the server file first, then the stored ones."""
    from pathlib import Path

    from nacre.gateway.servers.store import SOURCE, ServerStore

    stored = ServerStore(lambda: ports.data).load()
    if ports.is_stack or not settings.servers_file:
        return {SOURCE: stored}
    return {Path(settings.servers_file).name: server_file(settings)(), SOURCE: stored}


def reloaded_servers(settings: "Settings", tell: "Tell") -> "Callable[[], LocalServers]":
    """Return the function that loads a user's own servers, and loads them again after a change."""
    from pathlib import Path
    from threading import Lock

    loops = cache(_own_loops)
    places = [reference.rpartition(":")[0] for reference in settings.tool_servers]
    files = [Path(place).expanduser() for place in places if place.endswith(".py")]
    loading = Lock()
    last_load: list[tuple[list[tuple[int, int] | None], LocalServers]] = []

    def version(path: Path) -> tuple[int, int] | None:
        try:
            stat = path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size

    def read() -> "LocalServers":
        versions = [version(path) for path in files]
        with loading:
            if not last_load or last_load[0][0] != versions:
                last_load[:] = [(versions, own_servers(settings, tell, loops=loops))]
            return last_load[0][1]

    return read


def own_servers(
    settings: "Settings", tell: "Tell", *, loops: "Callable[[], OwnLoops] | None" = None
) -> "LocalServers":
    """Load a user's own servers.

    `tell` gets the reason for each server or definition that is left out.
    """
    import re

    from nacre.adapters.tool_servers import announced, load
    from nacre.core.errors import NacreError
    from nacre.firewall.rules.globs.glob import regex
    from nacre.gateway.catalogue.in_process import InProcessServer
    from nacre.gateway.catalogue.own_code_errors import is_ctrl_c
    from nacre.gateway.catalogue.snapshot import LocalServers
    from nacre.gateway.qualified_names import server_name
    from nacre.gateway.servers.config import Problem

    servers: dict[str, InProcessServer] = {}
    problems: list[Problem] = []
    references = [*settings.tool_servers, *announced()]
    for reference in dict.fromkeys(references):
        try:
            server = load(reference)
            name = server_name(server.name)
            in_process = InProcessServer(name, server, loops=loops() if loops else None)
            in_process.offered()
            left_out = server.left_out
        except NacreError as error:
            problems.append(Problem(_shown(reference), str(error)))
            tell(f"tools: {error}")
        except BaseException as error:
            if is_ctrl_c(error):
                raise
            problems.append(Problem(_shown(reference), "could not be loaded; the log says why"))
            tell(f"tools: '{_shown(reference)}' could not be loaded ({_reason(error)})")
        else:
            if name in servers:
                duplicate = Problem(name, "there are two servers of this name")
                problems.append(duplicate)
                tell(f"tools: '{_shown(reference)}' is left out: {duplicate.text} ({name})")
                continue
            servers[name] = in_process
            for definition, problem in left_out.items():
                text = f"the {definition} is left out"
                problems.append(Problem(name, f"{text}; the log says why"))
                tell(f"tools: {name}: {text} ({_reason(problem)})")
    patterns = [re.compile(regex(pattern), re.DOTALL) for pattern in settings.read_tools]
    return LocalServers(
        tuple(servers.values()),
        tuple(problems),
        lambda tool: any(pattern.fullmatch(tool) for pattern in patterns),
    )


def _own_loops() -> "OwnLoops":
    # Imported here, because it is only needed for a user's own servers.
    from nacre.gateway.catalogue.event_loops import OwnLoops

    return OwnLoops()


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _shown(reference: str) -> str:
    """Return a reference for lists; a long one is cut at its start, where paths are alike."""
    return reference if len(reference) <= _MAX_REFERENCE else f"…{reference[1 - _MAX_REFERENCE :]}"

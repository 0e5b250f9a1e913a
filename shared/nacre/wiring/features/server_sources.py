"""Where the servers behind ours come from: a file, and a user's own packages."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.gateway.catalogue.event_loops import OwnLoops
    from nacre.gateway.catalogue.snapshot import Locals
    from nacre.gateway.servers.config import ServerList
    from nacre.wiring.settings import Settings

Tell = Callable[[str], None]
_LONGEST = 200  # characters of a reference


def server_file(settings: "Settings") -> "Callable[[], ServerList]":
    """Return what reads the file of servers, again when it has changed."""
    from pathlib import Path

    from nacre.core.errors import ConfigurationError
    from nacre.gateway.servers.config import Problem, ServerList, read_servers

    if not settings.servers_file:
        return ServerList
    path = Path(settings.servers_file).expanduser()
    known: list[tuple[tuple[int, int], ServerList]] = []

    def read() -> ServerList:
        try:
            stat = path.stat()
            version = (stat.st_mtime_ns, stat.st_size)
            if not known or known[0][0] != version:
                text = path.read_text("utf-8-sig")
                known[:] = [(version, read_servers(text, source=path.name))]
        except (OSError, UnicodeDecodeError, ConfigurationError) as error:
            reason = str(error) if isinstance(error, ConfigurationError) else "cannot be read"
            return ServerList((), (Problem(path.name, reason),))
        return known[0][1]

    return read


def reloaded_servers(settings: "Settings", tell: Tell) -> "Callable[[], Locals]":
    """Return what loads a user's own servers, again when one of their files has changed."""
    from pathlib import Path
    from threading import Lock

    from nacre.wiring.features.memory import Once

    loops = Once(_own_loops)
    places = [reference.rpartition(":")[0] for reference in settings.tool_servers]
    files = [Path(place).expanduser() for place in places if place.endswith(".py")]
    loading = Lock()
    known: list[tuple[list[tuple[int, int] | None], Locals]] = []

    def version(path: Path) -> tuple[int, int] | None:
        try:
            stat = path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size

    def read() -> "Locals":
        versions = [version(path) for path in files]
        with loading:
            if not known or known[0][0] != versions:
                known[:] = [(versions, own_servers(settings, tell, loops=loops))]
            return known[0][1]

    return read


def own_servers(
    settings: "Settings", tell: Tell, *, loops: "Callable[[], OwnLoops] | None" = None
) -> "Locals":
    """Load a user's own servers; `tell` hears why one, or one of its definitions, is left out."""
    import re

    from nacre.adapters.tool_servers import announced, load
    from nacre.core.errors import NacreError
    from nacre.firewall.rules.globs.glob import regex
    from nacre.gateway.catalogue.in_process import InProcess
    from nacre.gateway.catalogue.own_code_errors import is_ctrl_c
    from nacre.gateway.catalogue.snapshot import Locals
    from nacre.gateway.qualified_names import server_name
    from nacre.gateway.servers.config import Problem

    servers: dict[str, InProcess] = {}
    problems: list[Problem] = []
    references = [*settings.tool_servers, *announced()]
    for reference in dict.fromkeys(references):
        try:
            server = load(reference)
            name = server_name(server.name)
            own = InProcess(name, server, loops=loops() if loops else None)
            own.offered()
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
                problem = Problem(name, "there are two servers of this name")
                problems.append(problem)
                tell(f"tools: '{_shown(reference)}' is left out: {problem.text} ({name})")
                continue
            servers[name] = own
            for definition, wrong in left_out.items():
                text = f"the {definition} is left out"
                problems.append(Problem(name, f"{text}; the log says why"))
                tell(f"tools: {name}: {text} ({_reason(wrong)})")
    patterns = [re.compile(regex(pattern), re.DOTALL) for pattern in settings.read_tools]
    return Locals(
        tuple(servers.values()),
        tuple(problems),
        lambda tool: any(pattern.fullmatch(tool) for pattern in patterns),
    )


def _own_loops() -> "OwnLoops":
    # Without a server of the user's own, none of what this imports is needed.
    from nacre.gateway.catalogue.event_loops import OwnLoops

    return OwnLoops()


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _shown(reference: str) -> str:
    """Return a reference as it is named in lists: its end tells two long paths apart."""
    return reference if len(reference) <= _LONGEST else f"…{reference[1 - _LONGEST :]}"

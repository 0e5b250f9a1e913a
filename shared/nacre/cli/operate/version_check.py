"""The check of doctor whether running servers were started from the program that is installed."""

import sys
from collections.abc import Iterator
from pathlib import Path

from nacre.cli.being_options import Place
from nacre.cli.operate.finding import Finding
from nacre.cli.program_state import difference
from nacre.cli.service.service import manager_of_this_machine, outdated_service
from nacre.cli.wrap.client_config import command_to_type
from nacre.core.errors import ConflictError
from nacre.wiring.server_registry import running_servers

_CHECK = "running version"


def check_running_versions(place: Place) -> Iterator[Finding]:
    """Check each server on this data folder: one from before an upgrade has to be restarted."""
    servers = running_servers(Path(place.folder()).expanduser().absolute())
    service, advice = _service()
    for server in servers:
        problem = difference(server.program)
        if not problem:
            yield Finding(_CHECK, "ok", f"the server at {server.url} runs this program")
        elif server.process == service:
            yield Finding(_CHECK, "warn", f"the service at {server.url}: {problem}", advice)
        else:
            restart = f"stop it, then run: {command_to_type('serve', *place.options())}"
            yield Finding(_CHECK, "warn", f"the server at {server.url}: {problem}", restart)


def _service() -> tuple[int | None, str]:
    """Return the process of the service, and what to do if its program is another one."""
    if sys.platform == "win32":  # where Nacre installs none
        return None, ""
    manager = manager_of_this_machine()
    try:
        definition = manager.installed()
    except ConflictError:  # which the check of the service reports
        return None, ""
    if definition is None:
        return None, ""
    return manager.process(), outdated_service(manager, definition)[1]

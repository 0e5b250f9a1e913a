"""The check of doctor about the service that starts the server with this machine."""

import sys
from collections.abc import Iterator
from pathlib import Path

from nacre.cli.being_options import Place
from nacre.cli.operate.finding import Finding
from nacre.cli.service.service import manager_of_this_machine, ports_of_clients, url_of

_AGAIN = "run 'nacre service install' again"


def check_service(place: Place) -> Iterator[Finding]:
    """Check whether the service runs this data folder on the port that clients have."""
    if sys.platform == "win32":  # where Nacre installs none
        return
    manager = manager_of_this_machine()
    definition = manager.installed()
    if definition is None:
        yield Finding(
            "service", "ok", "none; 'nacre service install' starts the server with this machine"
        )
        return
    program, folder = definition.command[0], definition.value_of("--data-dir")
    if not Path(program).exists():
        yield Finding("service", "fail", f"it starts {program}, which is not there", _AGAIN)
        return
    if Path(folder) != Path(place.folder()).expanduser().absolute():
        yield Finding("service", "warn", f"it serves another folder, {folder}", _AGAIN)
    port = definition.value_of("--port")
    others = {str(other) for other in ports_of_clients(place)} - {port}
    if others:
        problem = f"it listens on port {port}, but clients have {', '.join(sorted(others))}"
        yield Finding("service", "warn", problem, f"{_AGAIN} with --port, or connect them again")
    state = manager.state()
    if state == "running":
        yield Finding("service", "ok", f"it runs at {url_of(definition)}/mcp")
    elif state == "starting":
        problem = "it is starting, or it fails and starts again"
        yield Finding("service", "warn", problem, manager.log_command)
    elif state == "unknown":
        yield Finding("service", "warn", "the system does not say whether it runs")
    else:
        yield Finding("service", "fail", "it is installed and does not run", manager.log_command)

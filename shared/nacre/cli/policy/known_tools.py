"""The known tools of servers, from a file or from the pins of this machine."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nacre.cli.being_options import Place
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.firewall.pins import GLOBAL, Pins
from nacre.wiring.data_folder import DATABASE

Definitions = dict[str, list[dict[str, Any]]]


def pinned_definitions(place: Place) -> Definitions:
    """Return the definitions of every server that has listed its tools."""
    if not place.stack and not (Path(place.folder()) / DATABASE).exists():
        return {}
    pins = Pins(place.open().data, GLOBAL)
    return {
        server: [
            {**json.loads(pin.waiting_definition or pin.trusted_definition or "{}"), "name": name}
            for name, pin in sorted(pins.of(server).items())
        ]
        for server in pins.servers()
    }


def definitions_in(path: Path) -> Definitions:
    """Return the tools of each server in a JSON file: names, or definitions of `tools/list`."""
    try:
        servers = json.loads(path.read_bytes())
    except OSError as error:
        raise NotFoundError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{path}: is not JSON ({error})") from error
    if not isinstance(servers, Mapping) or not all(
        isinstance(tools, list) and all(map(_is_tool, tools)) for tools in servers.values()
    ):
        raise InvalidInputError(
            f'{path}: must be an object of lists; write {{"server": ["tool", "tool"]}}, or the '
            "definitions from tools/list instead of the names"
        )
    return {
        server: [{"name": tool} if isinstance(tool, str) else tool for tool in tools]
        for server, tools in servers.items()
    }


def _is_tool(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, dict) and isinstance(value.get("name"), str)
    )

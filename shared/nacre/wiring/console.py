"""The parts that the owner's console works on, over the features of a deployment."""

from functools import cache
from typing import TYPE_CHECKING, Any

from nacre.console.parts import Console, Control

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nacre.wiring.compose import Home
    from nacre.wiring.settings import Settings


def console_parts(home: "Home", options: str = "", stdio: "Sequence[str]" = ()) -> Console:
    """Return the parts of the pages about memories; each is opened at its first use.

    `options` are those with which a command reaches the same data folder, `stdio` serves one of
    its Beings to a client that starts programs.
    """
    from nacre.core.limits import LAMBDA_MEDIA_BYTES

    place = "--stack NAME" if home.ports.is_stack else options
    return Console(
        table=lambda: home.data,
        memory_services=lambda: home.memory_services,
        eraser=lambda: home.eraser,
        export_command=f"nacre export FILE --being {{being}} {place}".strip(),
        largest_answer=LAMBDA_MEDIA_BYTES if home.ports.is_stack else None,
        stdio=tuple(stdio),
    )


def control_parts(home: "Home") -> Control:
    """Return the parts of the pages about control; each is opened at its first use."""
    from nacre.wiring.features.server_sources import server_lists
    from nacre.wiring.features.servers import references_of

    ports = home.ports
    return Control(
        clock=ports.clock,
        rng=ports.rng,
        table=lambda: home.data,
        patrols=lambda: home.patrol_calls,
        keys=lambda: home.llm_keys,
        records=ports.records,
        servers=lambda: server_lists(ports, home.settings),
        logins=lambda: home.logins,
        references=lambda: references_of(ports),
        own_tools=own_tools,
        policy_file=lambda: None if ports.is_stack else policy_file(home.settings),
        is_laptop=not ports.is_stack,
    )


@cache
def own_tools() -> tuple[str, ...]:
    """Return the names of a Being's own tools."""
    from nacre.being.application import being_server

    def nobody() -> Any:
        raise AssertionError("no tool is called")

    return tuple(str(tool["name"]) for tool in being_server(nobody, patrols=nobody).tools())


def policy_file(settings: "Settings") -> tuple[str, str] | None:
    """Return the name and the text of the policy file, or None if there is none."""
    from nacre.wiring.features.policies import policy_path

    path, _ = policy_path(settings)
    try:
        return path.name, path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return None

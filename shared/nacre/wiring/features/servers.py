"""Opening other servers: their connections, their secrets, and the machine they run on."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from nacre.core.lazy_dataclasses import replace

if TYPE_CHECKING:
    from nacre.adapters.mcp.event_loop import UpstreamLoop
    from nacre.adapters.mcp.stdio_transport import Confine
    from nacre.adapters.screening.process_pool import ScreeningProcesses
    from nacre.firewall.confine.confined_server import ConfinedStart
    from nacre.firewall.entry.server_messages import ServerMessages
    from nacre.firewall.rules.rule import Surroundings
    from nacre.gateway.calls.external_server import ExternalServer
    from nacre.gateway.calls.owner_logins import OwnerLogins
    from nacre.gateway.calls.relayed_request import RequestRelay
    from nacre.gateway.login.bearer import LoginBearer
    from nacre.gateway.servers.config import ServerConfig
    from nacre.gateway.servers.references import References
    from nacre.wiring.ports import Ports
    from nacre.wiring.settings import Settings


def references_of(ports: "Ports") -> "References":
    """Return where servers get their secrets: the deployment, and on a laptop the environment."""
    from nacre.gateway.servers.references import References

    environment = None if ports.is_stack else os.environ
    return References(lambda name: ports.secrets.get(name), environment)


def one_server(
    config: "ServerConfig", ports: "Ports", settings: "Settings", bearer: "LoginBearer | None"
) -> "tuple[ExternalServer, Callable[[], None]]":
    """Return one server, whose offers can be listed, and the function that closes it."""
    from nacre.adapters.mcp.event_loop import UpstreamLoop
    from nacre.gateway.calls.external_server import ExternalServer
    from nacre.gateway.calls.relayed_request import RequestRelay

    loop = UpstreamLoop()

    def nobody() -> Any:
        raise AssertionError("nobody is asked anything")

    connect = _connecting(ports, settings, references_of(ports), loop)
    external = ExternalServer(
        config,
        lambda config: connect(config, bearer, lambda: None),
        RequestRelay(nobody, None),
        bearer=bearer,
    )

    def close() -> None:
        external.close()
        loop.close()

    return external, close


def server_opener(
    ports: "Ports",
    settings: "Settings",
    references: "References",
    messages: "Callable[[], ServerMessages]",
    logins: "OwnerLogins",
) -> "Callable[[ServerConfig, str | None, Callable[[], None]], ExternalServer]":
    """Return the function that opens servers; the first one loads the official client."""

    @cache
    def shared() -> "tuple[Callable[..., Any], RequestRelay]":
        from nacre.adapters.mcp.event_loop import UpstreamLoop
        from nacre.gateway.calls.relayed_request import ParkedCalls, RequestRelay

        # On AWS the next round of a call may reach another environment.
        parked = None if ports.is_stack else ParkedCalls(ports.rng)
        connect = _connecting(ports, settings, references, UpstreamLoop())
        return connect, RequestRelay(messages, parked)

    lock = Lock()

    def opened(
        config: "ServerConfig", owner: str | None, changed: Callable[[], None]
    ) -> "ExternalServer":
        from nacre.gateway.calls.external_server import CircuitBreaker, ExternalServer

        with lock:  # one event loop, however many threads open servers
            connect, relay = shared()
        bearer = logins.bearer(config, owner)
        return ExternalServer(
            config,
            lambda config: connect(config, bearer, changed),
            relay,
            CircuitBreaker(config.name, chance=ports.rng.random),
            bearer=bearer,
        )

    return opened


def _connecting(
    ports: "Ports", settings: "Settings", references: "References", loop: "UpstreamLoop"
) -> Callable[..., Any]:
    def screening() -> "ScreeningProcesses":
        assert ports.screening is not None
        return ports.screening

    def connect(
        config: "ServerConfig", bearer: "LoginBearer | None", changed: Callable[[], None]
    ) -> Any:
        from nacre.adapters.mcp.transports import Transports
        from nacre.adapters.mcp.upstream import McpUpstream
        from nacre.core.limits import STACK_OPEN_SECONDS
        from nacre.http_client.public_addresses import networks
        from nacre.wiring.outgoing import outgoing_of

        is_stack = ports.is_stack
        transports = Transports(
            references,
            is_stack=is_stack,
            allowed=networks(settings.private_networks),
            reading=None if is_stack else screening,
            bearer=bearer,
            confine=None if is_stack else partial(_confine, ports, settings, references),
            outgoing=outgoing_of(settings),
        )
        seconds = min(config.timeout, ports.upstream_seconds or config.timeout)
        if is_stack:
            # A function that is frozen between calls sends no pings.
            open_timeout = min(config.open_timeout, STACK_OPEN_SECONDS)
            config = replace(config, open_timeout=open_timeout, keep_alive=0.0)
        return McpUpstream(config, loop, transports, seconds=seconds, changed=changed)

    return connect


def _confine(
    ports: "Ports", settings: "Settings", references: "References", config: "ServerConfig"
) -> "Confine":
    """Return the function that starts a server with the rights of this machine's rules."""

    def start(line: Sequence[str], environment: Mapping[str, str], cwd: str) -> "ConfinedStart":
        from nacre.wiring.features.policies import laptop_policies, to_stderr

        assert ports.confine is not None
        policy = laptop_policies(ports, settings, to_stderr).current()
        where = surroundings(references)(config)
        return ports.confine(
            settings, policy, config, line, where, environment=environment, cwd=cwd
        )

    return start


def surroundings(
    references: "References", *, is_stack: bool = False
) -> "Callable[[ServerConfig], Surroundings]":
    """Return the function that gives the facts about each server's machine.

    For a stack all servers are elsewhere, so only what their owner declares is known.
    """
    from pathlib import Path

    from nacre.core.errors import NacreError
    from nacre.firewall.rules.arguments.base_folders import declared
    from nacre.firewall.rules.rule import NOWHERE
    from nacre.wiring.this_machine import at_url, on_this_machine, with_command_bases

    def where(config: "ServerConfig") -> "Surroundings":
        facts = NOWHERE
        try:
            is_program = config.kind == "stdio" and not is_stack
            if not is_stack:
                facts = on_this_machine() if is_program else at_url(references.filled(config.url))
            folders = [references.filled(folder) for folder in config.base]
            if folders and is_program:
                words = [references.filled(part) for part in (config.command, *config.args)]
                cwd = references.filled(config.cwd) or str(Path.cwd())
                folders = with_command_bases(folders, words, cwd)
            return declared(facts, folders, f"'{config.name}': 'base'")
        except NacreError:
            return facts  # one folder that cannot be read leaves all of them unknown

    return where

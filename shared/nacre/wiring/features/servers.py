"""What opens the servers behind ours, and where each gets its secrets."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nacre.wiring.features.memory import Once

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.adapters.mcp.event_loop import UpstreamLoop
    from nacre.adapters.mcp.large_answers import Reading
    from nacre.firewall.entry.entry_judge import EntryJudge
    from nacre.firewall.rules.rule import Surroundings
    from nacre.gateway.calls.exchange import Exchanges
    from nacre.gateway.calls.external_server import External
    from nacre.gateway.servers.config import ServerConfig
    from nacre.gateway.servers.references import References
    from nacre.wiring.settings import Settings


def references_of(secret: "Callable[[str], str | None]", *, is_stack: bool) -> "References":
    """Return where a command's servers get their secrets, as the server itself would."""
    from nacre.gateway.servers.references import References

    return References(secret, None if is_stack else os.environ)


def laptop_references(folder: "Path") -> "References":
    """Return where a laptop's servers get their secrets: its own files, and the environment."""
    from nacre.adapters.files.secrets import FileSecrets
    from nacre.gateway.servers.references import References
    from nacre.wiring.data_folder import SECRETS

    return References(FileSecrets(folder / SECRETS).get, os.environ)


def stack_references(
    settings: "Settings", clients: "Callable[[], Callable[[str], Any]]"
) -> "References":
    """Return where a stack's servers get their secrets: Systems Manager."""
    from nacre.gateway.servers.references import References

    def secret(name: str) -> str | None:
        from nacre.adapters.aws.ssm_secrets import SsmSecrets

        settings.require("secrets_path")
        return SsmSecrets(clients()("ssm"), prefix=settings.secrets_path, key_arn="").get(name)

    return References(secret)


def one_server(
    config: "ServerConfig", references: "References", settings: "Settings", *, is_stack: bool
) -> "tuple[External, Callable[[], None]]":
    """Return one server, to be asked what it offers, and how to end it."""
    from nacre.adapters.mcp.event_loop import UpstreamLoop
    from nacre.gateway.calls.exchange import Exchanges
    from nacre.gateway.calls.external_server import External

    loop = UpstreamLoop()

    def nobody() -> Any:
        raise AssertionError("nobody is asked anything")

    connect = _connecting(settings, references, loop, is_stack=is_stack)
    external = External(
        config, lambda config: connect(config, lambda: None), Exchanges(nobody, None)
    )

    def close() -> None:
        external.close()
        loop.close()

    return external, close


def opening(
    settings: "Settings",
    references: "References",
    judge: "Callable[[], EntryJudge]",
    *,
    is_stack: bool,
    reading: "Callable[[], Reading] | None" = None,
) -> "Callable[[ServerConfig, Callable[[], None]], External]":
    """Return what opens servers; the official client is loaded with the first of them.

    `reading` reads their large answers beside the client.
    """

    def shared() -> "tuple[Callable[..., Any], Exchanges]":
        from random import SystemRandom

        from nacre.adapters.mcp.event_loop import UpstreamLoop
        from nacre.gateway.calls.exchange import Exchanges
        from nacre.gateway.calls.parked_calls import ParkedCalls

        # On AWS the next round of a call may reach another environment.
        parked = None if is_stack else ParkedCalls(SystemRandom())
        loop = UpstreamLoop()
        connect = _connecting(settings, references, loop, is_stack=is_stack, reading=reading)
        return connect, Exchanges(judge, parked)

    parts = Once(shared)

    def opened(config: "ServerConfig", changed: Callable[[], None]) -> "External":
        from nacre.gateway.calls.external_server import External

        connect, exchanges = parts()
        return External(config, lambda config: connect(config, changed), exchanges)

    return opened


def _connecting(
    settings: "Settings",
    references: "References",
    loop: "UpstreamLoop",
    *,
    is_stack: bool,
    reading: "Callable[[], Reading] | None" = None,
) -> Callable[..., Any]:
    def connect(config: "ServerConfig", changed: Callable[[], None]) -> Any:
        from nacre.adapters.http.public_addresses import networks
        from nacre.adapters.mcp.transports import Transports
        from nacre.adapters.mcp.upstream import McpUpstream
        from nacre.core.limits import STACK_OPEN_SECONDS, STACK_UPSTREAM_SECONDS

        allowed = networks(settings.private_networks)
        transports = Transports(references, is_stack=is_stack, allowed=allowed, reading=reading)
        seconds = config.timeout
        if is_stack:
            seconds = min(seconds, STACK_UPSTREAM_SECONDS)
            opening = min(config.open_timeout, STACK_OPEN_SECONDS)
            config = replace(config, open_timeout=opening)
        return McpUpstream(config, loop, transports, seconds=seconds, changed=changed)

    return connect


def surroundings(references: "References") -> "Callable[[ServerConfig], Surroundings]":
    """Return the function that gives the facts about each server's machine."""
    from pathlib import Path

    from nacre.core.errors import NacreError
    from nacre.firewall.rules.arguments.base_folders import declared
    from nacre.firewall.rules.rule import NOWHERE
    from nacre.wiring.this_machine import at_url, on_this_machine, with_line

    def where(config: "ServerConfig") -> "Surroundings":
        facts = NOWHERE
        try:
            is_program = config.kind == "stdio"
            facts = on_this_machine() if is_program else at_url(references.filled(config.url))
            folders = [references.filled(each) for each in config.base]
            if folders and is_program:
                words = [references.filled(each) for each in (config.command, *config.args)]
                cwd = references.filled(config.cwd) or str(Path.cwd())
                folders = with_line(folders, words, cwd)
            return declared(facts, folders, f"'{config.name}': 'base'")
        except NacreError:
            return facts  # one folder that cannot be read leaves all of them unknown

    return where

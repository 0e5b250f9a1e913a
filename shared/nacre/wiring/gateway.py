"""The servers behind ours, on the laptop and on AWS; nothing of them is loaded before use."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nacre.gateway.joined_surface import JoinedSurface
from nacre.gateway.late import LateMounts
from nacre.wiring.mind import Once

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.adapters.upstream_loop import UpstreamLoop
    from nacre.clock import Clock
    from nacre.gateway.exchange import Exchanges
    from nacre.gateway.external import External
    from nacre.gateway.mounts import Mounts
    from nacre.gateway.references import References
    from nacre.gateway.server_config import ServerConfig, ServerList
    from nacre.policy.entry import GuardedSurface
    from nacre.policy.entry_judge import EntryJudge
    from nacre.policy.rule import Surroundings
    from nacre.ports.table import Item, Key, Table
    from nacre.protocol.context import Context
    from nacre.protocol.surface import Surface
    from nacre.wiring.settings import Settings

Tell = Callable[[str], None]


class Gateway:
    """The servers behind one server: joined with it, and judged by its entry."""

    def __init__(self, make: "Callable[[Callable[[], EntryJudge]], Mounts]") -> None:
        self.mounts = Once(lambda: make(self._judge))
        self._entry: Callable[[], EntryJudge] | None = None
        self._served: GuardedSurface | None = None

    def beside(self, own: "Surface") -> JoinedSurface:
        """Return our own server and those behind it as one."""
        return JoinedSurface(own, self.mounts)

    def judged_by(self, entry: "Callable[[], EntryJudge]") -> LateMounts:
        """Take who decides about it, and return what he has to know of it."""
        self._entry = entry
        return LateMounts(self.mounts)

    def serve(self, surface: "GuardedSurface") -> None:
        """Take the server as its callers have it."""
        self._served = surface

    def capabilities(self, context: "Context") -> list[dict[str, str]]:
        """Return the tools of other servers that a caller sees."""
        from nacre.gateway.capabilities import capability_tools

        assert self._served is not None, "the server was never served"
        return capability_tools(self._served, context.principal)

    def close(self) -> None:
        """End every session with another server."""
        if self.mounts.is_made:
            self.mounts().close()

    def _judge(self) -> "EntryJudge":
        assert self._entry is not None, "nobody decides about it"
        return self._entry()


def laptop_gateway(
    settings: "Settings",
    table: "Callable[[], Table]",
    folder: "Path",
    clock: "Clock",
    tell: Tell,
) -> Gateway:
    """Return the gateway of this machine: programs and URLs, from a file and from the store."""

    def make(judge: "Callable[[], EntryJudge]") -> "Mounts":
        from nacre.gateway.catalogue import StoredCatalogue
        from nacre.gateway.mounts import Mounts
        from nacre.gateway.server_config import merged
        from nacre.gateway.server_store import ServerStore
        from nacre.gateway.sources import Sources
        from nacre.wiring.server_sources import own_servers, server_file

        local = Once(lambda: own_servers(settings, tell))
        store = ServerStore(table)
        file = server_file(settings)

        def servers() -> "ServerList":
            taken = [each.name for each in local().servers]
            return merged([file(), store.load()], taken=taken)

        opened = _opening(settings, laptop_references(folder), judge, is_stack=False)
        sources = Sources(
            servers=servers,
            local=local,
            catalogue=StoredCatalogue(table),
            open=opened,
            watch=judge,
            where=_where,
        )
        return Mounts(sources, clock)

    return Gateway(make)


def stack_gateway(
    settings: "Settings",
    table: "Callable[[], Table]",
    clients: "Callable[[], Callable[[str], Any]]",
    clock: "Clock",
    tell: Tell,
) -> Gateway:
    """Return the gateway of a stack: URLs of public hosts, from the store."""

    def make(judge: "Callable[[], EntryJudge]") -> "Mounts":
        from nacre.gateway.catalogue import StoredCatalogue
        from nacre.gateway.mounts import Mounts
        from nacre.gateway.server_config import merged
        from nacre.gateway.server_store import ServerStore
        from nacre.gateway.sources import Sources
        from nacre.wiring.server_sources import own_servers

        read = _signed_read(settings)
        local = Once(lambda: own_servers(settings, tell))
        store = ServerStore(table, read)

        def servers() -> "ServerList":
            return merged([store.load()], taken=[each.name for each in local().servers])

        opened = _opening(settings, stack_references(settings, clients), judge, is_stack=True)
        sources = Sources(
            servers=servers,
            local=local,
            catalogue=StoredCatalogue(table, read),
            open=opened,
            watch=judge,
        )
        return Mounts(sources, clock, is_stack=True)

    return Gateway(make)


def server_lists(
    settings: "Settings", table: "Table", *, is_stack: bool
) -> "dict[str, ServerList]":
    """Return the configured servers by where they are configured, the first place first."""
    from pathlib import Path

    from nacre.gateway.server_store import SOURCE, ServerStore
    from nacre.wiring.server_sources import server_file

    stored = ServerStore(lambda: table).load()
    if is_stack or not settings.servers_file:
        return {SOURCE: stored}
    return {Path(settings.servers_file).name: server_file(settings)(), SOURCE: stored}


def references_of(secret: "Callable[[str], str | None]", *, is_stack: bool) -> "References":
    """Return where a command's servers get their secrets, as the server itself would."""
    from nacre.gateway.references import References

    return References(secret, None if is_stack else os.environ)


def laptop_references(folder: "Path") -> "References":
    """Return where a laptop's servers get their secrets: its own files, and the environment."""
    from nacre.adapters.file_secrets import FileSecrets
    from nacre.gateway.references import References
    from nacre.wiring.data_folder import SECRETS

    return References(FileSecrets(folder / SECRETS).get, os.environ)


def stack_references(
    settings: "Settings", clients: "Callable[[], Callable[[str], Any]]"
) -> "References":
    """Return where a stack's servers get their secrets: Systems Manager."""
    from nacre.gateway.references import References

    def secret(name: str) -> str | None:
        from nacre.adapters.ssm_secrets import SsmSecrets

        settings.require("secrets_path")
        return SsmSecrets(clients()("ssm"), prefix=settings.secrets_path, key_arn="").get(name)

    return References(secret)


def one_server(
    config: "ServerConfig", references: "References", settings: "Settings", *, is_stack: bool
) -> "tuple[External, Callable[[], None]]":
    """Return one server, to be asked what it offers, and how to end it."""
    from nacre.adapters.upstream_loop import UpstreamLoop
    from nacre.gateway.exchange import Exchanges
    from nacre.gateway.external import External

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


def _opening(
    settings: "Settings",
    references: "References",
    judge: "Callable[[], EntryJudge]",
    *,
    is_stack: bool,
) -> "Callable[[ServerConfig, Callable[[], None]], External]":
    """Return what opens servers; the official client is loaded with the first of them."""

    def shared() -> "tuple[Callable[..., Any], Exchanges]":
        from random import SystemRandom

        from nacre.adapters.upstream_loop import UpstreamLoop
        from nacre.gateway.exchange import Exchanges
        from nacre.gateway.parked import ParkedCalls

        # On AWS the next round of a call may reach another environment.
        parked = None if is_stack else ParkedCalls(SystemRandom())
        loop = UpstreamLoop()
        return _connecting(settings, references, loop, is_stack=is_stack), Exchanges(judge, parked)

    parts = Once(shared)

    def opened(config: "ServerConfig", changed: Callable[[], None]) -> "External":
        from nacre.gateway.external import External

        connect, exchanges = parts()
        return External(config, lambda config: connect(config, changed), exchanges)

    return opened


def _connecting(
    settings: "Settings", references: "References", loop: "UpstreamLoop", *, is_stack: bool
) -> Callable[..., Any]:
    def connect(config: "ServerConfig", changed: Callable[[], None]) -> Any:
        from nacre.adapters.public_addresses import networks
        from nacre.adapters.upstream_mcp import McpUpstream
        from nacre.adapters.upstream_transports import Transports
        from nacre.limits import STACK_OPEN_SECONDS, STACK_UPSTREAM_SECONDS

        allowed = networks(settings.private_networks)
        transports = Transports(references, is_stack=is_stack, allowed=allowed)
        seconds = config.timeout
        if is_stack:
            seconds = min(seconds, STACK_UPSTREAM_SECONDS)
            opening = min(config.open_timeout, STACK_OPEN_SECONDS)
            config = replace(config, open_timeout=opening)
        return McpUpstream(config, loop, transports, seconds=seconds, changed=changed)

    return connect


def _where(config: "ServerConfig") -> "Surroundings":
    """Return where a program of this machine runs, so that paths mean what it makes of them."""
    from pathlib import Path

    from nacre.policy.rule import NOWHERE, Surroundings

    if config.kind != "stdio":
        return NOWHERE
    return Surroundings(
        is_local=True,
        home=str(Path.home()),
        cwd=config.cwd or str(Path.cwd()),
        folds_case=sys.platform in ("darwin", "win32"),
    )


def _signed_read(settings: "Settings") -> "Callable[[Key], Item | None]":
    """Return what reads an item without boto3."""
    reader: list[Callable[[tuple[str, str]], Item | None]] = []

    def read(key: "Key") -> "Item | None":
        if not reader:
            from nacre.adapters.dynamodb_get import SignedGet
            from nacre.wiring.signed import signed

            reader.append(signed(SignedGet, settings.data_table, settings).get)
        return reader[0](key)

    return read

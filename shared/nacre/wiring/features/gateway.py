"""The servers behind ours, on the laptop and on AWS; nothing of them is loaded before use."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nacre.gateway.joined_surface import JoinedSurface
from nacre.gateway.lazy_mounts import LateMounts
from nacre.wiring.features.memory import Once

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.adapters.screening.process_pool import ScreeningProcesses
    from nacre.core.clock import Clock
    from nacre.firewall.entry.entry_judge import EntryJudge
    from nacre.firewall.entry.guarded_surface import GuardedSurface
    from nacre.gateway.mounts import Mounts
    from nacre.gateway.servers.config import ServerList
    from nacre.ports.items.table import Item, Key, Table
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
    screening: "Callable[[], ScreeningProcesses]",
) -> Gateway:
    """Return the gateway of this machine: programs and URLs, from a file and from the store."""

    def make(judge: "Callable[[], EntryJudge]") -> "Mounts":
        from nacre.gateway.catalogue.sources import Sources
        from nacre.gateway.catalogue.store import StoredCatalogue
        from nacre.gateway.mounts import Mounts
        from nacre.gateway.servers.config import merged
        from nacre.gateway.servers.store import ServerStore
        from nacre.wiring.features.server_sources import reloaded_servers, server_file
        from nacre.wiring.features.servers import laptop_references, opening, surroundings
        from nacre.wiring.this_machine import on_this_machine

        local = reloaded_servers(settings, tell)
        store = ServerStore(table)
        file = server_file(settings)

        def servers() -> "ServerList":
            taken = [each.name for each in local().servers]
            return merged([file(), store.load()], taken=taken)

        references = laptop_references(folder)
        sources = Sources(
            servers=servers,
            local=local,
            catalogue=StoredCatalogue(table),
            open=opening(settings, references, judge, is_stack=False, reading=screening),
            watch=judge,
            where=surroundings(references),
            here=on_this_machine(),
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
        from nacre.gateway.catalogue.sources import Sources
        from nacre.gateway.catalogue.store import StoredCatalogue
        from nacre.gateway.mounts import Mounts
        from nacre.gateway.servers.config import merged
        from nacre.gateway.servers.store import ServerStore
        from nacre.wiring.features.server_sources import own_servers
        from nacre.wiring.features.servers import opening, stack_references

        read = _signed_read(settings)
        local = Once(lambda: own_servers(settings, tell))
        store = ServerStore(table, read)

        def servers() -> "ServerList":
            return merged([store.load()], taken=[each.name for each in local().servers])

        references = stack_references(settings, clients)
        sources = Sources(
            servers=servers,
            local=local,
            catalogue=StoredCatalogue(table, read),
            open=opening(settings, references, judge, is_stack=True),
            watch=judge,
        )
        return Mounts(sources, clock, is_stack=True)

    return Gateway(make)


def server_lists(
    settings: "Settings", table: "Table", *, is_stack: bool
) -> "dict[str, ServerList]":
    """Return the configured servers by where they are configured, the first place first."""
    from pathlib import Path

    from nacre.gateway.servers.store import SOURCE, ServerStore
    from nacre.wiring.features.server_sources import server_file

    stored = ServerStore(lambda: table).load()
    if is_stack or not settings.servers_file:
        return {SOURCE: stored}
    return {Path(settings.servers_file).name: server_file(settings)(), SOURCE: stored}


def _signed_read(settings: "Settings") -> "Callable[[Key], Item | None]":
    """Return what reads an item without boto3."""
    reader: list[Callable[[tuple[str, str]], Item | None]] = []

    def read(key: "Key") -> "Item | None":
        if not reader:
            from nacre.adapters.aws.dynamodb.get import SignedGet
            from nacre.wiring.signed_requests import signed

            reader.append(signed(SignedGet, settings.data_table, settings).get)
        return reader[0](key)

    return read

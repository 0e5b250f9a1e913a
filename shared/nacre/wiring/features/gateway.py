"""Build the gateway to other MCP servers; its modules are imported at their first use."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from nacre.core.lazy_dataclasses import replace
from nacre.gateway.catalogue.current_view import Sources
from nacre.gateway.catalogue.store import StoredCatalogue
from nacre.gateway.mounts import Mounts
from nacre.gateway.servers.config import ServerList, merged
from nacre.gateway.servers.store import ServerStore
from nacre.wiring.features.policies import Tell, to_stderr
from nacre.wiring.features.server_sources import own_servers, reloaded_servers, server_file
from nacre.wiring.features.servers import references_of, server_opener, surroundings

if TYPE_CHECKING:
    from nacre.firewall.entry.server_messages import ServerMessages
    from nacre.gateway.calls.owner_logins import OwnerLogins
    from nacre.wiring.ports import Ports
    from nacre.wiring.settings import Settings


def build_mounts(
    ports: "Ports",
    settings: "Settings",
    messages: "Callable[[], ServerMessages]",
    logins: "OwnerLogins",
    tell: Tell = to_stderr,
) -> Mounts:
    """Return the other servers of a deployment.

    On a laptop they are programs and URLs, listed in a file and in the store. On a stack they are
    URLs of public hosts, listed in the store.
    """
    store = ServerStore(lambda: ports.data, ports.read)
    catalogue = StoredCatalogue(lambda: ports.data, ports.read)
    references = references_of(ports)
    opener = server_opener(ports, settings, references, messages, logins)
    # On Lambda no file changes, and one call runs at a time.
    local = (
        cache(lambda: own_servers(settings, tell))
        if ports.is_stack
        else reloaded_servers(settings, tell)
    )
    configured = [store.load] if ports.is_stack else [server_file(settings), store.load]

    def servers() -> ServerList:
        reserved = [server.name for server in local().servers]
        return merged([load() for load in configured], reserved=reserved)

    sources = Sources(
        servers=servers,
        local=local,
        catalogue=catalogue,
        open=opener,
        logins=logins,
        watch=messages,
    )
    sources = replace(sources, where=surroundings(references, is_stack=ports.is_stack))
    if not ports.is_stack:
        from nacre.wiring.this_machine import on_this_machine

        sources = replace(sources, here=on_this_machine())
    return Mounts(sources, ports.clock, is_stack=ports.is_stack, chance=ports.rng.random)

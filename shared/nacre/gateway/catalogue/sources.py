"""Where servers come from, and what opens them."""

from collections.abc import Callable
from dataclasses import dataclass

from nacre.firewall.rules.rule import NOWHERE, Surroundings
from nacre.gateway.calls.external_server import External
from nacre.gateway.catalogue.fetch import Watch
from nacre.gateway.catalogue.snapshot import Locals
from nacre.gateway.catalogue.store import StoredCatalogue
from nacre.gateway.servers.config import ServerConfig, ServerList


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Each is asked when it is needed; `here` is where our own servers of tools run."""

    servers: Callable[[], ServerList]
    local: Callable[[], Locals]
    catalogue: StoredCatalogue
    open: Callable[[ServerConfig, Callable[[], None]], External]
    watch: Callable[[], Watch]
    where: Callable[[ServerConfig], Surroundings] = lambda _config: NOWHERE
    here: Surroundings = NOWHERE

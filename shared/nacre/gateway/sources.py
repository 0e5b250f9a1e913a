"""Where servers come from, and what opens them."""

from collections.abc import Callable
from dataclasses import dataclass

from nacre.gateway.catalogue import StoredCatalogue
from nacre.gateway.external import External
from nacre.gateway.gathering import Watch
from nacre.gateway.server_config import ServerConfig, ServerList
from nacre.gateway.view import Locals
from nacre.policy.rule import NOWHERE, Surroundings


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

"""Who sends a request, and what is known of the client behind it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nacre.core.errors import InvalidParamsError
from nacre.protocol.messages import Request
from nacre.protocol.principal import Principal
from nacre.protocol.versions import META_CAPABILITIES, META_CLIENT, TASKS, is_modern

if TYPE_CHECKING:
    from nacre.protocol.changes import Seen


@dataclass(slots=True)
class Peer:
    """What a client has said about itself."""

    capabilities: Mapping[str, Any] = field(default_factory=dict)
    client_info: Mapping[str, Any] = field(default_factory=dict)
    # What it saw last, where it can be told of changes.
    seen: "Seen | None" = None
    _log_level: str | None = None

    def log_level(self) -> str | None:
        """Return the least important level that the client chose, None where it chose none."""
        return self._log_level

    def choose_log_level(self, level: str) -> None:
        """Remember the level for the client's next requests."""
        self._log_level = level


@dataclass(slots=True)  # not frozen: see HttpRequest
class Caller:
    """Who sends a request, and under which version."""

    version: str
    principal: Principal | None = None
    peer: Peer = field(default_factory=Peer)
    llm_api_key: str | None = field(default=None, repr=False)

    @property
    def takes_tasks(self) -> bool:
        """Whether the caller declared that it takes a task in place of a result."""
        extensions = self.peer.capabilities.get("extensions")
        declared = isinstance(extensions, Mapping) and TASKS in extensions
        return declared and is_modern(self.version) and self.principal is not None


def declared_peer(request: Request) -> Peer:
    """Return what a modern request says of its client; raises when it must and does not."""
    capabilities = request.meta.get(META_CAPABILITIES)
    if not isinstance(capabilities, dict):
        raise InvalidParamsError(f"params._meta needs '{META_CAPABILITIES}', an object")
    info = request.meta.get(META_CLIENT)
    return Peer(capabilities, info if isinstance(info, dict) else {})

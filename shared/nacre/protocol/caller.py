"""The caller of a request: its principal, its client, and what that client was shown."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nacre.core.errors import InvalidParamsError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.protocol.messages import Request
from nacre.protocol.principal import Principal
from nacre.protocol.versions import META_CAPABILITIES, META_CLIENT, MODERN, TASKS

if TYPE_CHECKING:
    from nacre.protocol.changes import Seen


@dataclass(slots=True)
class Peer:
    """A client: its declarations, and the state that it was shown last."""

    capabilities: Mapping[str, Any] = field(default_factory=dict)
    client_info: Mapping[str, Any] = field(default_factory=dict)
    # Its lists and resources as last shown, if it can be told of changes.
    seen: "Seen | None" = None
    _log_level: str | None = None

    def log_level(self) -> str | None:
        """Return the lowest log level that the client wants, or None if it chose none."""
        return self._log_level

    def choose_log_level(self, level: str) -> None:
        """Remember the level for the client's next requests."""
        self._log_level = level


@dataclass(slots=True)  # not frozen: see HttpRequest
class Caller:
    """The sender of a request, and the version that it speaks."""

    version: str
    principal: Principal | None = None
    peer: Peer = field(default_factory=Peer)
    llm_api_key: str | None = field(default=None, repr=False)
    # Checks again that the caller is admitted, for a call that lasts longer than a token may.
    readmit: Callable[[], object] | None = field(default=None, repr=False)

    @property
    def takes_tasks(self) -> bool:
        """True if the caller declared that it takes a task in place of a result."""
        extensions = self.peer.capabilities.get("extensions")
        declared = isinstance(extensions, Mapping) and TASKS in extensions
        return declared and self.version == MODERN and self.principal is not None

    @property
    def shows_views(self) -> bool:
        """True if the caller declared that it shows interactive views."""
        if "extensions" not in self.peer.capabilities:
            return False
        from nacre.protocol.views import shows_views  # noqa: PLC0415 - most clients show none

        return shows_views(self.peer.capabilities)


def declared_peer(request: Request) -> Peer:
    """Return the client of a modern request; raises InvalidParamsError if it declares none."""
    capabilities = request.meta.get(META_CAPABILITIES)
    if not isinstance(capabilities, dict):
        raise InvalidParamsError(f"params._meta needs '{META_CAPABILITIES}', an object")
    info = request.meta.get(META_CLIENT)
    return Peer(capabilities, info if isinstance(info, dict) else {})

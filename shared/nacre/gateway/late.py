"""The servers behind ours as the policy sees them, not loaded while only our own are used."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from nacre.gateway.names import OWN_SCHEME, PREFIX

if TYPE_CHECKING:
    from nacre.policy.mounts import Held, Kind, Mounts, Place
    from nacre.policy.rule import Surroundings


class LateMounts:
    """Asks the servers behind ours about what cannot be our own."""

    def __init__(self, mounts: "Callable[[], Mounts]") -> None:
        self._mounts = mounts

    def place(self, kind: "Kind", name: str) -> "Place | None":
        """Return where something lives; None for what is our own."""
        own = name.startswith(OWN_SCHEME) if kind == "resource" else not name.startswith(PREFIX)
        return None if own else self._mounts().place(kind, name)

    def where(self, server: str) -> "Surroundings":
        """Return where a server runs."""
        return self._mounts().where(server)

    def held(self, tool: str) -> "Held | None":
        """Return what is to be said against a tool, None for nothing."""
        return self._mounts().held(tool) if tool.startswith(PREFIX) else None

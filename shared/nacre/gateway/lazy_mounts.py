"""The servers behind ours as the policy sees them, not loaded while only our own are used."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from nacre.gateway.qualified_names import OWN_SCHEME, PREFIX

if TYPE_CHECKING:
    from nacre.firewall.entry.mounted_servers import Held, Kind, Mounts, Place
    from nacre.firewall.rules.rule import Surroundings


class LateMounts:
    """Asks the servers behind ours about what cannot be our own."""

    def __init__(self, mounts: "Callable[[], Mounts]") -> None:
        self._mounts = mounts

    def place(self, kind: "Kind", name: str) -> "Place | None":
        """Return where something lives; None for what is our own."""
        return None if _is_own(kind, name) else self._mounts().place(kind, name)

    def where(self, server: str) -> "Surroundings":
        """Return where a server runs."""
        return self._mounts().where(server)

    def path_arguments(self, tool: str) -> frozenset[str]:
        """Return the arguments of a tool of which its schema says that they are paths."""
        return self._mounts().path_arguments(tool) if tool.startswith(PREFIX) else frozenset()

    def held(self, kind: "Kind", name: str) -> "Held | None":
        """Return what is to be said against using something, None for nothing."""
        return None if _is_own(kind, name) else self._mounts().held(kind, name)

    def is_stale(self, server: str) -> bool:
        """Tell whether a server has announced other offers than are known of it."""
        return self._mounts().is_stale(server)

    async def fresh(self, server: str) -> bool:
        """Wait for the offers that a server has announced; False when they do not come."""
        return await self._mounts().fresh(server)


def _is_own(kind: "Kind", name: str) -> bool:
    if kind in ("resource", "template"):
        return name.startswith(OWN_SCHEME)
    return not name.startswith(PREFIX)

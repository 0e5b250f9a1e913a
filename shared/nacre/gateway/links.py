"""Resources that results named, and of which server they are: no list may have them."""

from collections.abc import Mapping
from threading import Lock
from typing import Any

from nacre.limits import REMEMBERED_LINKS


class Links:
    """The last ones that were seen; who named one first keeps it."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._servers: dict[str, str] = {}

    def server(self, uri: str) -> str | None:
        """Return the server whose result named a resource."""
        return self._servers.get(uri)

    def remember(self, server: str, result: Mapping[str, Any]) -> None:
        """Note the resources that a tool's result names."""
        content = result.get("content")
        for block in content if isinstance(content, list) else ():
            uri = _named(block)
            if uri is None or uri in self._servers:
                continue
            with self._guard:
                self._servers[uri] = server
                if len(self._servers) > REMEMBERED_LINKS:
                    del self._servers[next(iter(self._servers))]


def _named(block: Any) -> str | None:
    match block:
        case {"type": "resource_link", "uri": str(uri)} | {
            "type": "resource",
            "resource": {"uri": str(uri)},
        }:
            return uri
        case _:
            return None

"""Resources named in results, and their servers: such resources may be in no list."""

from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

from nacre.core.bounded_cache import BoundedCache
from nacre.core.limits import REMEMBERED_LINKS
from nacre.protocol.encoded_results import Spelled


class Links:
    """The latest links; the server that names a resource first keeps it."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._servers: BoundedCache[str, str] = BoundedCache(REMEMBERED_LINKS)

    def server(self, uri: str) -> str | None:
        """Return the server whose result named a resource."""
        return self._servers.get(uri)

    def remember(self, server: str, result: Mapping[str, Any]) -> None:
        """Store the resources that a tool's result names."""
        for uri in result.uris if isinstance(result, Spelled) else named_uris(result):
            if uri in self._servers:
                continue
            with self._guard:
                self._servers[uri] = server


def named_uris(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the URIs of the resources that a tool's result names."""
    content = result.get("content")
    for block in content if isinstance(content, list) else ():
        uri = _named(block)
        if uri is not None:
            yield uri


def _named(block: Any) -> str | None:
    match block:
        case {"type": "resource_link", "uri": str(uri)} | {
            "type": "resource",
            "resource": {"uri": str(uri)},
        }:
            return uri
        case _:
            return None

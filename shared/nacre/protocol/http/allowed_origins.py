"""The hosts and web pages that may reach the endpoint."""

import re
from collections.abc import Mapping

from nacre.core.errors import ForbiddenError
from nacre.core.lazy_dataclasses import dataclass

_CORS_HEADERS = (
    *("authorization", "content-type", "accept", "x-llm-api-key"),
    *("mcp-protocol-version", "mcp-method", "mcp-name"),
)
_AUTHORITY = re.compile(r"(\[[0-9a-z:.%]+\]|[^:@\[\]\\?#\s]*)(?::[0-9]*)?")
_PARAMETER = re.compile(r"mcp-param-[0-9a-z_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Fences:
    """The allowed host names, the host names of allowed pages, and origins that may read.

    None allows all. A page in `cors` may also read the answers.
    """

    hosts: frozenset[str] | None = None
    origins: frozenset[str] | None = None
    cors: frozenset[str] = frozenset()

    def check(self, headers: Mapping[str, str]) -> None:
        """Raise ForbiddenError for another host name, or a web page that is not allowed."""
        if self.hosts is not None and hostname(headers.get("host", "")) not in self.hosts:
            raise ForbiddenError("this host name is not served here; allow it with --host")
        origin = headers.get("origin")
        if origin is None or self.origins is None or origin in self.cors:
            return
        if hostname(origin.partition("://")[2]) not in self.origins:
            raise ForbiddenError("this web origin may not call the server")

    def cors_headers(self, headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """Return the headers that let an allowed page read the answer."""
        origin = headers.get("origin")
        if origin is None or origin not in self.cors:
            return ()
        return (
            ("access-control-allow-origin", origin),
            ("vary", "origin"),
            ("access-control-expose-headers", "www-authenticate"),
            ("access-control-allow-methods", "POST"),
            ("access-control-allow-headers", ", ".join((*_CORS_HEADERS, *_parameters(headers)))),
            ("access-control-max-age", "600"),
        )


def _parameters(headers: Mapping[str, str]) -> list[str]:
    """Return the headers of mirrored parameters that a page asks to send."""
    names = headers.get("access-control-request-headers", "").lower().split(",")
    return [name.strip() for name in names if _PARAMETER.fullmatch(name.strip())]


def hostname(authority: str) -> str:
    """Return the host of `host:port`, in lower case; an IPv6 address keeps its brackets.

    Any other text, such as one with user information, is returned unchanged: it equals no host's
    name.
    """
    authority = authority.partition("/")[0].lower()
    parts = _AUTHORITY.fullmatch(authority)
    return authority if parts is None else parts.group(1)

"""Which headers of a request go on to the server, and which of its answer come back."""

import re
from collections.abc import Mapping

from nacre.protocol.http.http_messages import JSON, STREAM

SESSION = "mcp-session-id"
LAST_EVENT = "last-event-id"
VERSION = "mcp-protocol-version"
ACCEPT = f"{JSON}, {STREAM}"
STREAMED = {"content-type": STREAM, "cache-control": "no-cache"}
# Those of one connection, and those that say where a request came from or how it is encoded.
_OURS = frozenset(
    (
        *("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding"),
        *("upgrade", "host", "content-length", "content-type", "accept-encoding", "expect"),
        *("origin", "referer", "forwarded", "via", "x-real-ip", "accept", SESSION, LAST_EVENT),
    )
)
_PREFIXES = ("mcp-", "x-forwarded-", "proxy-", "sec-", "access-control-")
# What tells a server who calls: a caller's own only where the proxy's owner said so.
_CREDENTIALS = frozenset(("authorization", "cookie"))
_BACK = ("cache-control", "retry-after", "allow")
_VERSION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def upwards(headers: Mapping[str, str], *, with_credentials: bool) -> dict[str, str]:
    """Return what goes on of a client's headers, which have names in lower case.

    What mirrors a message is not among it: that follows from the message.
    """
    of_connection = {name.strip().lower() for name in headers.get("connection", "").split(",")}
    sent = {
        name: value
        for name, value in headers.items()
        if name not in _OURS
        and not name.startswith(_PREFIXES)
        and (with_credentials or name not in _CREDENTIALS)
        and name not in of_connection
    }
    sent["accept"] = headers.get("accept", ACCEPT)
    for name in (SESSION, LAST_EVENT):
        if name in headers:
            sent[name] = headers[name]
    return sent


def version_of(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the version that a client names, for what carries no message that says it."""
    said = headers.get(VERSION, "")
    return {VERSION: said} if _VERSION.fullmatch(said) else {}


def downwards(headers: Mapping[str, str], *, with_credentials: bool) -> dict[str, str]:
    """Return what comes back of a server's headers, but for the type of its body."""
    names = (*_BACK, "www-authenticate") if with_credentials else _BACK
    return {name: headers[name] for name in names if name in headers}

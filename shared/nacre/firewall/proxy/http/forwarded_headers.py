"""The headers that are forwarded from a request to the server and from a response to the client."""

import re
from collections.abc import Mapping

from nacre.firewall.proxy.upstream.remote_server import SESSION
from nacre.protocol.http.http_messages import JSON, STREAM

LAST_EVENT = "last-event-id"
VERSION = "mcp-protocol-version"
PLAIN_TEXT = "text/plain; charset=utf-8"
STREAM_HEADERS = {"content-type": STREAM, "cache-control": "no-cache"}
_DEFAULT_ACCEPT = f"{JSON}, {STREAM}"
# Headers of one connection, and those that say where a request came from or how it is encoded.
_NOT_FORWARDED = frozenset(
    (
        *("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding"),
        *("upgrade", "host", "content-length", "content-type", "accept-encoding", "expect"),
        *("origin", "referer", "forwarded", "via", "x-real-ip", "accept", SESSION, LAST_EVENT),
    )
)
_PREFIXES = ("mcp-", "x-forwarded-", "proxy-", "sec-", "access-control-")
# A caller's own credentials are forwarded only if the proxy's owner allowed it.
_CREDENTIALS = frozenset(("authorization", "cookie"))
_RETURNED = ("cache-control", "retry-after", "allow")
_VERSION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def headers_to_server(headers: Mapping[str, str], *, with_credentials: bool) -> dict[str, str]:
    """Return the client's headers to forward; names are in lower case.

    Headers that mirror a message are left out: they follow from the message.
    """
    of_connection = {name.strip().lower() for name in headers.get("connection", "").split(",")}
    forwarded = {
        name: value
        for name, value in headers.items()
        if name not in _NOT_FORWARDED
        and not name.startswith(_PREFIXES)
        and (with_credentials or name not in _CREDENTIALS)
        and name not in of_connection
    }
    forwarded["accept"] = headers.get("accept", _DEFAULT_ACCEPT)
    for name in (SESSION, LAST_EVENT):
        if name in headers:
            forwarded[name] = headers[name]
    return forwarded


def version_header(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the version that the client names, for requests whose message does not name it."""
    version = headers.get(VERSION, "")
    return {VERSION: version} if _VERSION.fullmatch(version) else {}


def headers_to_client(headers: Mapping[str, str], *, with_credentials: bool) -> dict[str, str]:
    """Return the server's headers that go to the client, without the content type."""
    names = (*_RETURNED, "www-authenticate") if with_credentials else _RETURNED
    return {name: headers[name] for name in names if name in headers}

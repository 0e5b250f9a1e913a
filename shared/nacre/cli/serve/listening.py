"""The address that a server listens on, and the hosts and origins that may call it."""

import errno
import ipaddress
import os
import socket

from nacre.core.errors import InvalidInputError, UnavailableError
from nacre.protocol.http.allowed_origins import Fences, hostname
from nacre.wiring.settings import Settings

BACKLOG = 128  # connections that wait to be accepted
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise InvalidInputError or UnavailableError if it cannot be."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise InvalidInputError(f"--host: {host!r} is not an address of this machine") from None
    # asyncio sends each part of an answer at once only if the protocol is given here.
    listener = socket.socket(family, kind, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # on Windows it would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _refused(error, host, port) from error
    return listener


def url_of(host: str, listener: socket.socket, settings: Settings) -> str:
    """Return the URL to give to clients, without a Being."""
    if settings.public_url:
        return f"{settings.public_url}/mcp"
    port = listener.getsockname()[1]
    name = "127.0.0.1" if is_wildcard(host) else host
    return f"http://{_bracketed(name)}:{port}/mcp"


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach a host name."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_wildcard(host: str) -> bool:
    """Tell whether a host name means every address of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host == ""


def fences(host: str, settings: Settings) -> Fences:
    """Return the hosts and web origins that may call a server on a host.

    A web page can call a local server under its own host name (DNS rebinding), so the names
    are fixed. The exception is a server that listens on every address without a public URL:
    there, the token alone decides.
    """
    public = {hostname(settings.public_url.partition("://")[2])} - {""}
    names = _LOOPBACK_NAMES | public | ({_bracketed(host.lower())} - {""})
    open_to_all = is_wildcard(host) and not public
    return Fences(
        hosts=None if open_to_all else names,
        origins=names,
        cors=frozenset(settings.allowed_origins),
    )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _refused(error: OSError, host: str, port: int) -> Exception:
    if error.errno == errno.EADDRINUSE:
        return UnavailableError(
            f"port {port} of {host} is in use, perhaps by another nacre; stop that server, or "
            "choose another port with --port"
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return UnavailableError(f"port {port} is reserved; choose one above 1023 with --port")
    if error.errno == errno.EADDRNOTAVAIL:
        return InvalidInputError(f"--host: {host!r} is not an address of this machine")
    return UnavailableError(f"{host}:{port} cannot be used ({error.strerror})")

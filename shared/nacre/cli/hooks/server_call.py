"""One call of a tool on the server, over a plain socket: the standard clients load slowly."""

import json
import os
import socket
import time

from nacre.core.lazy_dataclasses import dataclass

TYPE_CHECKING = False

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from typing import Any

_VERSION = "2025-11-25"
_MOST = 4 * 1024 * 1024  # bytes of an answer


class ServerCallError(Exception):
    """The server did not answer the call; the text says why and holds no secret."""


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a server's URL."""

    is_secure: bool
    host: str
    port: int
    path: str

    @property
    def is_this_machine(self) -> bool:
        """Return whether the address is one of this machine's loopback interface."""
        return self.host in ("127.0.0.1", "localhost", "::1")


def address_of(url: str) -> Address:
    """Return the address of a URL; raises ServerCallError if it is not a URL."""
    scheme, separator, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    host, colon, port = authority.rpartition(":") if authority[-1:] != "]" else (authority, "", "")
    host, port = (host, port) if colon else (authority, "")
    is_secure = scheme == "https"
    if scheme not in ("http", "https") or not separator or not host or "@" in authority:
        raise ServerCallError("the server's URL is not of the form https://HOST/mcp")
    if port and not port.isdecimal():
        raise ServerCallError("the server's URL has no valid port")
    number = int(port) if port else 443 if is_secure else 80
    return Address(is_secure, host.strip("[]"), number, slash + path)


def running_url(folder: str) -> str | None:
    """Return the URL of the newest server that runs on a data folder, or None."""
    newest: tuple[float, str] | None = None
    try:
        names = os.listdir(f"{folder}/serving")  # noqa: PTH208 - pathlib loads slowly
    except OSError:
        return None
    for name in names:
        try:
            process = int(name)  # other files note what a server runs
            if os.name == "posix":
                os.kill(process, 0)
            path = f"{folder}/serving/{name}"
            with open(path, encoding="utf-8") as file:  # noqa: PTH123 - as above
                entry = (os.stat(path).st_mtime, file.read())  # noqa: PTH116 - as above
        except (OSError, ValueError):
            continue
        newest = max(newest or entry, entry)
    return newest[1] if newest else None


def call_tool(
    address: Address,
    token: str,
    name: str,
    arguments: "dict[str, Any]",
    *,
    client: str,
    seconds: float,
) -> str:
    """Return the text that a tool answers; raises ServerCallError within these seconds."""
    end = time.monotonic() + seconds
    message = {
        "jsonrpc": "2.0",
        # The audit keeps this id, and the console reads from it which client recalled: all
        # clients of a machine share one token.
        "id": f"hook:{client}",
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    # Clients cut texts in the middle of an emoji; no server takes a half one.
    body = json.dumps(message, ensure_ascii=False).encode(errors="replace")
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json",
        "MCP-Protocol-Version": _VERSION,
        "Connection": "close",
    }
    try:
        if address.is_this_machine:
            status, content = _split(_exchange(address, headers, body, end))
        else:
            status, content = _elsewhere(address, headers, body, end)
    except TimeoutError:
        raise ServerCallError("the server did not answer in time") from None
    except OSError as error:
        raise ServerCallError(f"the server cannot be reached ({error.strerror})") from None
    return _text_in(status, content)


def _elsewhere(
    address: Address, headers: dict[str, str], body: bytes, end: float
) -> tuple[str, bytes]:
    """Return the status and the body of the answer of another machine, by the settings."""
    from nacre.core.errors import NacreError
    from nacre.http_client.address import Address as HttpAddress
    from nacre.wiring.outgoing import outgoing_of
    from nacre.wiring.settings import Settings

    there = HttpAddress(address.is_secure, address.host, address.port, address.path)
    try:
        outgoing = outgoing_of(Settings.from_environment())
        if outgoing.proxies.route(there) is None:
            return _split(_exchange(address, headers, body, end, tls=outgoing.tls))
        from nacre.cli.hooks.proxied_call import post

        lines = tuple((name.encode(), value.encode()) for name, value in headers.items())
        status, content = post(outgoing, there, lines, body, seconds=_left(end), most=_MOST)
    except NacreError as error:
        raise ServerCallError(str(error)) from None
    return str(status), content


def _exchange(
    address: Address,
    headers: dict[str, str],
    body: bytes,
    end: float,
    tls: "Callable[[], ssl.SSLContext] | None" = None,
) -> bytes:
    head = f"POST {address.path} HTTP/1.1\r\nHost: {address.host}:{address.port}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    # A host in bytes does not load the codec of international names.
    host = address.host.encode() if address.host.isascii() else address.host
    place: Any = (host, address.port)  # typeshed knows no bytes here
    connection = socket.create_connection(place, timeout=_left(end))
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.is_secure:
            import ssl

            context = ssl.create_default_context() if tls is None else tls()
            connection = context.wrap_socket(connection, server_hostname=address.host)
        connection.settimeout(_left(end))
        connection.sendall(request)
        parts: list[bytes] = []
        size = 0
        while True:
            connection.settimeout(_left(end))
            part = connection.recv(65536)
            if not part:
                break
            parts.append(part)
            size += len(part)
            if size > _MOST:
                raise ServerCallError("the server's answer is too long")
        return b"".join(parts)
    finally:
        connection.close()


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _split(answer: bytes) -> tuple[str, bytes]:
    """Return the status and the body of an answer."""
    head, separator, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    status = lines[0].split(" ")[1:2]
    if not separator or not status or not status[0].isdecimal():
        return "no status", b""
    if any(line.lower().replace(" ", "") == "transfer-encoding:chunked" for line in lines):
        body = _joined(body)
    return status[0], body


def _text_in(status: str, body: bytes) -> str:
    if status != "200":
        hint = {"401": ": the token is not valid; run 'nacre capture allow' again"}.get(status, "")
        raise ServerCallError(f"the server answered with {status}{hint}")
    try:
        message = json.loads(body)
        result = message["result"]
        text = result["content"][0]["text"]
    except (ValueError, KeyError, IndexError, TypeError):
        raise ServerCallError("the server refused the call") from None
    if result.get("isError"):
        raise ServerCallError("the tool answered with an error")
    return str(text)


def _joined(body: bytes) -> bytes:
    """Return a body without the frames of its chunks."""
    parts = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        try:
            length = int(size.split(b";")[0], 16)
        except ValueError:
            raise ServerCallError("the server's answer cannot be read") from None
        if length == 0:
            break
        parts.append(rest[:length])
        body = rest[length + 2 :]
    return b"".join(parts)

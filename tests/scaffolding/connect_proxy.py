"""An HTTP proxy on loopback: CONNECT tunnels, and requests in the clear that it passes on."""

import base64
import contextlib
import select
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from socketserver import StreamRequestHandler, ThreadingTCPServer
from urllib.parse import urlsplit

from tests.scaffolding.server_threads import answering


@dataclass
class ConnectProxy:
    """Knows its own names and addresses, wants the credentials if given, and records requests."""

    hosts: dict[str, str]
    credentials: str = ""
    status: int = 200
    greeting: bytes = b""  # instead of any answer
    after_head: bytes = b""
    port: int = 0
    scheme: str = "http"
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The URL for clients, with the credentials."""
        user = f"{self.credentials}@" if self.credentials else ""
        host = "localhost" if self.scheme == "https" else "127.0.0.1"
        return f"{self.scheme}://{user}{host}:{self.port}"


@contextmanager
def connect_proxy(
    hosts: dict[str, str] | None = None,
    *,
    credentials: str = "",
    tls: ssl.SSLContext | None = None,
) -> Iterator[ConnectProxy]:
    """Serve until the block ends. Names that `hosts` does not have are taken for 127.0.0.1."""
    proxy = ConnectProxy(hosts or {}, credentials, scheme="http" if tls is None else "https")

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            # A client that goes away while it is served is no fault.
            with contextlib.suppress(OSError, ValueError):
                if tls is None:
                    _serve(proxy, self.connection)
                else:
                    with tls.wrap_socket(self.connection, server_side=True) as inner:
                        _serve(proxy, inner)

    class Server(ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    server = Server(("127.0.0.1", 0), Handler)
    proxy.port = server.server_address[1]
    with answering(server):
        yield proxy


def _serve(proxy: ConnectProxy, client: socket.socket) -> None:
    client.settimeout(60)
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += client.recv(1)  # no more than the head: what follows is the tunnel's
    if proxy.greeting:
        client.sendall(proxy.greeting)
        return
    method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
    proxy.asked.append(f"{method} {target}")
    expected = b"basic " + base64.b64encode(proxy.credentials.encode())
    if proxy.credentials and expected.lower() not in head.lower():
        client.sendall(b"HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n")
        return
    if proxy.status != 200:
        client.sendall(f"HTTP/1.1 {proxy.status} No\r\ncontent-length: 0\r\n\r\n".encode())
        return
    if method == "CONNECT":
        host, _, port = target.rpartition(":")
        with socket.create_connection((proxy.hosts.get(host, "127.0.0.1"), int(port))) as server:
            client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n" + proxy.after_head)
            _relay(client, server)
        return
    parts = urlsplit(target)
    host = proxy.hosts.get(parts.hostname or "", "127.0.0.1")
    with socket.create_connection((host, parts.port or 80)) as server:
        path = target.partition("://")[2].partition("/")[2]
        lines = [line for line in head.split(b"\r\n")[1:] if not line.lower().startswith(b"proxy-")]
        server.sendall(f"{method} /{path} HTTP/1.1\r\n".encode() + b"\r\n".join(lines))
        _relay(client, server, ends_after_one=True)


def _relay(client: socket.socket, server: socket.socket, *, ends_after_one: bool = False) -> None:
    # In one thread, because two may not use a TLS connection at the same time.
    head: bytes | None = b"" if ends_after_one else None
    other = {client: server, server: client}
    while True:
        has_read = isinstance(client, ssl.SSLSocket) and client.pending()
        ready = [client] if has_read else select.select([client, server], [], [], 60)[0]
        for source in ready:
            data = source.recv(65536)
            if source is server and head is not None:
                head += data
                if b"\r\n\r\n" not in head and data:
                    continue
                data, head = head.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1), None
            if not data:
                return
            other[source].sendall(data)
        if not ready:
            return

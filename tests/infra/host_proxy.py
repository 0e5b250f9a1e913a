"""What stands in front of a deployment: requests go on under the API's own host name."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_SECONDS = 60
_OWN = ("host", "connection", "content-length")


@contextmanager
def host_proxy(port: int, address: str, host: str) -> Iterator[None]:
    """Pass on what comes in on a port of loopback, until the block ends."""

    class Front(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            kept = {n: v for n, v in self.headers.items() if n.lower() not in _OWN}
            with closing(HTTPConnection(address, timeout=_SECONDS)) as connection:
                connection.request(self.command, self.path, body, {**kept, "Host": host})
                response = connection.getresponse()
                content = response.read()
            with suppress(ConnectionError):  # a client that has ended meanwhile
                self.reply(response.status, response.getheaders(), content)

        def reply(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET = do_DELETE = do_OPTIONS = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing: the tests look at the answers."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Front)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

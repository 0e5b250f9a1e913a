"""A server that clients log in to over HTTP, and the owner whose browser they open."""

import http.client
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlencode, urlsplit

from infra.local_cloud import free_port
from nacre.ports.other_programs.client_documents import ClientDocuments
from tests.cli.processes import finish, serving, start
from tests.scaffolding.server_threads import answering
from tests.scaffolding.web_site import Answer, Site, form_of, site

_PATIENCE_SECONDS = 60


class Owner:
    """A browser over HTTP that signs in by a link and allows what it is asked."""

    def __init__(self, base: str, link: Callable[[], str]) -> None:
        self._base = base
        self._link = link
        self._cookies: dict[str, str] = {}
        self.logins = 0
        self.scopes: list[str] = []  # what to allow next, where it is not what the page offers

    def allow(self, url: str) -> str:
        """Open the address that a client gave, allow it, and return where the answer goes."""
        self.logins += 1
        assert url.startswith(f"{self._base}/authorize?"), url
        page = self._get(url.removeprefix(self._base))
        if page.status == 303 and page["location"].startswith("/sign-in?"):
            asked = self._get(page["location"])
            fields = {**form_of(asked, "/sign-in"), "secret": self._link()}
            page = self._get(self._post("/sign-in", fields)["location"])
        assert page.status == 200, (page.status, page.pairs, page.text)
        fields = {**form_of(page, "/authorize"), "decision": "allow"}
        if self.scopes:
            fields["scope"] = self.scopes.pop(0)
        return self._post("/authorize", fields)["location"]

    def _get(self, path: str) -> Answer:
        return self._send("GET", path, None, {})

    def _post(self, path: str, fields: Mapping[str, str]) -> Answer:
        kind = {"content-type": "application/x-www-form-urlencoded", "origin": "null"}
        return self._send("POST", path, urlencode(fields), kind)

    def _send(self, method: str, path: str, body: str | None, more: Mapping[str, str]) -> Answer:
        connection = http.client.HTTPConnection(urlsplit(self._base).netloc, timeout=60)
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        headers = {"accept": "text/html", "cookie": cookies, **more}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        pairs = tuple((name.lower(), value) for name, value in response.getheaders())
        answer = Answer(response.status, pairs, response.read())
        connection.close()
        for cookie in answer.all("set-cookie"):
            name, _, rest = cookie.partition("=")
            self._cookies[name] = rest.partition(";")[0].strip('"')
        return answer


@dataclass
class LoginServer:
    """A server, by its URL alone, and its owner."""

    url: str
    owner: Owner
    place: Site | None = None

    def follow(self, location: str) -> None:
        """Take the answer to where a client listens for it, or soon will."""
        parts = urlsplit(location)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            connection = http.client.HTTPConnection(parts.netloc, timeout=60)
            try:
                connection.request("GET", f"{parts.path}?{parts.query}")
            except ConnectionRefusedError:  # some show the address before they listen
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                assert connection.getresponse().status < 400
                return
            finally:
                connection.close()


@contextmanager
def laptop_login() -> Iterator[LoginServer]:
    """`nacre serve` as a process; refusals carry their header."""
    with serving() as server:
        base = server.url.removesuffix("/mcp")

        def link() -> str:
            code, out, err = finish(start("owner", "bootstrap", "--url", base))
            assert code == 0, err
            return out.strip().rpartition("#")[2]

        yield LoginServer(server.url, Owner(base, link))


@contextmanager
def gateway_login(documents: ClientDocuments | None = None) -> Iterator[LoginServer]:
    """The functions behind what API Gateway does to them: a bare 401, a renamed header.

    `documents` are what clients have published about themselves.
    """
    base = f"http://127.0.0.1:{free_port()}"
    with (
        site("gateway", public_url=base, documents=documents) as place,
        over_http(place, urlsplit(base).port or 0),
    ):
        yield LoginServer(f"{base}/mcp", Owner(base, place.link), place)


@contextmanager
def over_http(place: Site, port: int) -> Iterator[None]:
    """Serve a front of the tests on a port, one request at a time."""
    lock = threading.Lock()

    class Front(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                done = place.front.send(self.command, self.path, headers, body)
            self.send_response(done.status)
            for name, value in done.pairs:
                if name != "content-length":
                    self.send_header(name, value)
            self.send_header("content-length", str(len(done.body)))
            self.end_headers()
            self.wfile.write(done.body)

        do_POST = do_GET = do_DELETE = do_OPTIONS = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing: the tests look at the answers."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)

    server = Server(("127.0.0.1", port), Front)
    with answering(server):
        yield


def opened_url(line: str) -> str | None:
    """Return the authorization address in what a client printed."""
    found = re.search(r"https?://[^\s\"'<>]+/authorize\?[^\s\"'<>]+", line)
    return unescape(found[0]) if found else None


FRONTS = {"laptop": laptop_login, "gateway": gateway_login}


def clean_environment(home: str) -> dict[str, str]:
    """Return an environment in which a client finds no browser and no earlier login."""
    return {"PATH": os.environ["PATH"], "HOME": home, "MCP_REMOTE_CONFIG_DIR": f"{home}/.mcp-auth"}

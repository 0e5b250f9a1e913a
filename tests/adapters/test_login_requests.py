"""Requests of logins: only to public addresses, and to those that the owner has named."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nacre.adapters.client_documents import HttpsClientDocuments
from nacre.adapters.login_requests import HttpLoginRequests
from nacre.core.errors import LoginError, PrivateAddressError, UnavailableError
from nacre.core.limits import LOGIN_DOCUMENT_BYTES
from nacre.gateway.login.logins import Logins, LoginServer
from nacre.http_client.outgoing import Outgoing
from nacre.http_client.proxies import Proxies
from nacre.http_client.public_addresses import networks, resolved
from nacre.wiring.compose import compose
from nacre.wiring.laptop import LaptopPorts
from nacre.wiring.settings import Settings
from tests.gateway.http_upstream import http_upstream
from tests.gateway.login.provider import Provider, provider
from tests.scaffolding.certificates import Authority
from tests.scaffolding.connect_proxy import connect_proxy
from tests.scaffolding.server_threads import answering
from tests.scaffolding.tls_server import tls_server

# Names and addresses that an attacker writes into metadata.
PRIVATE = (
    "http://127.0.0.2/",
    "https://169.254.169.254/latest/meta-data",
    "https://10.0.0.1/",
    "https://192.168.1.1/",
    "https://[::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[64:ff9b::a00:1]/",
    "https://[fd00::1]/",
    "https://0.0.0.0/",
    "https://100.64.0.1/",
    "https://2130706433/",
    "https://0x7f.1/",
)


def named(**hosts: str) -> Callable[[str, int], list[str]]:
    """Return a name lookup that knows some names."""

    def resolve(host: str, port: int) -> list[str]:
        if host in hosts:
            return [hosts[host]]
        return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=1)]

    return resolve


@pytest.mark.security
@pytest.mark.parametrize("url", PRIVATE)
@pytest.mark.parametrize("trusts_server", [True, False])
def test_no_document_leads_to_a_private_address(url: str, trusts_server: bool) -> None:
    requests = HttpLoginRequests(
        "https://mcp.example/mcp",
        trusts_server=trusts_server,
        resolve=named(**{"mcp.example": "93.184.215.14"}),
    )
    with pytest.raises((PrivateAddressError, UnavailableError)):
        requests.send("GET", url, {})
    with pytest.raises((PrivateAddressError, UnavailableError)):
        requests.check(url)


@pytest.mark.security
def test_a_local_server_leads_to_its_own_address_only() -> None:
    with silent() as port:
        own = HttpLoginRequests(f"http://127.0.0.1:{port}/mcp", trusts_server=True)
        assert own.send("GET", f"http://127.0.0.1:{port}/x", {}).status == 200
        own.check(f"http://localhost:{port + 1}/")
        for url in ("https://192.168.1.1/", "https://127.0.0.9/", "https://10.0.0.1/"):
            with pytest.raises(PrivateAddressError):
                own.check(url)
        stack = HttpLoginRequests(f"http://127.0.0.1:{port}/mcp", trusts_server=False)
        with pytest.raises(PrivateAddressError):
            stack.send("GET", f"http://127.0.0.1:{port}/x", {})
        allowed = networks(["127.0.0.0/8"])
        stack = HttpLoginRequests(
            f"http://127.0.0.1:{port}/mcp", trusts_server=False, allowed=allowed
        )
        assert stack.send("GET", f"http://127.0.0.1:{port}/x", {}).status == 200


@pytest.mark.security
def test_a_name_that_changes_its_address_is_connected_to_where_it_was_checked() -> None:
    answers = [["93.184.215.14"], ["127.0.0.1"]]
    requests = HttpLoginRequests(
        "https://mcp.example/mcp",
        trusts_server=False,
        resolve=lambda host, port: answers.pop(0) if len(answers) > 1 else answers[0],
    )
    requests.check("https://rebind.example/")
    with pytest.raises(PrivateAddressError):
        requests.send("GET", "https://rebind.example/", {})


@pytest.mark.security
def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    with tls_server(tmp_path, "mcp.example") as server, silent() as port:
        place = {"location": f"http://127.0.0.1:{port}/inner"}
        server.answers["/meta"] = (307, place, b"")
        requests = HttpLoginRequests(
            "https://mcp.example/mcp",
            trusts_server=True,
            resolve=named(**{"mcp.example": "127.0.0.1"}),
            tls=server.trust,
        )
        reply = requests.send("GET", f"https://mcp.example:{server.port}/meta", {})
        assert reply.status == 307
        assert server.asked == ["/meta"]


@pytest.mark.security
def test_a_document_has_a_limit(tmp_path: Path) -> None:
    with tls_server(tmp_path, "mcp.example") as server:
        server.answers["/meta"] = (200, {}, b"x" * (LOGIN_DOCUMENT_BYTES + 1))
        requests = HttpLoginRequests(
            "https://mcp.example/mcp",
            trusts_server=True,
            resolve=named(**{"mcp.example": "127.0.0.1"}),
            tls=server.trust,
        )
        with pytest.raises(UnavailableError, match="too long"):
            requests.send("GET", f"https://mcp.example:{server.port}/meta", {})


@pytest.mark.security
@pytest.mark.parametrize(
    "member", ["authorization_endpoint", "token_endpoint", "registration_endpoint"]
)
def test_a_login_stops_before_a_private_address(member: str, tmp_path: Path) -> None:
    home = compose(LaptopPorts(str(tmp_path)), Settings(data_folder=str(tmp_path)))
    with provider(metadata={member: "https://192.168.1.1/x"}) as at:
        server = LoginServer("web", at.url)
        with pytest.raises((PrivateAddressError, LoginError)):
            log_in(home.logins, server, at)
    home.close()


def log_in(logins: Logins, server: LoginServer, at: Provider) -> None:
    begun = logins.begin("me", server, "http://127.0.0.1:1/callback")
    logins.finish("me", at.consent(begun.url))


@contextmanager
def silent() -> Iterator[int]:
    """Serve empty answers on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with answering(server):
        yield server.server_port


@pytest.mark.security
@pytest.mark.parametrize("trusts_server", [True, False])
def test_a_login_through_a_proxy_is_not_led_to_known_private_addresses(
    tmp_path: Path, *, trusts_server: bool
) -> None:
    authority = Authority(tmp_path)
    unknown: list[str] = []

    def nobody(host: str, port: int) -> list[str]:
        if host.endswith(".example"):
            unknown.append(host)
            raise OSError("no such name here")
        return resolved(host, port)

    with (
        http_upstream(authority.server("mcp.example")) as upstream,
        connect_proxy() as proxy,
    ):
        port = upstream.server.server_port
        requests = HttpLoginRequests(
            "https://mcp.example/mcp",
            trusts_server=trusts_server,
            resolve=nobody,
            outgoing=Outgoing(Proxies(proxy.url, proxy.url), authority.file),
        )
        requests.check("https://mcp.example/")
        reply = requests.send("POST", f"https://mcp.example:{port}/elsewhere", {}, b"{}")
        assert (reply.status, proxy.asked) == (404, [f"CONNECT mcp.example:{port}"])
        for url in PRIVATE:
            with pytest.raises((PrivateAddressError, UnavailableError)):
                requests.send("GET", url, {})
            with pytest.raises((PrivateAddressError, UnavailableError)):
                requests.check(url)
        assert len(proxy.asked) == 1
    assert unknown


@pytest.mark.security
def test_a_clients_document_behind_a_proxy_is_not_at_a_known_private_address(
    tmp_path: Path,
) -> None:
    authority = Authority(tmp_path)

    def lookup(host: str, port: int) -> list[str]:
        return ["10.0.0.1"] if host == "inside.example" else resolved(host, port)

    with connect_proxy() as proxy:
        documents = HttpsClientDocuments(
            resolve=lookup, outgoing=Outgoing(Proxies(proxy.url), authority.file)
        )
        for host in ("inside.example", "10.0.0.1", "169.254.169.254", "localhost"):
            with pytest.raises((PrivateAddressError, UnavailableError)):
                documents.fetch(f"https://{host}/client.json")
        assert proxy.asked == []

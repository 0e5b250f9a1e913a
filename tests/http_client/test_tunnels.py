"""The HTTP client through a real proxy, to servers whose certificates an own authority signed."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.core.errors import ConfigurationError, PrivateAddressError
from nacre.http_client.address import Address, parse_address
from nacre.http_client.certificates import ClientCertificate
from nacre.http_client.client import HttpClient
from nacre.http_client.errors import CertificateError, ConnectError, HttpError, ProxyError
from nacre.http_client.outgoing import Outgoing
from nacre.http_client.proxies import Proxies
from nacre.http_client.public_addresses import Resolve, checked_addresses, resolved
from tests.gateway.http_upstream import Upstream, http_upstream
from tests.scaffolding.certificates import Authority
from tests.scaffolding.connect_proxy import ConnectProxy, connect_proxy

PING = b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}'


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ca")


@pytest.fixture
def far(authority: Authority) -> Iterator[Upstream]:
    with http_upstream(authority.server("far.example")) as upstream:
        upstream.url = upstream.url.replace("127.0.0.1", "far.example")
        yield upstream


def through(proxy: ConnectProxy, authority: Authority | None = None) -> Outgoing:
    return Outgoing(
        Proxies(proxy.url, proxy.url), ca_file="" if authority is None else authority.file
    )


def ask(
    outgoing: Outgoing,
    url: str,
    *,
    times: int = 1,
    resolve: Resolve = resolved,
    seconds: float = 30,
) -> list[bytes]:
    async def main() -> list[bytes]:
        client = HttpClient(outgoing=outgoing, resolve=resolve, connect_seconds=seconds)
        try:
            return [await _ask(client, parse_address(url), seconds) for _ in range(times)]
        finally:
            client.close()

    return asyncio.run(main())


async def _ask(client: HttpClient, address: Address, seconds: float) -> bytes:
    headers = (
        (b"host", address.authority.encode()),
        (b"content-length", str(len(PING)).encode()),
    )
    response = await client.send("POST", address, headers, PING, seconds=seconds)
    return await response.read()


def test_a_tunnel_carries_several_requests(authority: Authority, far: Upstream) -> None:
    with connect_proxy() as proxy:
        answers = ask(through(proxy, authority), far.url, times=3)
    assert [b"supportedVersions" in answer for answer in answers] == [True] * 3
    port = parse_address(far.url).port
    assert proxy.asked == [f"CONNECT far.example:{port}"]
    assert far.connections == 1


def test_a_request_in_the_clear_names_its_server_to_the_proxy() -> None:
    with http_upstream() as near, connect_proxy(credentials="ann:s3cret") as proxy:
        url = near.url.replace("127.0.0.1", "far.example")
        answers = ask(through(proxy), url)
    assert [b"supportedVersions" in answer for answer in answers] == [True]
    assert proxy.asked == [f"POST {url}"]


def test_a_proxy_over_tls_is_trusted_by_its_own_certificate(
    authority: Authority, far: Upstream
) -> None:
    with connect_proxy(credentials="ann:s3cret", tls=authority.server("localhost")) as proxy:
        assert b"supportedVersions" in ask(through(proxy, authority), far.url)[0]
    for name, trusted in (("other.example", authority), ("localhost", None)):
        with connect_proxy(tls=authority.server(name)) as proxy:
            for url in (far.url, "http://far.example/mcp"):
                with pytest.raises(
                    ProxyError,
                    match=rf"^the proxy localhost:{proxy.port} has a certificate that is not"
                    r" trusted here \(.*NACRE_CA_FILE",
                ):
                    ask(through(proxy, trusted), url)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("proxy_scheme", ["http", "https"])
def test_a_silent_proxy_is_named(scheme: str, proxy_scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        name = f"127.0.0.1:{nobody.getsockname()[1]}"
        proxies = Proxies(*[f"{proxy_scheme}://ann:s3cret@{name}"] * 2)
        with pytest.raises(HttpError) as raised:
            ask(Outgoing(proxies), f"{scheme}://far.example/mcp", seconds=0.05)
    assert str(raised.value).startswith("far.example ")
    assert f" through the proxy {name}" in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_a_proxy_that_ends_a_request_in_the_clear_is_named() -> None:
    with connect_proxy() as proxy:
        for proxy.greeting in (b"HTTP/1.1 200", b"SSH-2.0-server\r\n\r\n"):
            with pytest.raises(HttpError, match=f" through the proxy 127.0.0.1:{proxy.port} "):
                ask(through(proxy), "http://far.example/mcp")


def test_a_tunnel_does_not_weaken_the_check_of_the_servers_certificate(
    authority: Authority, far: Upstream
) -> None:
    with connect_proxy() as proxy:
        with pytest.raises(CertificateError, match="NACRE_CA_FILE"):
            ask(through(proxy), far.url)
        with pytest.raises(CertificateError):
            ask(through(proxy, authority), far.url.replace("far.example", "other.example"))
    assert far.calls == 0


def test_a_proxy_gets_its_credentials_and_the_server_does_not(
    authority: Authority, far: Upstream
) -> None:
    with connect_proxy(credentials="ann:s3cret") as proxy:
        assert b"supportedVersions" in ask(through(proxy, authority), far.url)[0]
        proxy.credentials = "bob:other"
        outgoing = Outgoing(Proxies(f"http://ann:s3cret@127.0.0.1:{proxy.port}"), authority.file)
        unknown = r"rejected the credentials, or needs some \(407\); put them in its URL"
        with pytest.raises(ProxyError, match=unknown) as raised:
            ask(outgoing, far.url)
        with pytest.raises(ProxyError, match=unknown):
            ask(Outgoing(Proxies(f"http://127.0.0.1:{proxy.port}")), far.url)
        assert "s3cret" not in str(raised.value)
        plain = Outgoing(Proxies("", f"http://ann:s3cret@127.0.0.1:{proxy.port}"))
        with pytest.raises(ProxyError, match=r"\(407\)"):
            ask(plain, "http://far.example/mcp")


@pytest.mark.parametrize("status", [403, 502])
def test_a_refusal_of_the_proxy_is_told(status: int, far: Upstream) -> None:
    with connect_proxy() as proxy:
        proxy.status = status
        with pytest.raises(ProxyError, match=rf"does not connect to far.example.* \({status}\)"):
            ask(through(proxy), far.url)


def test_bytes_of_the_proxy_are_not_taken_for_the_servers(
    authority: Authority, far: Upstream
) -> None:
    with connect_proxy() as proxy:
        proxy.after_head = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil"
        try:
            answers = ask(through(proxy, authority), far.url)
        except HttpError:
            answers = []  # the bytes broke the handshake
    assert b"evil" not in b"".join(answers)


def test_something_else_at_the_proxys_address_is_told(far: Upstream) -> None:
    with connect_proxy() as proxy:
        for proxy.greeting in (b"SSH-2.0-server\r\n\r\n", b"HTTP/1.1 OK\r\n\r\n", b"HTTP/1.1 200"):
            with pytest.raises(ProxyError, match="does not answer like an HTTP proxy"):
                ask(through(proxy), far.url)
    nobody = Outgoing(Proxies("http://127.0.0.1:9"))
    with pytest.raises(ProxyError, match=r"through the proxy 127.0.0.1:9 \("):
        ask(nobody, far.url)


@pytest.mark.security
@pytest.mark.parametrize("host", ["198.18.0.1", "169.254.169.254", "[fd00::1]", "inside.example"])
def test_a_proxy_is_not_asked_for_addresses_that_are_known_to_be_private(host: str) -> None:
    def lookup(name: str, port: int) -> list[str]:
        return ["198.18.0.1"] if name == "inside.example" else resolved(name, port)

    def checked(name: str, port: int) -> list[str]:
        return checked_addresses(name, port, resolve=lookup)

    with connect_proxy() as proxy:
        with pytest.raises(PrivateAddressError):
            ask(through(proxy), f"https://{host}/", resolve=checked)
        with pytest.raises(PrivateAddressError):
            ask(through(proxy), f"http://{host}/", resolve=checked)
        for own in ("127.0.0.1", "localhost"):
            with pytest.raises(PrivateAddressError):
                ask(through(proxy), f"https://{own}/", resolve=checked)
    assert proxy.asked == []


def test_a_name_that_only_the_proxy_knows_is_left_to_it(
    authority: Authority, far: Upstream
) -> None:
    with connect_proxy({"far.example": "127.0.0.1"}) as proxy:
        answers = ask(through(proxy, authority), far.url, resolve=unknown)
    assert b"supportedVersions" in answers[0]


def unknown(host: str, port: int) -> list[str]:
    raise OSError("no such name here")


def test_names_are_not_looked_up_here_where_nothing_is_refused(
    authority: Authority, far: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[str] = []
    real = socket.getaddrinfo

    def watched(host: str, *rest: object, **options: object) -> object:
        looked_up.append(host)
        return real(host, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", watched)
    with connect_proxy() as proxy:
        ask(through(proxy, authority), far.url)
    assert "far.example" not in looked_up


def test_a_server_that_wants_a_certificate_is_shown_it(
    authority: Authority, tmp_path: Path
) -> None:
    clients = Authority(tmp_path / "clients", "clients")
    certificate, key = clients.issue("nacre")
    with http_upstream(authority.server("127.0.0.1", clients=clients)) as upstream:
        with pytest.raises(HttpError):
            ask(Outgoing(ca_file=authority.file), upstream.url)
        texts = ClientCertificate(Path(certificate).read_text(), Path(key).read_text())
        for client in (ClientCertificate(certificate, key), texts):
            outgoing = Outgoing(ca_file=authority.file, client=client)
            assert b"supportedVersions" in ask(outgoing, upstream.url)[0]


def test_a_proxy_is_not_shown_the_servers_certificate(authority: Authority, tmp_path: Path) -> None:
    clients = Authority(tmp_path / "clients", "clients")
    tls = authority.server("localhost", clients=clients)
    client = ClientCertificate(*clients.issue("nacre"))
    with connect_proxy(tls=tls) as proxy:
        outgoing = Outgoing(Proxies(proxy.url, proxy.url), authority.file, client)
        with pytest.raises(ConnectError):
            ask(outgoing, "https://far.example/")
    assert proxy.asked == []


def test_certificates_that_cannot_be_used_are_errors_that_say_so(
    authority: Authority, tmp_path: Path
) -> None:
    certificate, key = authority.issue("one")
    _, other = authority.issue("two")
    _, sealed = authority.issue("three", password=b"secret")
    nothing = str(tmp_path / "nothing.pem")
    for client, reason in (
        (ClientCertificate(certificate, other), "not a PEM certificate and its private key"),
        (ClientCertificate(certificate, sealed), "has a password"),
        (ClientCertificate(nothing, key), "cannot be read"),
        (ClientCertificate("-----BEGIN CERTIFICATE-----\nx\n", key), "not a PEM certificate"),
    ):
        with pytest.raises(ConfigurationError, match=reason):
            Outgoing(client=client).tls()
    for file in (nothing, key):
        with pytest.raises(ConfigurationError, match="NACRE_CA_FILE"):
            Outgoing(ca_file=file).tls()

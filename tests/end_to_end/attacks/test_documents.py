"""Attacks by clients' own documents: what may be fetched, and what it must say."""

import json
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from itertools import count
from time import monotonic
from typing import Any

import pytest

from nacre.adapters.client_documents import HttpsClientDocuments
from nacre.core.errors import ForbiddenError, UnavailableError
from nacre.core.limits import (
    CLIENT_DOCUMENT_BYTES,
    CLIENT_DOCUMENT_SECONDS,
    CLIENT_FETCHES_A_MINUTE,
)
from nacre.http_client.public_addresses import networks
from tests.end_to_end.attacks.rows import attack
from tests.scaffolding.oauth import REDIRECT, asking, consent, exchange, renew, tokens_of, told
from tests.scaffolding.tls_server import TlsServer, tls_server
from tests.scaffolding.web_site import Browser, Site, site

HOST = "client.example.com"
CLIENT = f"https://{HOST}/oauth/client.json"
MISSING = "(missing)"
PRIVATE = [
    *(str(network[1]) for network in map(ip_network, ("10.0.0.0/8", "172.16.0.0/12"))),
    *(str(ip_network("192.168.0.0/16")[1]), "127.0.0.1", "169.254.169.254", "0.0.0.0"),
    *("100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1"),
    *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::"),
]
TEN = PRIVATE[0]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    with tls_server(tmp_path_factory.mktemp("tls"), HOST, "other.example.com") as made:
        yield made


@pytest.fixture(autouse=True)
def quiet(server: TlsServer) -> None:
    server.answers.clear()
    server.asked.clear()
    server.connections = 0


def documents(
    server: TlsServer, *, address: str = "127.0.0.1", now: Callable[[], float] = monotonic
) -> HttpsClientDocuments:
    """Fetch from the server of the test, whatever the name, as if its address were public."""
    return HttpsClientDocuments(
        allowed=networks(["127.0.0.0/8"]) if address == "127.0.0.1" else (),
        resolve=lambda host, port: [address],
        port=server.port,
        tls=server.trust,
        now=now,
    )


@pytest.fixture(params=["laptop", pytest.param("gateway", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, server: TlsServer) -> Iterator[Site]:
    with site(request.param, documents(server)) as made:
        yield made


def publish(server: TlsServer, document: Any = None, path: str = "/oauth/client.json") -> None:
    said = {
        "client_id": CLIENT,
        "client_name": "Published",
        "redirect_uris": ["http://localhost/callback", REDIRECT, "javascript:alert(1)"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    if isinstance(document, dict):
        said = {name: value for name, value in {**said, **document}.items() if value != MISSING}
    body = document if isinstance(document, bytes) else json.dumps(said).encode()
    server.answers[path] = (200, {"content-type": "application/json"}, body)


def test_a_client_is_known_by_its_document(place: Site, server: TlsServer) -> None:
    publish(server)
    browser = Browser(place)
    browser.sign_in()
    page = browser.get(asking(place, CLIENT))
    code = told(browser.submit(page, "/authorize", decision="allow"))["code"]
    tokens = tokens_of(exchange(place, CLIENT, code))
    newer = tokens_of(renew(place, CLIENT, tokens.refresh))
    [grant] = place.authority.grants.of_owner("me")

    assert "Published" in page.text
    assert f"verified by <strong>{HOST}</strong>" in page.text
    assert place.call(newer.access).status == 200
    assert (grant.client_id, grant.client_host) == (CLIENT, HOST)
    assert server.asked == ["/oauth/client.json"]  # once, and not to renew
    assert place.get("/.well-known/oauth-authorization-server").json[
        "client_id_metadata_document_supported"
    ]


def test_a_document_is_read_again_after_an_hour(place: Site, server: TlsServer) -> None:
    publish(server)
    browser = Browser(place)
    browser.sign_in()
    for _ in range(3):
        assert browser.get(asking(place, CLIENT)).status == 200
    place.time.pass_(seconds=CLIENT_DOCUMENT_SECONDS)
    publish(server, {"client_name": "Renamed"})

    assert "Renamed" in browser.get(asking(place, CLIENT)).text
    assert len(server.asked) == 2


def test_where_documents_are_not_fetched_they_are_not_advertised() -> None:
    with site("laptop") as place:
        said = place.get("/.well-known/oauth-authorization-server").json

        assert said["client_id_metadata_document_supported"] is False
        assert Browser(place).get(asking(place, CLIENT)).status == 400


NO_ADDRESS = [
    *("http://client.example.com/c", "https://client.example.com", "https://client.example.com/"),
    *(f"{CLIENT}#x", f"{CLIENT}?x=1", f"{CLIENT}?", "https://u:p@client.example.com/c"),
    *("https://client.example.com/../c", "https://client.example.com/a/./c"),
    *("https://client.example.com/%2e%2e/c", "https://client.example.com/a%2f..%2fc"),
    *("https://127.0.0.1/c", "https://169.254.169.254/latest/meta-data", "https://[::1]/c"),
    *(f"https://{TEN}/c", "https://2130706433/c", "https://127.1/c", "https://0x7f.1/c"),
    *("https://localhost/c", "https://LOCALHOST/c", "https://Client.Example.com/c"),
    *("https://client.example.com:8443/c", "https://client.example.com./c", "https:///c"),
    *("https://client_x.example.com/c", "https://-a.example.com/c", "ftp://client.example.com/c"),
    *("https://client.example.com\\@evil.example/c", "https://client.example.com/c d"),
    *("https://clientéxample.com/c", "https://client.example.com/" + "x" * 600, "https:client"),
    *("https://client.example.com/c\r\nX: y", "https://client.example.com/<script>", "urn:x:y"),
]


@attack("M1")
def test_an_address_of_another_form_is_not_connected_to(place: Site, server: TlsServer) -> None:
    for client_id in NO_ADDRESS:
        answer = Browser(place).get(asking(place, client_id))

        assert (answer.status, answer["location"]) == (400, ""), client_id
    assert server.connections == 0


@attack("M1")
@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_that_leads_to_a_private_address_is_not_connected_to(
    server: TlsServer, address: str
) -> None:
    publish(server)
    fetching = HttpsClientDocuments(
        resolve=lambda host, port: ["93.184.215.14", address], port=server.port
    )
    with pytest.raises(ForbiddenError):
        fetching.fetch(CLIENT)

    assert server.connections == 0


@attack("M1")
def test_the_page_does_not_tell_a_private_address_from_one_that_is_down(server: TlsServer) -> None:
    pages = []
    for address in (TEN, "192.0.2.1"):
        with site("laptop", documents(server, address=address)) as place:
            pages.append(Browser(place).get(asking(place, CLIENT)).text)
    with site("laptop", documents(server)) as place:  # the server answers 404
        pages.append(Browser(place).get(asking(place, CLIENT)).text)

    assert len(set(pages)) == 1
    assert "cannot be fetched" in pages[0]


@attack("M2")
@pytest.mark.parametrize(
    "answer",
    [
        (302, {"location": "https://client.example.com/other.json"}, b""),
        (301, {"location": "http://127.0.0.1/"}, b""),
        (404, {}, b""),
        (500, {"content-type": "application/json"}, b"{}"),
        (204, {}, b""),
        (200, {"content-type": "text/html"}, b"{}"),
        (200, {"content-type": "application/json"}, b" " * 200_000),
        (200, {"content-type": "application/json"}, b" " * (CLIENT_DOCUMENT_BYTES + 1)),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_short_document_is_refused(
    place: Site, server: TlsServer, answer: tuple[int, dict[str, str], bytes]
) -> None:
    server.answers["/oauth/client.json"] = answer
    publish(server, path="/other.json")
    shown = Browser(place).get(asking(place, CLIENT))

    assert (shown.status, shown["location"]) == (400, "")
    assert server.asked == ["/oauth/client.json"]


@attack("M2")
@pytest.mark.parametrize(
    "document",
    [
        *(b"", b"[]", b"null", b"\xff", b"{", b'{"client_id":1}'),
        {"client_id": CLIENT + "/"},
        {"client_id": "https://other.example.com/oauth/client.json"},
        {"client_id": MISSING},
        {"redirect_uris": MISSING},
        {"redirect_uris": []},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": "http://localhost/"},
        {"client_secret": "x"},
        {"token_endpoint_auth_method": "client_secret_post"},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"grant_types": ["client_credentials"]},
        {"client_name": ["x"]},
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_document_that_says_something_else_is_refused(
    place: Site, server: TlsServer, document: Any
) -> None:
    publish(server, document)
    answer = Browser(place).get(asking(place, CLIENT))

    assert (answer.status, answer["location"]) == (400, "")


@attack("M2")
def test_no_more_is_read_than_a_document_may_have(server: TlsServer) -> None:
    server.answers["/oauth/client.json"] = (200, {"content-type": "application/json"}, b" " * 10**6)
    with pytest.raises(UnavailableError, match="too long"):
        documents(server).fetch(CLIENT)


@attack("M2")
def test_whoever_sends_a_byte_now_and_then_is_left(server: TlsServer) -> None:
    publish(server)
    moments = count(step=10)
    fetching = documents(server, now=lambda: float(next(moments)))
    with pytest.raises(UnavailableError, match="too slowly"):
        fetching.fetch(CLIENT)


@attack("M2")
def test_a_certificate_for_another_name_is_refused(server: TlsServer) -> None:
    publish(server)
    with pytest.raises(UnavailableError):
        documents(server).fetch("https://third.example.com/oauth/client.json")


@attack("M2")
def test_a_certificate_that_nobody_vouches_for_is_refused(server: TlsServer) -> None:
    publish(server)
    fetching = HttpsClientDocuments(
        allowed=networks(["127.0.0.0/8"]), resolve=lambda *_: ["127.0.0.1"], port=server.port
    )
    with pytest.raises(UnavailableError):
        fetching.fetch(CLIENT)


@attack("M2")
@pytest.mark.parametrize("stuck", ["resolving", "connecting"])
def test_whoever_keeps_us_waiting_is_left(
    server: TlsServer, stuck: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket
    import threading

    monkeypatch.setattr("nacre.adapters.client_documents.CLIENT_FETCH_SECONDS", 0.05)
    waiting = threading.Event()

    def resolve(host: str, port: int) -> list[str]:
        if stuck == "resolving":
            waiting.wait(60)
        return ["127.0.0.1"]

    with socket.create_server(("127.0.0.1", 0)) as silent:  # whoever is late goes there too
        fetching = HttpsClientDocuments(
            allowed=networks(["127.0.0.0/8"]),
            resolve=resolve,
            port=silent.getsockname()[1],
            tls=server.trust,
        )
        with pytest.raises(UnavailableError):
            fetching.fetch(CLIENT)
        waiting.set()


@attack("M3")
@pytest.mark.parametrize(
    "uri",
    [
        "https://evil.example/callback",
        "http://localhost/other",
        "https://client.example.com/callback",
        "javascript:alert(1)",
    ],
)
def test_an_address_that_the_document_does_not_name_gets_nothing(
    place: Site, server: TlsServer, uri: str
) -> None:
    publish(server)
    answer = Browser(place).get(asking(place, CLIENT, redirect_uri=uri))

    assert (answer.status, answer["location"]) == (400, "")


@attack("M3")
def test_a_port_of_the_own_machine_is_free_here_too(place: Site, server: TlsServer) -> None:
    publish(server)
    browser = Browser(place)
    browser.sign_in()
    uri = "http://localhost:50321/callback"

    assert consent(browser, asking(place, CLIENT, redirect_uri=uri))["location"].startswith(uri)


@attack("M1")
def test_fetching_is_bounded_by_address() -> None:
    class Absent:
        asked = 0

        def fetch(self, url: str) -> bytes:
            self.asked += 1
            raise UnavailableError("not there")

    absent = Absent()
    with site("laptop", absent) as place:
        browser = Browser(place)
        targets = [f"https://{HOST}/{n}.json" for n in range(CLIENT_FETCHES_A_MINUTE + 1)]
        answers = [browser.get(asking(place, target)) for target in targets]

    assert {answer.status for answer in answers[:-1]} == {400}
    assert answers[-1].status == 429
    assert answers[-1]["retry-after"]
    assert absent.asked == CLIENT_FETCHES_A_MINUTE

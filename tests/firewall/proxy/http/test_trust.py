"""State that many connections of the reverse proxy share, and the certificates that it trusts."""

import asyncio
import datetime
import ipaddress
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from nacre.firewall.proxy.upstream.remote_server import RemoteServer
from nacre.http_client.address import Address, parse_address
from nacre.http_client.errors import HttpError
from tests.firewall.guarding import FORM, SEED, Person, Scene, modern, request, response
from tests.firewall.proxy.http_world import (
    Received,
    Remote,
    World,
    answer_of,
    answer_to,
    echo,
    events,
    run,
)
from tests.scaffolding.stream_server import stream_server

CALL = {"name": "t", "arguments": {}}
ETC = {"name": "filesystem_read", "arguments": {"path": "/etc/passwd"}}


def test_a_tool_that_changes_is_denied_on_every_connection() -> None:
    schemas: list[Mapping[str, Any]] = [{"type": "object"}]

    async def play(received: Received) -> None:
        if received.json["method"] == "tools/list":
            tool = {"name": "t", "inputSchema": schemas[-1]}
            await received.result({"resultType": "complete", "tools": [tool]})
        else:
            await echo(received)

    async def scenario(world: World) -> None:
        listing, call = request(1, "tools/list", modern({})), request(1, "tools/call", modern(CALL))
        await world.post_modern(listing)
        assert (await world.post_modern(call)).json()["result"]["content"][0]["text"] == "done"
        schemas.append({"type": "object", "properties": {"to": {"type": "string"}}})
        assert (await world.post_modern(listing)).json()["result"]["tools"] == []
        denied = (await world.post_modern(call)).json()["result"]
        assert denied["isError"]
        assert "has changed since it was approved" in denied["content"][0]["text"]
        assert [message["method"] for message in world.remote.messages()].count("tools/call") == 1

    scene = Scene(lines=False, pins=True)
    run(scenario, play=play, scene=scene)
    scene.close()


def test_a_stateless_client_is_asked_and_comes_back_on_another_connection() -> None:
    async def scenario(world: World) -> None:
        received = modern(ETC, elicitation={})
        first = (await world.post_modern(request(1, "tools/call", received))).json()["result"]
        assert first["resultType"] == "input_required"
        ((key, question),) = first["inputRequests"].items()
        assert question["method"] == "elicitation/create"
        answer = {
            "requestState": first["requestState"],
            "inputResponses": {key: {"action": "accept", "content": {}}},
        }
        reply = await world.post_modern(
            request(2, "tools/call", {**received, **answer}), connection="close"
        )
        assert reply.json()["result"]["content"][0]["text"] == "done"
        assert world.remote.messages() == [request(2, "tools/call", received)]

    run(scenario, scene=Scene(SEED, lines=False, approver=Person(FORM)))


def test_a_second_answer_is_dropped() -> None:
    async def play(received: Received) -> None:
        await received.begin()
        for text in ("first", "second"):
            await received.event(
                answer_to(received.json, {"content": [{"type": "text", "text": text}]})
            )
        await received.end()

    async def scenario(world: World) -> None:
        reply = await world.post(request(1, "tools/call", CALL))
        ((_, message),) = events(reply.text)
        assert message["result"]["content"][0]["text"] == "first"

    run(scenario, play=play)


def test_an_older_client_hears_what_a_server_of_the_newest_generation_says_to_it() -> None:
    error = {
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {"supported": ["2026-07-28"], "requested": "2024-11-05"},
    }

    async def play(received: Received) -> None:
        refused = {"jsonrpc": "2.0", "id": received.json["id"], "error": error}
        await received.say(400, str(refused).replace("'", '"').encode())

    async def scenario(world: World) -> None:
        reply = await world.post(request(0, "initialize", {"protocolVersion": "2024-11-05"}))
        assert (reply.status_code, reply.json()["error"]) == (400, error)

    run(scenario, play=play)


def test_many_sessions_are_forgotten_one_by_one_and_decided_about_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nacre.firewall.proxy.http.proxy_sessions.PROXY_CONVERSATIONS", 3)

    async def scenario(world: World) -> None:
        for number in range(6):
            reply = await world.post(request(1, "ping"), mcp_session_id=f"s{number}")
            assert reply.status_code == 200
        denied = await world.post(
            request(1, "tools/call", {"name": "shell_execute"}), mcp_session_id="s0"
        )
        assert denied.json()["result"]["isError"]

    run(scenario, scene=Scene(SEED, lines=False))


BATCHED = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "c"}}


def test_a_batch_of_the_generation_that_has_them_goes_on_whole_or_not_at_all() -> None:
    async def play(received: Received) -> None:
        message = received.json
        if isinstance(message, dict):
            await received.result(answer_of(message), mcp_session_id="s")
        elif message[0]["id"] == 5:
            received.cut()
        else:
            answers = [answer_to(answer, answer_of(answer)) for answer in message]
            await received.say(200, json.dumps(answers).encode())

    async def scenario(world: World) -> None:
        await world.post(request(0, "initialize", BATCHED))
        session = {"mcp_session_id": "s"}
        reading = {"name": "filesystem_read", "arguments": {"path": "/home/user/projects/a"}}
        sent = [request(1, "ping"), request(2, "tools/call", reading)]
        answers = (await world.post(sent, **session)).json()
        assert [answer["id"] for answer in answers] == [1, 2]
        assert all("result" in answer for answer in answers)
        mixed = [request(3, "ping"), request(4, "tools/call", {"name": "shell_execute"})]
        answers = (await world.post(mixed, **session)).json()
        assert [answer["id"] for answer in answers] == [3, 4]
        assert len(world.remote.received) == 2
        lost = (await world.post([request(5, "ping"), request(6, "ping")], **session)).json()
        assert [(answer["id"], answer["error"]["code"]) for answer in lost] == [(5, 503), (6, 503)]

    run(scenario, play=play, scene=Scene(SEED, lines=False))


# TLS.


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a key and a certificate for 127.0.0.1 that nobody has signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "far")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    kind, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    path = tmp_path_factory.mktemp("tls") / "far.pem"
    path.write_bytes(
        key.private_bytes(kind, serialization.PrivateFormat.PKCS8, plain)
        + signed.public_bytes(kind)
    )
    return path


def test_a_certificate_is_trusted_only_where_somebody_trusted_has_signed_it(
    certificate: Path,
) -> None:
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate)

    async def main() -> None:
        remote = Remote()
        async with stream_server(remote.serve, ssl=served) as port:
            address = parse_address(f"https://127.0.0.1:{port}/mcp")
            body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
            stranger = RemoteServer(address, seconds=5)
            with pytest.raises(HttpError, match=r"not trusted here .*self-signed"):
                await stranger.send("POST", {}, body)
            assert remote.received == []
            friend = RemoteServer(
                address, seconds=5, tls=lambda: ssl.create_default_context(cafile=certificate)
            )
            answer = await friend.send("POST", {}, body)
            assert b'"done"' in await answer.read()
            friend.close()
            await asyncio.sleep(0.05)

    asyncio.run(main())


# Addresses.


@pytest.mark.parametrize(
    ("url", "is_tls", "host", "port", "target", "authority"),
    [
        ("https://far.example", True, "far.example", 443, "/", "far.example"),
        ("http://far.example:80/mcp", False, "far.example", 80, "/mcp", "far.example"),
        ("https://Far.Example:84/a?b=c#d", True, "far.example", 84, "/a?b=c", "far.example:84"),
        ("http://[::1]:9/mcp", False, "::1", 9, "/mcp", "[::1]:9"),
        ("https://b\u00fccher.example/mcp", True, "xn--bcher-kva.example", 443, "/mcp",
         "xn--bcher-kva.example"),
    ],
)  # fmt: skip
def test_an_address_is_read(
    url: str, is_tls: bool, host: str, port: int, target: str, authority: str
) -> None:
    address = parse_address(url)

    assert address == Address(is_tls, host, port, target)
    assert address.authority == authority


def test_a_query_is_sent_and_shown_to_nobody() -> None:
    async def scenario(world: World) -> None:
        reply = await world.client.post(
            world.url.partition("?")[0], json=request(1, "ping"), headers={"host": "127.0.0.1"}
        )
        assert reply.json() == response(1, {"content": [{"type": "text", "text": "done"}]})
        assert world.remote.received[0].target == "/mcp?key=secret"

    run(scenario, path="/mcp?key=secret")

"""Messages, streams and requests that nobody would send: nothing undecided passes a proxy."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.firewall.proxy.http.stdio_bridge import StdioBridge
from nacre.firewall.proxy.upstream.remote_server import RemoteServer
from nacre.http_client.address import parse_address
from nacre.http_client.errors import HttpError
from nacre.http_client.server_sent_events import Event, EventReader
from tests.firewall.enforce.test_guard_fuzz import POLICY, is_decided, mangled, readings
from tests.firewall.guarding import MODERN, Scene
from tests.firewall.proxy.http_world import POSTED, Received, Remote, World, run, serving

MESSAGES = int(os.environ.get("NACRE_FUZZ_MESSAGES", "100000"))  # of the long run, both ways


def check(raw: bytes, sender: str) -> None:
    assert all(is_decided(value, sender) for value in readings(raw)), (sender, raw)


def torn(rng: Random, raw: bytes) -> list[bytes]:
    """Return the bytes in pieces."""
    places = sorted(rng.randrange(len(raw) + 1) for _ in range(rng.randrange(4)))
    edges = [0, *places, len(raw)]
    return [raw[a:b] for a, b in pairwise(edges) if a < b]


class HostileServer:
    """A server that answers with anything, and checks what reaches it."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.received = 0

    async def play(self, received: Received) -> None:
        rng = self.rng
        if received.body:
            self.received += 1
            check(received.body, "client")
        kind = rng.random()
        if kind < 0.4:
            await received.say(rng.choice([200, 200, 202, 400, 404, 500]), self.message(received))
        elif kind < 0.9:
            await received.begin()
            for piece in torn(rng, self.stream(received)):
                await received.chunk(piece)
            await received.end()
        elif kind < 0.95:
            await received.say(200, b"<p>hello</p>", kind="text/html")
        else:
            received.cut()

    def message(self, received: Received) -> bytes:
        raw = mangled(self.rng)
        if self.rng.random() < 0.5:
            try:
                id_ = json.dumps(json.loads(received.body)["id"]).encode()
            except (ValueError, KeyError, TypeError, RecursionError):
                return raw
            raw = raw.replace(b'"id":1', b'"id":' + id_)
        return raw

    def stream(self, received: Received) -> bytes:
        rng = self.rng
        parts = []
        for _ in range(rng.randrange(1, 4)):
            name = rng.choice([b"", b"event: message\n", b"event: endpoint\n", b"event:x\r"])
            end = rng.choice([b"\n\n", b"\r\n\r\n", b"\r\r", b"\n"])
            parts.append(name + b"data: " + self.message(received) + end)
        return b"".join(parts)


def fuzz(seed: int, messages: int) -> None:
    rng = Random(seed)
    server = HostileServer(rng)
    delivered = 0
    ends: set[str] = set()

    async def scenario(world: World) -> None:
        nonlocal delivered
        client = RemoteServer(parse_address(world.url), seconds=20)
        for _ in range(messages):
            headers = dict(POSTED)
            if rng.random() < 0.3:
                headers["mcp-session-id"] = rng.choice(["a", "b", "nacre-x"])
            if rng.random() < 0.3:
                headers["mcp-protocol-version"] = rng.choice([MODERN, "2025-11-25", "x"])
                headers["mcp-method"] = rng.choice(["tools/call", "ping"])
            body = mangled(rng).replace(b'"id":1', b'"id":%d' % rng.randrange(1000))
            try:
                answer = await client.send("POST", headers, body)
                told = await answer.read()
            except HttpError as error:
                # Only a stream that the server broke off may end so.
                ends.add(str(error).partition(" ")[2])
                continue
            for raw in parts(answer.content_type, told):
                delivered += 1
                check(raw, "server")
        client.close()

    run(scenario, play=server.play, scene=Scene(POLICY, lines=False), limit=None)
    assert server.received > messages // 20
    assert delivered > messages // 4
    assert ends <= {"closed the connection before its answer was complete"}


def parts(kind: str, told: bytes) -> list[bytes]:
    """Return the messages that a client would read."""
    if kind == "application/json":
        return [told]
    if kind == "text/event-stream":
        events = EventReader(1 << 24).feed(told)
        return [event.data for event in events if event.data and event.is_message]
    return []


def test_nothing_undecided_passes() -> None:
    fuzz(1, 400)


@pytest.mark.slow
def test_nothing_undecided_passes_in_a_long_run() -> None:
    for seed in range(10):
        fuzz(seed + 2, MESSAGES // 20)


def fuzz_lines(seed: int, messages: int) -> None:
    rng = Random(seed)
    server = HostileServer(rng)
    delivered = 0

    async def main() -> None:
        remote = Remote(server.play)

        async def write(raw: bytes) -> None:
            nonlocal delivered
            delivered += 1
            assert b"\n" not in raw
            check(raw, "server")

        async def lines() -> AsyncIterator[bytes]:
            for number in range(messages):
                # An id that is running, or was cancelled, would be refused for that alone.
                yield mangled(rng).replace(b'"id":1', b'"id":%d' % number)
                await asyncio.sleep(0)

        async with serving(remote):
            address = parse_address(f"http://127.0.0.1:{remote.port}/mcp")
            upstream = RemoteServer(address, seconds=10)
            proxy = StdioBridge(
                Scene(POLICY).guard, upstream, write=write, warn=lambda said: None, transport="http"
            )
            await proxy.run(lines())

    asyncio.run(main())
    assert server.received > messages // 20
    assert delivered > messages // 4


def test_nothing_undecided_passes_from_lines() -> None:
    fuzz_lines(1, 300)


@pytest.mark.slow
def test_nothing_undecided_passes_from_many_lines() -> None:
    for seed in range(MESSAGES // 1000):
        fuzz_lines(seed + 2, 500)


# Streams.

_LINES = st.lists(
    st.sampled_from(
        [
            *(
                b"data: a",
                b"data:b",
                b"data",
                b"data:  c",
                b"id: 1",
                b"id:",
                b"id: a\0b",
                b"event: x",
            ),
            *(
                b"event: message",
                b"retry: 10",
                b"retry: x",
                b": note",
                b"",
                b"",
                b"other: 1",
                b"\xff",
            ),
        ]
    ),
    max_size=12,
)
_ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])


@settings(deadline=None)
@given(lines=_LINES, data=st.data())
def test_where_a_stream_is_cut_changes_nothing(lines: list[bytes], data: Any) -> None:
    raw = b"".join(line + data.draw(_ENDS) for line in lines)
    whole = list(EventReader(1000).feed(raw))
    reader, rest = EventReader(1000), raw
    found: list[Event] = []
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        found += reader.feed(rest[:cut])
        rest = rest[cut:]

    assert found == whole


@settings(deadline=None)
@given(lines=_LINES)
def test_an_event_that_is_spelt_anew_is_read_as_the_same(lines: list[bytes]) -> None:
    events = list(EventReader(1000).feed(b"".join(line + b"\n" for line in lines)))

    again = list(EventReader(1000).feed(b"".join(event.encode() for event in events)))

    assert again == events


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6))
def test_what_is_too_long_is_let_go_and_what_follows_is_read(sizes: list[int]) -> None:
    raw = b"".join(b"id: %d\ndata: %b\n\n" % (n, b"x" * n) for n in sizes)

    events = list(EventReader(30).feed(raw))

    assert [event.id for event in events] == [b"%d" % n for n in sizes]
    for event, size in zip(events, sizes, strict=True):
        assert event.too_long == (event.data is None)
        assert event.too_long or event.data == b"x" * size
        assert event.too_long == (size + len("data: ") > 30)


# Requests.


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        b"content-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
        b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: b\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nx : y\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"y" * 100_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
        b"\x00" * 70_000,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_http_is_refused_and_forwarded_nowhere(raw: bytes) -> None:
    async def scenario(world: World) -> None:
        parts = parse_address(world.url)
        reader, writer = await asyncio.open_connection(parts.host, parts.port)
        writer.write(raw)
        writer.write_eof()
        try:
            told = await reader.read()
        except ConnectionError:
            told = b""
        assert told == b"" or told.split(b" ")[1][:1] in (b"4", b"5"), told
        writer.close()
        assert world.remote.received == []

    run(scenario)


def test_requests_that_come_together_are_answered_in_their_order() -> None:
    async def scenario(world: World) -> None:
        parts = parse_address(world.url)
        reader, writer = await asyncio.open_connection(parts.host, parts.port)
        for number in range(3):
            body = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % number
            head = (
                b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n"
            )
            writer.write(head % len(body) + body)
        for number in range(3):
            told = await reader.readuntil(b"\r\n\r\n")
            length = int(told.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            assert json.loads(await reader.readexactly(length))["id"] == number
        writer.close()

    run(scenario)


def test_an_event_with_another_name_is_no_message() -> None:
    assert not Event(b"endpoint", b"{}").is_message
    assert Event(b"", b"{}").is_message

"""The limits of a server's connections, on real sockets and with a clock that the test sets."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import pytest
import uvicorn

from nacre.core.errors import UnauthorizedError
from nacre.core.limits import (
    BODY_BYTES_A_SECOND,
    BODY_SECONDS,
    CLOSING_SECONDS,
    HEAD_SECONDS,
    MAX_BODY_BYTES,
    TURNED_AWAY,
    UNREAD_ANSWER_SECONDS,
)
from nacre.core.logs import Log, RareLog
from nacre.faces.http.http_limits import BoundedProtocol
from nacre.faces.http.laptop_server import asgi_app
from nacre.firewall.proxy.http.http_server import Connections, Reply
from nacre.protocol.http.asgi import Receive, Scope, Send
from nacre.protocol.http.connection_limit import Crowd
from nacre.protocol.http.http_messages import HttpRequest
from nacre.protocol.principal import Principal
from tests.end_to_end.attacks.rows import attack
from tests.faces.http.test_laptop_server import ANN, application
from tests.scaffolding.stream_server import protocol_server

HEAD = b"POST /mcp HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"
ANN_HEAD = HEAD + b"Authorization: Bearer ann\r\n"
LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


@dataclass
class Talk:
    """One connection of a client."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def status(self) -> int:
        """Return the status of the next answer, and leave its body unread."""
        line = await asyncio.wait_for(self.reader.readline(), 60)
        return int(line.split()[1])

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        status = await self.status()
        headers = {}
        while line := (await asyncio.wait_for(self.reader.readline(), 60)).strip():
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return status, headers, body

    async def ends(self) -> bytes:
        """Return the remaining bytes until the server closes."""
        with contextlib.suppress(ConnectionError):
            return await asyncio.wait_for(self.reader.read(), 60)
        return b""


@dataclass
class World:
    """A server, its clock and its log."""

    most: int = 100
    of_one_address: int = 100
    proxies: tuple[str, ...] = ()
    now: float = 1000.0
    log: StringIO = field(default_factory=StringIO)
    port: int = 0
    talks: list[Talk] = field(default_factory=list)
    crowd: Crowd = field(init=False)

    def __post_init__(self) -> None:
        rare = RareLog(Log("warning", self.log), time=lambda: self.now)
        self.crowd = Crowd(
            rare,
            most=self.most,
            of_one_address=self.of_one_address,
            proxies=self.proxies,
            time=lambda: self.now,
        )

    async def talk(self, data: bytes = b"") -> Talk:
        talk = Talk(*await asyncio.open_connection("127.0.0.1", self.port))
        self.talks.append(talk)
        talk.send(data)
        return talk

    async def until(self, happened: Callable[[], bool]) -> None:
        """Let the server work until something is true."""
        while not happened():
            await asyncio.sleep(0.001)

    def held(self) -> int:
        return len(self.crowd._guests)

    def later(self, seconds: float) -> None:
        self.now += seconds
        self.crowd.sweep()

    def lines(self) -> list[tuple[str, int]]:
        entries = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [(entry["said"], entry["times"]) for entry in entries]


def _admit(request: HttpRequest, path_being: str | None, query_being: str | None) -> Principal:
    if request.headers.get("authorization") != "Bearer ann":
        raise UnauthorizedError("no token", presented=False)
    return ANN


async def _elsewhere(scope: Scope, receive: Receive, send: Send) -> None:
    """Read a stranger's form, and answer with much."""
    body = b""
    while (part := await receive())["type"] == "http.request":
        body += part["body"]
        if not part["more_body"]:
            break
    else:
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    size = 0 if scope["path"] == "/form" else 64
    for _ in range(size):
        await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


@asynccontextmanager
async def serving(world: World) -> AsyncIterator[World]:
    app = asgi_app(application(), admit=_admit, log=Log("error", StringIO()), elsewhere=_elsewhere)

    def connection(**parts: Any) -> BoundedProtocol:
        return BoundedProtocol(world.crowd, **parts)

    config = uvicorn.Config(
        app,
        http=connection,  # type: ignore[arg-type] # it is only called
        log_config=None,
        lifespan="off",
        ws="none",
    )
    config.load()
    state = uvicorn.server.ServerState()
    loop = asyncio.get_running_loop()

    def taken() -> BoundedProtocol:
        return connection(config=config, server_state=state, app_state={}, _loop=loop)

    try:
        async with protocol_server(taken) as world.port:
            yield world
    finally:
        for guest in list(state.connections):
            guest.transport.abort()
        await asyncio.gather(*state.tasks)


@asynccontextmanager
async def relaying(world: World) -> AsyncIterator[World]:
    """The server of the reverse proxy, with the same limits."""

    async def handle(request: HttpRequest, reply: Reply) -> None:
        await reply.respond(200, {}, b"x" * (64_000_000 if request.path == "/much" else 1))

    connections = Connections(handle, lambda error: None, world.crowd)
    try:
        async with protocol_server(connections.accept) as world.port:
            yield world
    finally:
        connections.close()
        await asyncio.sleep(0)


Server = Callable[[World], Any]
both = pytest.mark.parametrize("server", [serving, relaying])


def run(
    server: Server, world: World, scenario: Callable[[World], Coroutine[Any, Any, None]]
) -> None:
    async def main() -> None:
        async with server(world) as running:
            try:
                await asyncio.wait_for(scenario(running), 60)
            finally:
                for talk in world.talks:
                    talk.writer.transport.abort()
                await asyncio.sleep(0)

    asyncio.run(main())


@attack("W1")
def test_a_stranger_is_refused_from_the_head_and_the_server_reads_no_body() -> None:
    async def scenario(world: World) -> None:
        talk = await world.talk(HEAD + b"Content-Length: 4000000\r\n\r\n{")
        status, headers, _ = await talk.answer()
        large = await world.talk(ANN_HEAD + b"Content-Length: %d\r\n\r\n{" % (MAX_BODY_BYTES + 1))

        assert (status, headers["connection"]) == (401, "close")
        assert (await large.answer())[0] == 413

    run(serving, World(), scenario)


def test_a_refused_request_with_a_short_body_keeps_its_connection() -> None:
    async def scenario(world: World) -> None:
        length = b"Content-Length: %d\r\n\r\n" % len(LIST)
        talk = await world.talk(HEAD + length + LIST + ANN_HEAD + length + LIST)

        assert (await talk.answer())[0] == 401
        assert (await talk.answer())[0] == 200

    run(serving, World(), scenario)


@both
@attack("W2")
@pytest.mark.parametrize("beginning", [b"", b"P", b"POST /mcp HTTP/1.1\r\nHost: te"])
def test_a_head_that_does_not_end_is_given_up(server: Server, beginning: bytes) -> None:
    async def scenario(world: World) -> None:
        talk = await world.talk(beginning)
        await world.until(lambda: world.held() == 1)
        await asyncio.sleep(0.01)  # for the bytes, if there are any
        world.later(HEAD_SECONDS)
        assert world.held() == 1
        world.later(1)

        assert b"200 OK" not in await talk.ends()
        await world.until(lambda: world.held() == 0)
        assert world.lines() == [("a client was too slow: a head", 1)]

    run(server, World(), scenario)


@both
@attack("W2")
def test_a_byte_now_and_then_wins_no_time(server: Server) -> None:
    async def scenario(world: World) -> None:
        talk = await world.talk(b"POST /mcp HTTP/1.1\r\nX: ")
        await world.until(lambda: world.held() == 1)
        for _ in range(int(HEAD_SECONDS) + 1):
            talk.send(b"x")
            await asyncio.sleep(0.002)
            world.later(1)

        await talk.ends()
        await world.until(lambda: world.held() == 0)

    run(server, World(), scenario)


@both
@attack("W3")
def test_a_body_that_stalls_is_given_up_and_one_that_keeps_coming_is_not(server: Server) -> None:
    async def scenario(world: World) -> None:
        stalled = await world.talk(ANN_HEAD + b"Content-Length: 100\r\n\r\n{")
        coming = await world.talk(ANN_HEAD + b"Content-Length: 1000000\r\n\r\n")
        await world.until(lambda: world.held() == 2)
        for _ in range(3):
            coming.send(b" " * BODY_BYTES_A_SECOND * 20)
            await asyncio.sleep(0.05)
            world.later(BODY_SECONDS / 2 + 0.1)

        await stalled.ends()
        await world.until(lambda: world.held() == 1)
        world.later(BODY_SECONDS + 61)
        await coming.ends()

    run(server, World(), scenario)


@both
@attack("W4")
def test_an_answer_that_nobody_reads_is_given_up(server: Server) -> None:
    async def scenario(world: World) -> None:
        talk = await world.talk(b"GET /much HTTP/1.1\r\nHost: test\r\n\r\n")
        guest: list[Any] = []

        def stuck() -> bool:
            guest[:] = world.crowd._guests
            return bool(guest) and guest[0]._unread_since is not None

        await world.until(stuck)
        world.later(UNREAD_ANSWER_SECONDS)
        assert world.held() == 1
        world.later(1)
        await world.until(lambda: world.held() == 0)
        talk.writer.close()

    run(server, World(), scenario)


@both
@attack("W5")
def test_a_full_server_closes_who_waits_longest_and_serves_who_asks(server: Server) -> None:
    async def scenario(world: World) -> None:
        waiting = []
        for _ in range(3):
            waiting.append(await world.talk(b"POST /mcp HTTP/1.1\r\n"))
            await world.until(lambda: world.held() == len(waiting))
            world.now += 1
        talk = await world.talk(ANN_HEAD + b"Content-Length: %d\r\n\r\n" % len(LIST) + LIST)

        assert (await talk.answer())[0] == 200
        assert await waiting[0].ends() == b""
        assert world.held() == 3
        assert world.lines() == [("a waiting connection made room", 1)]

    run(server, World(most=3), scenario)


@attack("W5")
def test_a_server_whose_connections_are_all_at_work_says_when_to_come_again() -> None:
    async def scenario(world: World) -> None:
        for number in (1, 2):  # admitted, and still sending
            await world.talk(ANN_HEAD + b"Content-Length: 100\r\n\r\n{")
            await world.until(lambda number=number: world.held() == number)  # type: ignore[misc]
        await asyncio.sleep(0.05)
        talks = [await world.talk(HEAD + b"\r\n") for _ in range(TURNED_AWAY + 5)]
        answers = [await talk.ends() for talk in talks]

        assert answers[0].startswith(b"HTTP/1.1 503")
        assert b"retry-after: 5\r\n" in answers[0]
        assert sum(map(bool, answers)) <= TURNED_AWAY
        assert world.held() == 2
        assert world.lines() == [("too many connections", 1)]
        world.later(60)
        assert ("too many connections", TURNED_AWAY + 4) in world.lines()

    run(serving, World(most=2), scenario)


class Guest:
    """A connection at work, from anywhere."""

    waits_since = None

    def __init__(self, address: str) -> None:
        self.address = address
        self.status = 0

    def drop(self) -> None:
        self.status = -1

    def turn_away(self, status: int) -> None:
        self.status = status

    def end_if_late(self, now: float) -> str | None:
        return None


@attack("W5")
@pytest.mark.parametrize(
    ("addresses", "statuses"),
    [
        (["9.9.9.9", "9.9.9.9", "8.8.8.8"], [0, 429, 0]),
        (["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"], [0, 429, 0]),
        (["::ffff:9.9.9.9", "9.9.9.9"], [0, 429]),
        (["127.0.0.1", "127.0.0.1", "::1", "::1"], [0, 0, 0, 0]),
        (["203.0.113.7", "203.0.113.8", "203.0.113.7"], [0, 0, 0]),
        (["", ""], [0, 0]),
    ],
)
def test_one_address_has_so_many_connections_but_this_machine_and_its_proxies_all(
    addresses: list[str], statuses: list[int]
) -> None:
    world = World(of_one_address=1, proxies=("203.0.113.0/24",))
    guests = [Guest(address) for address in addresses]
    for guest in guests:
        world.crowd.enter(guest)

    assert [guest.status for guest in guests] == statuses
    for guest in guests:
        world.crowd.leave(guest)
    again = Guest(addresses[0])
    world.crowd.enter(again)
    assert again.status == 0


@both
@attack("W6")
@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (
            b"POST /mcp HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            400,
        ),
        (
            b"POST /mcp HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n",
            400,
        ),
        (b"POST /mcp HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip, chunked\r\n", 501),
        (b"POST /mcp HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nContent-Length: 6\r\n", 400),
        (b"POST /mcp HTTP/1.0\r\nHost: t\r\nTransfer-Encoding: chunked\r\n", 400),
        (b"POST /mcp HTTP/0.9\r\nHost: t\r\n", 505),
        (b"POST /mcp HTTP/1.2\r\nHost: t\r\n", 505),
        (b"POST /mcp HTTP/2.0\r\nHost: t\r\n", 505),
        (b"POST /mcp HTTP/9.9\r\nHost: t\r\n", 505),
        (b"GET /mcp\r\n", 400),
        (b"POST /mcp HTTP/1.1\r\n", 400),
        (b"POST /mcp HTTP/1.1\r\nHost: t\r\nX : y\r\n", 400),
        (b"POST /mcp HTTP/1.1\r\nHost: t\r\nX: " + b"x" * 70_000 + b"\r\n", 431),
    ],
)
def test_a_request_that_may_be_read_in_two_ways_ends_the_connection(
    server: Server, request_: bytes, status: int
) -> None:
    async def scenario(world: World) -> None:
        follow = ANN_HEAD + b"Content-Length: %d\r\n\r\n" % len(LIST) + LIST
        talk = await world.talk(request_ + b"\r\n0\r\n\r\n" + follow)

        text = await talk.ends()
        assert text.startswith(b"HTTP/1.1 %d " % status) or (status == 431 and text == b"")
        assert text.count(b"HTTP/1.1") <= 1
        await world.until(lambda: world.held() == 0)

    run(server, World(), scenario)


def test_a_connection_that_does_not_close_is_aborted() -> None:
    async def scenario(world: World) -> None:
        talk = await world.talk(b"GET /much HTTP/1.1\r\nHost: test\r\n\r\n")
        await talk.status()
        await world.until(lambda: world.held() == 1)
        guest: Any = next(iter(world.crowd._guests))
        await world.until(lambda: guest._unread_since is not None)
        guest.transport.close()
        world.later(1)
        world.later(CLOSING_SECONDS + 1)
        await world.until(lambda: world.held() == 0)

    run(serving, World(), scenario)


def test_strangers_write_one_line_of_a_kind_a_minute() -> None:
    now, log = [0.0], StringIO()
    rare = RareLog(Log("warning", log), time=lambda: now[0])
    for _ in range(1000):
        rare.write("warning", "server", said="a")
    rare.write("warning", "server", said="b")
    now[0] += 60
    rare.flush()
    rare.flush()

    entries = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(entry["said"], entry["times"]) for entry in entries] == [
        ("a", 1),
        ("b", 1),
        ("a", 999),
    ]

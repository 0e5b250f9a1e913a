"""A remote server that does as it is told, a proxy before it, and a client; all in one loop."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from nacre.firewall.proxy.http.http_proxy import ReverseProxy
from nacre.firewall.proxy.http.http_server import Connections
from nacre.firewall.proxy.upstream.remote_server import RemoteServer
from nacre.http_client.address import parse_address
from nacre.protocol.http.allowed_origins import Fences
from tests.firewall.guarding import MODERN, Scene, request
from tests.scaffolding.http_crowd import crowd
from tests.scaffolding.stream_server import protocol_server, stream_server

Json = dict[str, Any]
NAMES = frozenset({"127.0.0.1"})


@dataclass
class Received:
    """A request as it reached the remote server, and the way back."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    writer: asyncio.StreamWriter
    is_gone: bool = False

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def say(
        self, status: int, body: bytes = b"", kind: str = "application/json", **headers: str
    ) -> None:
        """Answer whole."""
        lines = [f"HTTP/1.1 {status} Told", f"content-length: {len(body)}"]
        lines += [f"content-type: {kind}"] if kind else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    async def result(self, result: Json, **headers: str) -> None:
        """Answer the request with a result."""
        await self.say(200, encoded(answer_to(self.json, result)), **headers)

    async def begin(self, **headers: str) -> None:
        """Begin a stream of events."""
        lines = ["HTTP/1.1 200 OK", "content-type: text/event-stream", "transfer-encoding: chunked"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def chunk(self, data: bytes) -> None:
        await self.raw(b"%x\r\n%b\r\n" % (len(data), data))

    async def event(self, message: Any, name: str = "message", **fields: str) -> None:
        data = message if isinstance(message, str) else json.dumps(message)
        lines = [f"event: {name}", *(f"{key}: {value}" for key, value in fields.items())]
        await self.chunk("\n".join([*lines, f"data: {data}"]).encode() + b"\n\n")

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    def cut(self) -> None:
        """Break the connection off."""
        self.writer.transport.abort()


Play = Callable[[Received], Awaitable[None]]


async def echo(received: Received) -> None:
    """Answer every request with what was asked, and take note of the rest."""
    message = received.json if received.body else {}
    if received.method != "POST":
        await received.say(405, kind="", allow="POST")
    elif "id" in message and "method" in message:
        await received.result(answer_of(message))
    else:
        await received.say(202, kind="")


def answer_of(message: Json) -> Json:
    """Return a plain result for a request."""
    match message["method"]:
        case "initialize":
            version = message["params"]["protocolVersion"]
            return {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "far", "version": "1"},
            }
        case "tools/list":
            return {"tools": []}
        case _:
            return {"content": [{"type": "text", "text": "done"}]}


class Insisting:
    """A server that asks twenty times during one call, and is slow to take the answers."""

    def __init__(self) -> None:
        self.waiting = self.most = 0
        self.answered: set[str] = set()

    async def play(self, received: Received) -> None:
        message = received.json
        if message.get("method") == "tools/call":
            await received.begin()
            for number in range(20):
                params = {"messages": [], "maxTokens": 1}
                await received.event(request(f"s{number}", "sampling/createMessage", params))
            while len(self.answered) < 20:
                await asyncio.sleep(0.005)
            await received.event(answer_to(message, {"content": []}))
            await received.end()
        elif "error" in message:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            await asyncio.sleep(0.01)
            self.waiting -= 1
            self.answered.add(message["id"])
            await received.say(202, kind="")
        else:
            await echo(received)


@dataclass
class Remote:
    """The remote server; `play` answers, `asked` is what reached it."""

    play: Play = echo
    received: list[Received] = field(default_factory=list)
    port: int = 0

    def messages(self) -> list[Any]:
        """Return the messages that reached it."""
        return [received.json for received in self.received if received.body]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, target, _ = head[0].split(" ")
                headers: dict[str, str] = {}
                for line in head[1:-2]:
                    name, _, value = line.partition(":")
                    assert name.lower() not in headers, f"{name} is sent twice"
                    headers[name.lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                received = Received(method, target, headers, body, writer)
                self.received.append(received)
                playing = asyncio.ensure_future(self.play(received))
                # Only one request at a time is sent on a connection, so what ends it is its end.
                ended = asyncio.ensure_future(self._until_gone(reader, received, playing))
                await playing
                ended.cancel()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _until_gone(
        self, reader: asyncio.StreamReader, received: Received, playing: "asyncio.Future[None]"
    ) -> None:
        while not reader.at_eof() and reader.exception() is None:
            await asyncio.sleep(0.005)
        received.is_gone = True
        playing.cancel()


@dataclass
class World:
    """The remote server, the proxy and the client of a test."""

    remote: Remote
    scene: Scene
    client: httpx2.AsyncClient
    url: str
    proxy: ReverseProxy
    warnings: list[str]
    faults: list[BaseException]

    async def post(self, message: Any, **headers: str) -> httpx2.Response:
        """Send a message as a client of the older generation does."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post(self.url, content=body, headers={**POSTED, **named})

    async def post_modern(self, message: Json, **headers: str) -> httpx2.Response:
        """Send a request with the headers that mirror it."""
        params = message.get("params", {})
        mirrors = {"mcp-protocol-version": MODERN, "mcp-method": message["method"]}
        if "name" in params:
            mirrors["mcp-name"] = params["name"]
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {**POSTED, **mirrors, **named}
        return await self.client.post(self.url, content=json.dumps(message), headers=sent)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(60):
            while not holds():
                await asyncio.sleep(0.005)


POSTED = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def run(
    scenario: Callable[[World], Awaitable[None]],
    *,
    play: Play = echo,
    scene: Scene | None = None,
    headers: tuple[tuple[str, str], ...] = (),
    path: str = "/mcp",
    seconds: float = 10.0,
    with_credentials: bool = False,
    limit: float | None = 30,
    cors: frozenset[str] = frozenset(),
) -> World:
    """Play a scenario against a proxy, and return what is left of it."""
    kept: list[World] = []

    async def main() -> None:
        remote = Remote(play)
        async with serving(remote):
            world_of = opened(
                remote, scene or Scene(lines=False), headers, path, seconds, with_credentials, cors
            )
            async with world_of as world:
                kept.append(world)
                async with asyncio.timeout(limit):
                    await scenario(world)

    asyncio.run(main())
    assert kept[0].faults == []
    return kept[0]


@asynccontextmanager
async def serving(remote: Remote) -> AsyncIterator[None]:
    """Serve as the remote server."""
    async with stream_server(remote.serve, limit=1 << 20) as remote.port:
        try:
            yield
        finally:
            for received in remote.received:
                received.cut()


@asynccontextmanager
async def opened(
    remote: Remote,
    scene: Scene,
    headers: tuple[tuple[str, str], ...],
    path: str,
    seconds: float,
    with_credentials: bool,
    cors: frozenset[str],
) -> AsyncIterator[World]:
    """Run a proxy before the remote server."""
    warnings: list[str] = []
    faults: list[BaseException] = []
    address = parse_address(f"http://127.0.0.1:{remote.port}{path}")
    proxy = ReverseProxy(
        RemoteServer(address, headers=headers, seconds=seconds),
        lambda caller: scene.new_guard(),
        fences=Fences(hosts=NAMES, origins=NAMES, cors=cors),
        warn=warnings.append,
        with_credentials=with_credentials,
    )
    connections = Connections(proxy.handle, faults.append, crowd())
    watching = asyncio.ensure_future(proxy.watch())
    try:
        async with (
            protocol_server(connections.accept) as port,
            httpx2.AsyncClient(timeout=60) as client,
        ):
            url = f"http://127.0.0.1:{port}{path}"
            yield World(remote, scene, client, url, proxy, warnings, faults)
    finally:
        watching.cancel()
        proxy.close()
        connections.close()
        await asyncio.sleep(0)


def answer_to(message: Json, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def encoded(message: Any) -> bytes:
    return json.dumps(message).encode()


def events(text: str) -> list[tuple[Mapping[str, str], Any]]:
    """Return the events of a stream: their fields, and the JSON of those that carry some."""
    found: list[tuple[Mapping[str, str], Any]] = []
    for block in text.split("\n\n"):
        fields: dict[str, str] = {}
        data: list[str] = []
        for line in block.split("\n"):
            name, colon, value = line.partition(": ")
            if name == "data":
                data.append(value)
            elif colon and name:
                fields[name] = value
        if data or fields:
            joined = "\n".join(data)
            found.append((fields, json.loads(joined) if joined[:1] in "{[" and joined else joined))
    return found

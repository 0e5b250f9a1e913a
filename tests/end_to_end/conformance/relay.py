"""What stands between the official suite and a server that runs as in production.

The suite cannot send a token, and it calls its fixtures by their bare names. The relay adds the
token, and the prefix that tools and prompts of an owner's server have. Everything else passes as
it is, in both directions and as it comes.
"""

import asyncio
import base64
import json
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx2

from nacre import ToolServer
from nacre.protocol.http.asgi import AsgiApp, Receive, Scope, Send
from tests.scaffolding.asgi_server import served

_NAMED = {"tools/call", "prompts/get"}
_OWN_HEADERS = {"host", "content-length", "connection", "transfer-encoding", "keep-alive"}
_SECONDS = 60


@contextmanager
def relayed(url: str, *, token: str, server: ToolServer) -> Iterator[str]:
    """Yield the URL at which the suite reaches the fixtures of a server."""
    with served(_relay(url, token, Names(server))) as front:
        yield front


class Names:
    """The fixtures' names, as the suite and as production has them."""

    def __init__(self, server: ToolServer) -> None:
        self.prefix = f"mcp__{server.name}__"
        self._bare = {str(each["name"]) for each in (*server.tools(), *server.prompts())}

    def there(self, name: str) -> str:
        """Return the name in production; what is no fixture keeps its own."""
        return self.prefix + name if name in self._bare else name


def _relay(url: str, token: str, names: Names) -> AsgiApp:
    there = urlsplit(url)
    clients: list[httpx2.AsyncClient] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            async with httpx2.AsyncClient(timeout=_SECONDS, trust_env=False) as client:
                clients.append(client)
                await send({"type": "lifespan.startup.complete"})
                await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        body = b""
        while True:
            part = await receive()
            body += part.get("body", b"")
            if not part.get("more_body"):
                break
        headers = [(name.decode(), value.decode("latin-1")) for name, value in scope["headers"]]
        host = next((value for name, value in headers if name == "host"), "")
        if host == "{}:{}".format(*scope["server"]):
            host = there.netloc
        body, is_named = _prefixed(body, names)
        passed = [("host", host), ("authorization", f"Bearer {token}")]
        for name, value in headers:
            if name not in _OWN_HEADERS:
                renamed = is_named and name == "mcp-name"
                passed.append((name, _prefixed_header(value, names) if renamed else value))
        path = there.path if scope["path"] == "/mcp" else scope["path"]
        request = clients[0].build_request(
            scope["method"],
            f"{there.scheme}://{there.netloc}{path}",
            headers=passed,
            content=body,
        )
        async with _hung_up(receive):
            response = await clients[0].send(request, stream=True)
            try:
                await _answer(response, names.prefix.encode(), send)
            finally:
                await response.aclose()

    return app


async def _answer(response: httpx2.Response, prefix: bytes, send: Send) -> None:
    kept = [
        (name.lower(), value)
        for name, value in response.headers.raw
        if name.lower().decode() not in _OWN_HEADERS
    ]
    start = {"type": "http.response.start", "status": response.status_code, "headers": kept}
    if "text/event-stream" not in response.headers.get("content-type", ""):
        body = (await response.aread()).replace(prefix, b"")
        await send({**start, "headers": [*kept, (b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})
        return
    await send(start)
    # Every event comes as one piece or in lines, never cut within a name.
    async for line in response.aiter_lines():
        piece = f"{line}\n".encode().replace(prefix, b"")
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def _hung_up(receive: Receive) -> Any:
    """Give up the request when the suite does."""
    current = asyncio.current_task()
    assert current is not None

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        current.cancel()

    watching = asyncio.create_task(watch())
    try:
        with suppress(asyncio.CancelledError, httpx2.TransportError):
            yield
    finally:
        watching.cancel()


def _prefixed(body: bytes, names: Names) -> tuple[bytes, bool]:
    """Return the message with its tool or prompt under the name it has in production."""
    try:
        message: Any = json.loads(body)
    except ValueError:
        return body, False
    if not isinstance(message, dict) or not isinstance(params := message.get("params"), dict):
        return body, False
    named = params
    if message.get("method") == "completion/complete" and isinstance(params.get("ref"), dict):
        named = params["ref"]
    elif message.get("method") not in _NAMED:
        return body, False
    if isinstance(named.get("name"), str):
        named["name"] = names.there(named["name"])
        body = json.dumps(message).encode()
    return body, named is params


def _prefixed_header(value: str, names: Names) -> str:
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return names.there(value)
    try:
        decoded = base64.b64decode(value[9:-2], validate=True).decode()
    except ValueError:
        return value
    return f"=?base64?{base64.b64encode(names.there(decoded).encode()).decode()}?="

"""The whole web face without a socket: on the laptop, and behind API Gateway.

A front takes one request and gives its answer, through the real applications and handlers; a
browser keeps cookies and sends the forms that pages show.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from io import StringIO
from random import Random
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit

from fastapi import FastAPI

from nacre import ToolResult, ToolServer
from nacre.access.authority import Authority, authority
from nacre.access.tokens.authentication import Gate
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.application import Application
from nacre.core.errors import UnavailableError
from nacre.core.logs import Log
from nacre.core.token_prefixes import API
from nacre.faces.aws_lambda.mcp_http import mcp_handler
from nacre.faces.aws_lambda.portal import portal_handler
from nacre.faces.aws_lambda.token_authorizer import authorizer_handler
from nacre.faces.http.laptop_server import asgi_app
from nacre.faces.mcp_endpoint import called_address
from nacre.ports.other_programs.client_documents import ClientDocuments
from nacre.protocol.dispatch.request_state import RequestStates, SigningKeys
from nacre.protocol.http.allowed_origins import Fences
from nacre.protocol.http.asgi import AsgiApp
from nacre.protocol.http.http_messages import HttpRequest
from nacre.protocol.principal import FULL, Principal
from nacre.web.portal import portal_app
from nacre.web.portal_parts import Portal, stack_portal
from tests.access.conftest import Time
from tests.scaffolding.lambda_events import LambdaContext, Sent, body_of, http_api_event

ADDRESS = "203.0.113.1"
Headers = Mapping[str, str]
AddRoutes = Callable[[FastAPI], None]


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer."""

    status: int
    pairs: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def __getitem__(self, name: str) -> str:
        """Return a header's value, empty where there is none."""
        return ", ".join(value for key, value in self.pairs if key == name.lower())

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name.lower()]


class LaptopFront:
    """The laptop server: one ASGI application on one event loop."""

    base = "http://127.0.0.1:8642"

    def __init__(self, app: AsgiApp) -> None:
        self._app = app
        self._runner = asyncio.Runner()

    def send(self, method: str, target: str, headers: Headers, body: bytes = b"") -> Answer:
        return self._runner.run(self._send(method, target, headers, body))

    async def _send(self, method: str, target: str, headers: Headers, body: bytes) -> Answer:
        parts = urlsplit(target)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "method": method,
            "path": unquote(parts.path),
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "headers": [(n.lower().encode(), v.encode("latin-1")) for n, v in headers.items()],
            "client": (ADDRESS, 50_000),
            "server": ("127.0.0.1", 8642),
            "root_path": "",
        }
        sent: list[Any] = []
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if waiting:
                return waiting.pop()
            await asyncio.sleep(3600)
            raise AssertionError

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        start = sent[0]
        pairs = tuple((n.decode().lower(), v.decode("latin-1")) for n, v in start["headers"])
        return Answer(start["status"], pairs, b"".join(each.get("body", b"") for each in sent[1:]))

    def close(self) -> None:
        self._runner.close()


class GatewayFront:
    """API Gateway: its routes, its authorizer, its bare refusals and its renamed header."""

    base = "https://api.execute-api.eu-central-1.amazonaws.com"

    def __init__(
        self,
        mcp: Callable[..., Any],
        portal: Portal,
        authorizer: Callable[..., Any],
        more: list[AddRoutes],
    ) -> None:
        self._mcp = mcp
        self._authorizer = authorizer
        self._loop = asyncio.new_event_loop()
        self._portal = self._on_loop(portal_handler, portal, *more)

    def send(self, method: str, target: str, headers: Headers, body: bytes = b"") -> Answer:
        sent = Sent(method, target, headers, body)
        path = sent.path
        if path != "/mcp" and not re.fullmatch(r"/mcp/[^/]+", path):
            return self._answer(
                self._on_loop(self._portal, http_api_event(sent, None), LambdaContext())
            )
        given = sent.lower_headers.get("authorization")
        if not given:
            return Answer(401, (), b'{"message":"Unauthorized"}')
        return self.to_function(http_api_event(sent, self.said(given)))

    def said(self, authorization: str) -> dict[str, str]:
        """Return what the authorizer says of a header."""
        said = self._authorizer({"identitySource": [authorization], "headers": {}}, None)
        assert said["isAuthorized"] is True
        context: dict[str, str] = said["context"]
        return context

    def to_function(self, event: Any) -> Answer:
        """Give an event to the MCP function, whatever the authorizer would say."""
        return self._answer(self._mcp(event, LambdaContext()))

    def _on_loop(self, function: Callable[..., Any], *arguments: Any) -> Any:
        asyncio.set_event_loop(self._loop)  # Mangum's, which it would otherwise make and leave
        try:
            return function(*arguments)
        finally:
            asyncio.set_event_loop(None)

    def _answer(self, result: Any) -> Answer:
        names = {"www-authenticate": "x-amzn-remapped-www-authenticate"}
        pairs = [(n.lower(), v) for n, v in (result.get("headers") or {}).items()]
        pairs += [("set-cookie", cookie) for cookie in result.get("cookies") or []]
        renamed = tuple((names.get(name, name), value) for name, value in pairs)
        return Answer(result["statusCode"], renamed, body_of(result))

    def close(self) -> None:
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


@dataclass
class Site:
    """A place with one owner, `me`, and one Being, `Ann`, as one front serves it."""

    front: LaptopFront | GatewayFront
    authority: Authority
    database: SqliteDatabase
    tokens: Any
    time: Time
    being: str
    log: StringIO
    calls: list[str] = field(default_factory=list)

    @property
    def base(self) -> str:
        return self.front.base

    @property
    def host(self) -> str:
        return urlsplit(self.base).netloc

    def send(
        self, method: str, target: str, *, body: bytes = b"", headers: Headers | None = None
    ) -> Answer:
        return self.front.send(method, target, {"host": self.host, **(headers or {})}, body)

    def get(self, target: str, headers: Headers | None = None) -> Answer:
        return self.send("GET", target, headers=headers)

    def post_form(self, target: str, fields: Any, headers: Headers | None = None) -> Answer:
        kind = {"content-type": "application/x-www-form-urlencoded"}
        body = urlencode(fields).encode()
        return self.send("POST", target, body=body, headers={**kind, **(headers or {})})

    def post_json(self, target: str, value: Any, headers: Headers | None = None) -> Answer:
        kind = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.send("POST", target, body=body, headers={**kind, **(headers or {})})

    def call(self, token: str | None, tool: str = "get_current_time", path: str = "/mcp") -> Answer:
        """Call a tool as a client of 2025 does, without a handshake."""
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": {}},
        }
        bearer = {} if token is None else {"authorization": f"Bearer {token}"}
        return self.post_json(path, message, {"mcp-protocol-version": "2025-11-25", **bearer})

    def api_token(self, scopes: frozenset[str] = FULL) -> str:
        from datetime import timedelta

        return self.authority.tokens.issue(
            API, being_id=self.being, owner="me", scopes=scopes, lifetime=timedelta(days=1)
        ).token

    def stop_store(self) -> None:
        """Let every look into the store of tokens fail from now on."""
        self.tokens.stopped = True

    def dump(self) -> str:
        """Return every item of the store, as a thief of the file would read it."""
        with self.database.read() as connection:
            return "\n".join(connection.iterdump())

    def link(self) -> str:
        return self.authority.sign_in.links.make("me").secret


class _Stoppable:
    """A table that can be made to fail."""

    def __init__(self, table: SqliteTable) -> None:
        self.table = table
        self.stopped = False

    def __getattr__(self, name: str) -> Any:
        if self.stopped:
            raise UnavailableError("the store cannot be reached")
        return getattr(self.table, name)


class Browser:
    """Cookies, and forms that are sent as a page shows them."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.cookies: dict[str, str] = {}

    def get(self, target: str, **headers: str) -> Answer:
        return self._keep(self.site.get(target, {**self._own(), "accept": "text/html", **headers}))

    def post(self, target: str, fields: Any, **headers: str) -> Answer:
        """Send a form from a page of the site, shown without a referrer."""
        sent = {**self._own(), "accept": "text/html", "origin": "null"}
        sent |= {"sec-fetch-site": "same-origin", **headers}
        return self._keep(self.site.post_form(target, fields, sent))

    def submit(self, page: Answer, action: str, /, **changes: str) -> Answer:
        """Send the first form of a page that goes to an address, with some fields changed."""
        return self.post(action, {**form_of(page, action), **changes})

    def sign_in(self, secret: str | None = None) -> Answer:
        page = self.get("/sign-in")
        return self.submit(page, "/sign-in", secret=secret or self.site.link())

    def _own(self) -> dict[str, str]:
        pairs = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"cookie": pairs} if pairs else {}

    def _keep(self, answer: Answer) -> Answer:
        for cookie in answer.all("set-cookie"):
            name, _, rest = cookie.partition("=")
            value = rest.partition(";")[0].strip('"')
            self.cookies.pop(name, None)
            if value:
                self.cookies[name] = value
        return answer


def form_of(page: Answer, action: str) -> dict[str, str]:
    """Return the fields of the first form of a page that goes to an address."""
    form = re.search(
        rf'<form[^>]*action="{re.escape(action)}"[^>]*>(.*?)</form>', page.text, re.DOTALL
    )
    assert form is not None, page.text
    fields = {}
    for tag in re.findall(r"<input[^>]*>", form[1]):
        name, value, kind = (re.search(rf'\b{each}="([^"]*)"', tag) for each in _ATTRIBUTES)
        if name and (kind is None or kind[1] not in ("radio", "checkbox") or " checked" in tag):
            fields[unescape(name[1])] = unescape(value[1]) if value else ""
    for area, text in _AREA.findall(form[1]):
        fields[unescape(area)] = unescape(text)
    return fields


_AREA = re.compile(r'<textarea[^>]*\bname="([^"]*)"[^>]*>\n?(.*?)</textarea>', re.DOTALL)


_ATTRIBUTES = ("name", "value", "type")


@contextmanager
def site(
    front: str,
    documents: ClientDocuments | None = None,
    public_url: str = "",
    pages: Callable[[SqliteDatabase, Any, Time, str], AddRoutes] | None = None,
) -> Iterator[Site]:
    """Serve a place by one of the fronts: `laptop` or `gateway`.

    `pages` makes what adds further pages, over the database, its data, the clock and the Being.
    """
    time, log = Time(), StringIO()
    database = SqliteDatabase(":memory:")
    table: Any = _Stoppable(SqliteTable(database, "tokens", now=time))
    data: Any = SqliteTable(database, "data", now=time)
    made = authority(table, data, documents=documents, clock=time, rng=Random(1))
    being = made.beings.create("Ann", owner="me").being_id
    calls: list[str] = []
    serve = _laptop if front == "laptop" else _gateway
    more = [] if pages is None else [pages(database, data, time, being)]
    served = serve(made, time, _tools(calls), log, public_url, more)
    served.base = public_url or served.base
    try:
        yield Site(served, made, database, table, time, being, log, calls)
    finally:
        served.close()
        database.close()


def _laptop(
    made: Authority,
    time: Time,
    app: Application,
    log: StringIO,
    public_url: str,
    more: list[AddRoutes],
) -> LaptopFront:
    gate = Gate(made.tokens.lookup, time)
    base = called_address(public_url, scheme="http")

    def admit(request: HttpRequest, path_being: str | None, query_being: str | None) -> Principal:
        return gate.admit(
            authorization=request.headers.get("authorization"),
            path_being=path_being,
            query_being=query_being,
            base=base(request),
        )

    names = frozenset({"127.0.0.1", "localhost", "[::1]"})
    fences = Fences(hosts=names, origins=names, cors=frozenset({"https://allowed.example"}))
    takes_documents = made.clients.takes_documents
    portal = Portal(
        lambda: made, public_url, fences, Log(stream=log), takes_documents=takes_documents
    )
    elsewhere = portal_app(portal, *more)
    return LaptopFront(
        asgi_app(
            app,
            admit=admit,
            fences=fences,
            log=Log(stream=log),
            elsewhere=elsewhere,
            base=base,
        )
    )


def _gateway(
    made: Authority,
    time: Time,
    app: Application,
    log: StringIO,
    public_url: str,
    more: list[AddRoutes],
) -> GatewayFront:
    lookup = made.tokens.lookup
    return GatewayFront(
        mcp_handler(app, log=Log(stream=log), public_url=public_url),
        stack_portal(lambda: made, public_url, Log(stream=log)),
        authorizer_handler(lookup, now=lambda: time().timestamp()),
        more,
    )


def _tools(calls: list[str]) -> Application:
    """Return two tools of known names, one that reads and one that writes, which say who called."""
    server = ToolServer("nacre", "1")

    def add(name: str) -> None:
        async def run() -> ToolResult:
            calls.append(name)
            return ToolResult.text("done")

        run.__doc__ = "Do it."
        from nacre import tool

        server.register_tool(tool(name=name)(run))

    add("get_current_time")
    add("update_notes")
    keys = SigningKeys(b"k" * 32)
    return Application(server, RequestStates(lambda: keys, Time()))

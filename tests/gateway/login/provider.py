"""An MCP server and its authorization server, in one thread; it does odd things on demand."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.scaffolding.server_threads import answering

TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("whoami", "write")]


@dataclass
class Provider:
    """What it was asked, whom it knows, and how it misbehaves.

    `metadata` and `resource` replace members of the two documents; None removes one.
    """

    base: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    resource: dict[str, Any] = field(default_factory=dict)
    challenge: str | None = None
    lifetime: int | None = 3600
    rotates: bool = True
    token_error: tuple[int, dict[str, Any]] | None = None
    iss: str | None = "own"  # "own", another text, or None to send none
    token_extra: dict[str, Any] = field(default_factory=dict)
    write_scope: str | None = None  # the scope that the tool `write` asks for
    asked: list[str] = field(default_factory=list)
    forms: list[dict[str, str]] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)
    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    access: dict[str, tuple[str, str]] = field(default_factory=dict)  # token: account, scope
    refresh: dict[str, tuple[str, str]] = field(default_factory=dict)
    used_refresh: list[str] = field(default_factory=list)
    revoked: list[str] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)  # tool, account
    pause: threading.Event | None = None  # a refresh waits for it
    refreshing: threading.Event = field(default_factory=threading.Event)
    count: int = 0
    guard: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"{self.base}/mcp"

    def new(self, kind: str) -> str:
        self.count += 1
        return f"{kind}-{self.count}-{self.base.rpartition(':')[2]}"

    def document(self) -> dict[str, Any]:
        document = {
            "issuer": self.base,
            "authorization_endpoint": f"{self.base}/authorize",
            "token_endpoint": f"{self.base}/token",
            "registration_endpoint": f"{self.base}/register",
            "revocation_endpoint": f"{self.base}/revoke",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            "authorization_response_iss_parameter_supported": self.iss is not None,
            **self.metadata,
        }
        return {name: value for name, value in document.items() if value is not None}

    def about(self) -> dict[str, Any]:
        about = {"resource": self.url, "authorization_servers": [self.base], **self.resource}
        return {name: value for name, value in about.items() if value is not None}

    def consent(self, url: str, account: str = "ann") -> dict[str, str]:
        """Let a person agree in the browser; return the answer that it carries back."""
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query))
        assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{self.base}/authorize"
        assert query["redirect_uri"] in self.clients[query["client_id"]]["redirect_uris"]
        assert query["code_challenge_method"] == "S256"
        code = self.new("code")
        self.codes[code] = {**query, "account": account}
        answer = {"code": code, "state": query["state"]}
        if self.iss is not None:
            answer["iss"] = self.base if self.iss == "own" else self.iss
        return answer

    def tokens(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if form["grant_type"] == "authorization_code":
            asked = self.codes.pop(form["code"], None)
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            if asked is None or proof != asked["code_challenge"]:
                return 400, {"error": "invalid_grant"}
            assert form["redirect_uri"] == asked["redirect_uri"]
            assert form["resource"] == asked["resource"]
            account, scope = asked["account"], asked.get("scope", "")
        else:
            known = self.refresh.get(form["refresh_token"])
            if known is None:
                self.used_refresh.append(form["refresh_token"])
                return 400, {"error": "invalid_grant"}
            account, scope = known
            if self.rotates:
                del self.refresh[form["refresh_token"]]
        access, refresh = self.new("access"), self.new("refresh")
        self.access[access] = (account, scope)
        answer: dict[str, Any] = {"access_token": access, "token_type": "Bearer", "scope": scope}
        if self.lifetime is not None:
            answer["expires_in"] = self.lifetime
        if self.rotates or form["grant_type"] == "authorization_code":
            self.refresh[refresh] = (account, scope)
            answer["refresh_token"] = refresh
        return 200, {**answer, **self.token_extra}


@contextmanager
def provider(**options: Any) -> Iterator[Provider]:  # noqa: C901 - a server with several doors
    """Run one on loopback."""
    state = Provider(**options)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            state.asked.append(self.path)
            documents = {
                "/.well-known/oauth-protected-resource/mcp": state.about,
                "/.well-known/oauth-authorization-server": state.document,
            }
            document = documents.get(self.path)
            if document is None:
                self.reply(404 if self.path != "/mcp" else 405, {})
            else:
                self.reply(200, document())

        def do_POST(self) -> None:
            state.asked.append(self.path)
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/mcp":
                self.answer_mcp(json.loads(body))
            elif self.path == "/register":
                client_id = state.new("client")
                state.clients[client_id] = json.loads(body)
                self.reply(201, {**state.clients[client_id], "client_id": client_id})
            elif self.path == "/revoke":
                form = dict(parse_qsl(body.decode()))
                state.revoked.append(form["token"])
                state.access.pop(form["token"], None)
                state.refresh.pop(form["token"], None)
                self.reply(200, {})
            else:
                form = dict(parse_qsl(body.decode()))
                state.forms.append(form)
                state.authorizations.append(self.headers.get("authorization"))
                if form["grant_type"] == "refresh_token" and state.pause is not None:
                    state.refreshing.set()
                    state.pause.wait(60)
                if state.token_error is not None:
                    self.reply(*state.token_error)
                    return
                with state.guard:
                    answer = state.tokens(form)
                self.reply(*answer)

        def answer_mcp(self, message: dict[str, Any]) -> None:
            token = (self.headers.get("authorization") or "").removeprefix("Bearer ")
            known = state.access.get(token)
            if known is None:
                place = f"{state.base}/.well-known/oauth-protected-resource/mcp"
                value = state.challenge or f'Bearer realm="x", resource_metadata="{place}"'
                self.reply(401, {"error": "no"}, {"www-authenticate": value})
                return
            account, scope = known
            cached = {"ttlMs": 0, "cacheScope": "private"}
            match message["method"]:
                case "server/discover":
                    found: dict[str, Any] = {
                        "supportedVersions": ["2026-07-28"],
                        "capabilities": {"tools": {}, "resources": {}},
                        **cached,
                    }
                case "tools/list":
                    found = {"tools": TOOLS, **cached}
                case "resources/list":
                    one = {"uri": f"notes://{account}/1", "name": f"a note of {account}"}
                    found = {"resources": [one], **cached}
                case "resources/templates/list":
                    found = {"resourceTemplates": [], **cached}
                case _:
                    name = message["params"]["name"]
                    needed = state.write_scope if name == "write" else None
                    if needed is not None and needed not in scope.split():
                        value = f'Bearer error="insufficient_scope", scope="{needed}"'
                        self.reply(403, {"error": "scope"}, {"www-authenticate": value})
                        return
                    state.calls.append((name, account))
                    found = {"content": [{"type": "text", "text": account}]}
            result = {"resultType": "complete", **found}
            self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})

        def reply(
            self, status: int, value: dict[str, Any], headers: dict[str, str] | None = None
        ) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            for name, text in (headers or {}).items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.base = f"http://127.0.0.1:{server.server_port}"
    with answering(server):
        yield state


def answer_url(redirect_uri: str, answer: dict[str, str]) -> str:
    """Return the address to which the browser is sent back."""
    return f"{redirect_uri}?{urlencode(answer)}"

"""The rules of the MCP endpoint over HTTP, for any server that speaks HTTP.

A face turns its own request into an HttpRequest, asks the endpoint to begin, and
gets a finished reply or a call that still has to run.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from nacre.errors import (
    ForbiddenError,
    HeaderMismatchError,
    InvalidParamsError,
    MalformedMessageError,
    NacreError,
    TooLargeError,
    UnsupportedVersionError,
)
from nacre.limits import MAX_BODY_BYTES
from nacre.protocol import headers as mirrors
from nacre.protocol.answers import Answer, Failure, refusal
from nacre.protocol.context import Channel
from nacre.protocol.dispatch import Call, Caller, Dispatcher, Peer, Rulebook
from nacre.protocol.messages import Notification, Request, RequestId, Response, parse_message
from nacre.protocol.principal import Principal
from nacre.protocol.versions import (
    META_CAPABILITIES,
    META_CLIENT,
    META_VERSION,
    SUPPORTED_VERSIONS,
    UNDECLARED,
    is_modern,
)

PATH = "/mcp"
_BEING_PATH = re.compile(r"/mcp(?:/([0-9A-Za-z_-]{1,64}))?/?")
_JSON = "application/json"
_STREAM = "text/event-stream"
_JSON_HEADERS = (("content-type", _JSON),)
_INVALID_REQUEST = -32600
Header = tuple[str, str]


# Freezing a dataclass makes building one four times as slow, and a call builds ten of
# them: the values of the wire are not frozen, and nobody changes them all the same.
@dataclass(slots=True)
class HttpRequest:
    """One HTTP request; header names are in lower case, repeated ones joined by a comma."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    # What the front says of the caller (API Gateway's authorizer context), not the caller's word.
    authorizer: Mapping[str, Any] | None = None


@dataclass(slots=True)
class HttpReply:
    """One HTTP answer; `cause` is for the log, never for the client."""

    status: int
    own_headers: tuple[Header, ...] = ()
    body: bytes = b""
    cause: Exception | None = None
    cors: tuple[Header, ...] = ()

    @property
    def headers(self) -> tuple[Header, ...]:
        """All headers, those for web pages of other origins included."""
        return self.own_headers + self.cors


@dataclass(slots=True)
class HttpCall:
    """A call that has yet to run, and how its answer may travel."""

    message: Request
    streams: bool
    caller: Caller
    call: Call
    cors: tuple[Header, ...] = ()

    @property
    def blocking(self) -> bool:
        """Whether the handler never awaits an event loop."""
        return self.call.blocking

    @property
    def tool(self) -> str | None:
        """The tool that is called, if one is."""
        return _tool_name(self.message)

    async def run(self, channel: Channel) -> HttpReply:
        """Run the call to its reply; what it sends meanwhile goes to the channel."""
        done = reply(await self.call.run(channel))
        if self.cors:
            done.cors = self.cors
        return done


class Peers(Protocol):
    """What is known of legacy clients between their requests, where anything is."""

    def of(self, request: HttpRequest, principal: Principal | None) -> Peer:
        """Return what the client has said about itself."""
        ...

    def deliver(self, principal: Principal | None, response: Response) -> bool:
        """Hand the client's answer to the call that waits for it; False when none does."""
        ...


class Strangers:
    """Nothing is known of any client: every request stands alone."""

    def of(self, request: HttpRequest, principal: Principal | None) -> Peer:
        """Return an empty record."""
        return Peer()

    def deliver(self, principal: Principal | None, response: Response) -> bool:
        """Refuse: nobody waits."""
        return False


Admit = Callable[[HttpRequest, str | None, str | None], Principal | None]
Challenge = Callable[[Exception, HttpRequest], str | None]


@dataclass(frozen=True, slots=True)
class Fences:
    """Which hosts and web origins may reach the endpoint; None lets every one pass."""

    hosts: frozenset[str] | None = None
    origins: frozenset[str] | None = None
    cors: frozenset[str] = frozenset()


class Endpoint:
    """The MCP endpoint: from an HTTP request to a reply, or to a call."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        rules: Rulebook,
        admit: Admit,
        challenge: Challenge,
        schema_of: Callable[[str], Mapping[str, Any] | None],
        fences: Fences | None = None,
        peers: Peers | None = None,
    ) -> None:
        self._dispatcher = dispatcher
        self._rules = rules
        self._admit = admit
        self._challenge = challenge
        self._schema_of = schema_of
        self._fences = fences or Fences()
        self._peers = peers or Strangers()

    @staticmethod
    def serves(path: str) -> bool:
        """Whether the path belongs to the endpoint."""
        return path == PATH or path.startswith(f"{PATH}/")

    def begin(self, request: HttpRequest) -> HttpReply | HttpCall:
        """Check the request; return its reply, or the call that will give it."""
        try:
            outcome = self._begin(request)
        except Exception as error:  # noqa: BLE001 - the edge: every request gets an answer
            outcome = self._refuse(request, error, None)
        if self._fences.cors:
            outcome.cors = self._cors(request)
        return outcome

    def _begin(self, request: HttpRequest) -> HttpReply | HttpCall:
        path = _BEING_PATH.fullmatch(request.path)
        if path is None:
            return HttpReply(404)
        self._check_fences(request)
        if request.method == "OPTIONS" and request.headers.get("origin") in self._fences.cors:
            return HttpReply(204)
        principal = self._admit(request, path.group(1), request.query.get("being_id"))
        if request.method != "POST":
            return _method_not_allowed()
        if len(request.body) > MAX_BODY_BYTES:
            raise TooLargeError("the request body", limit=MAX_BODY_BYTES)
        unfit = _unfit(request.headers)
        if unfit is not None:
            return unfit
        message = parse_message(request.body)
        match message:
            case Request():
                return self._request(request, message, principal)
            case Notification():
                self._notified(message)
                return HttpReply(202)
            case Response():
                return self._responded(message, principal)

    def _request(
        self, request: HttpRequest, message: Request, principal: Principal | None
    ) -> HttpReply | HttpCall:
        try:
            version = _version(request, message)
            if is_modern(version):
                tool = _tool_name(message)
                schema = None if tool is None else self._schema_of(tool)
                mirrors.check_mirrors(message, request.headers, schema)
                peer = declared_peer(message)
            else:
                peer = self._peers.of(request, principal)
        except NacreError as error:
            return self._refuse(request, error, message.id)
        caller = Caller(version, principal, peer, request.headers.get("x-llm-api-key"))
        outcome = self._dispatcher.begin(message, caller)
        if isinstance(outcome, Answer):
            return self._challenged(request, outcome)
        streams = _accepts(request.headers.get("accept"), _STREAM, by_default=False)
        return HttpCall(message, streams, caller, outcome)

    def _notified(self, message: Notification) -> None:
        # A cancellation names a request id, but without sessions ids of different
        # clients under one token collide; over HTTP, hanging up is what cancels.
        if not message.method.startswith("notifications/"):
            raise MalformedMessageError(
                f"'{message.method[:60]}' needs an 'id': it is a request, not a notification"
            )

    def _responded(self, message: Response, principal: Principal | None) -> HttpReply:
        if not self._peers.deliver(principal, message):
            raise MalformedMessageError("no request of this server waits for that response")
        return HttpReply(202)

    # Refusals.

    def _refuse(
        self, request: HttpRequest, error: Exception, request_id: RequestId | None
    ) -> HttpReply:
        if isinstance(error, MalformedMessageError) and request_id is None:
            request_id = error.request_id
        failure = self._rules.explain(error, modern=True)
        return self._challenged(request, refusal(request_id, failure, error))

    def _challenged(self, request: HttpRequest, failed: Answer) -> HttpReply:
        done = reply(failed)
        challenge = None if failed.cause is None else self._challenge(failed.cause, request)
        if challenge is None:
            return done
        extra = (("www-authenticate", challenge),)
        return HttpReply(done.status, done.headers + extra, done.body, done.cause)

    # Hosts, origins and CORS.

    def _check_fences(self, request: HttpRequest) -> None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if self._fences.hosts is not None and _hostname(host) not in self._fences.hosts:
            raise ForbiddenError("this host name is not served here; allow it with --host")
        if origin is None or self._fences.origins is None or origin in self._fences.cors:
            return
        if _hostname(origin.partition("://")[2]) not in self._fences.origins:
            raise ForbiddenError("this web origin may not call the server")

    def _cors(self, request: HttpRequest) -> tuple[Header, ...]:
        origin = request.headers.get("origin")
        if origin is None or origin not in self._fences.cors:
            return ()
        return (
            ("access-control-allow-origin", origin),
            ("vary", "origin"),
            ("access-control-expose-headers", "www-authenticate"),
            ("access-control-allow-methods", "POST"),
            ("access-control-allow-headers", _CORS_HEADERS),
            ("access-control-max-age", "600"),
        )


_CORS_HEADERS = (
    "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, x-llm-api-key"
)


def reply(done: Answer) -> HttpReply:
    """Return the HTTP form of a JSON-RPC response."""
    status = 200 if done.failure is None else done.failure.status
    return HttpReply(status, _JSON_HEADERS, done.body, done.cause)


def _method_not_allowed() -> HttpReply:
    done = _unfitting(405, "send messages by POST; there is no stream to open or close here")
    return HttpReply(done.status, (("allow", "POST"), *done.headers), done.body)


def _unfit(headers: Mapping[str, str]) -> HttpReply | None:
    kind = headers.get("content-type", _JSON)
    if kind != _JSON and kind.partition(";")[0].strip().lower() != _JSON:
        return _unfitting(415, f"send the message as {_JSON}, not as {kind[:80]}")
    if not _accepts(headers.get("accept"), _JSON, by_default=True):
        return _unfitting(406, f"answers are {_JSON} or {_STREAM}; accept both")
    return None


def _unfitting(status: int, text: str) -> HttpReply:
    return reply(refusal(None, Failure(_INVALID_REQUEST, text, status=status)))


@lru_cache(maxsize=128)  # a client sends the same header with each of its requests
def _accepts(accept: str | None, kind: str, *, by_default: bool) -> bool:
    if accept is None or not accept.strip():
        return by_default
    ranges = {entry.partition(";")[0].strip().lower() for entry in accept.split(",")}
    return bool(ranges & {kind, kind.partition("/")[0] + "/*", "*/*"})


def _version(request: HttpRequest, message: Request) -> str:
    """Return the version a request is made under; raises when header and body disagree."""
    sent = request.headers.get(mirrors.VERSION_HEADER)
    declared = message.meta.get(META_VERSION)
    if declared is None and (sent is None or not is_modern(sent)):
        return _legacy(message, sent)
    if sent is None:
        raise HeaderMismatchError("Header mismatch: MCP-Protocol-Version is missing")
    if declared is None:
        raise InvalidParamsError(f"params._meta needs '{META_VERSION}'")
    if declared != sent:
        raise HeaderMismatchError("Header mismatch: MCP-Protocol-Version does not match the body")
    if not is_modern(sent):
        raise UnsupportedVersionError(sent[:40], supported=SUPPORTED_VERSIONS)
    return sent


def _legacy(message: Request, sent: str | None) -> str:
    if sent is None or message.method == "initialize":
        return UNDECLARED
    if sent not in SUPPORTED_VERSIONS:
        raise UnsupportedVersionError(sent[:40], supported=SUPPORTED_VERSIONS)
    return sent


def declared_peer(message: Request) -> Peer:
    """Return what a modern request says of its client; raises when it must and does not."""
    capabilities = message.meta.get(META_CAPABILITIES)
    if not isinstance(capabilities, dict):
        raise InvalidParamsError(f"params._meta needs '{META_CAPABILITIES}', an object")
    info = message.meta.get(META_CLIENT)
    return Peer(capabilities, info if isinstance(info, dict) else {})


def _tool_name(message: Request) -> str | None:
    name = message.params.get("name")
    return name if message.method == "tools/call" and isinstance(name, str) else None


def _hostname(authority: str) -> str:
    authority = authority.partition("/")[0].lower()
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    return authority.partition(":")[0]

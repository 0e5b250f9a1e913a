"""The rules of the MCP endpoint over HTTP, for any server that speaks HTTP.

A face turns its own request into an HttpRequest, asks the endpoint to begin, and
gets a finished reply or a call that still has to run.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from nacre.core.errors import (
    HeaderMismatchError,
    InvalidParamsError,
    MalformedJsonError,
    MalformedMessageError,
    NacreError,
    TooLargeError,
    UnsupportedVersionError,
)
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_BODY_BYTES
from nacre.protocol.application_rules import Rulebook
from nacre.protocol.caller import Caller, declared_peer
from nacre.protocol.dispatch.methods import Dispatcher
from nacre.protocol.http.allowed_origins import Fences
from nacre.protocol.http.headers import VERSION_HEADER, check_mirrors
from nacre.protocol.http.http_messages import (
    JSON,
    STREAM,
    HttpCall,
    HttpReply,
    HttpRequest,
    called_tool,
    client_key,
    reply,
)
from nacre.protocol.http.legacy_clients import Peers, StatelessPeers
from nacre.protocol.large_calls import LargeArguments, LargeCall
from nacre.protocol.messages import (
    Answer,
    Failure,
    Notification,
    Request,
    RequestId,
    Response,
    is_request_id,
    parse_message,
    refusal,
)
from nacre.protocol.principal import Principal
from nacre.protocol.versions import (
    LEGACY_VERSIONS,
    META_VERSION,
    MODERN,
    SUPPORTED_VERSIONS,
    UNDECLARED,
)

PATH = "/mcp"
_PATH = re.compile(r"/mcp(?:/([0-9A-Za-z_-]{1,64}))?/?")
_INVALID_REQUEST = -32600
_LISTEN = "subscriptions/listen"

Admit = Callable[[HttpRequest, str | None, str | None], Principal | None]
Challenge = Callable[[Exception, HttpRequest], str | None]
SchemaOf = Callable[[str, Principal | None], Mapping[str, Any] | None]
"""From a tool's name to its schema as a caller sees it, if headers mirror some of it."""
Outcome = TypeVar("Outcome", HttpReply, HttpCall, HttpReply | HttpCall)


@dataclass(slots=True)  # not frozen: see HttpRequest
class Met:
    """A request whose head was accepted, and who sends it."""

    principal: Principal | None


def part_in(path: str) -> str | None:
    """Return the part of a path where the id of a Being or the name of a profile belongs."""
    match = _PATH.fullmatch(path)
    return None if match is None else match.group(1)


class Endpoint:
    """The MCP endpoint: from an HTTP request to a reply, or to a call.

    The body of an admitted caller has at most `call_bytes`.
    """

    serves = staticmethod(re.compile(rf"{PATH}(?:/|\Z)").match)
    """Match a path that belongs to the endpoint."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        rules: Rulebook,
        admit: Admit,
        challenge: Challenge,
        schema_of: SchemaOf,
        fences: Fences | None = None,
        peers: Peers | None = None,
        call_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._dispatcher = dispatcher
        self._rules = rules
        self._admit = admit
        self._challenge = challenge
        self._schema_of = schema_of
        self._fences = fences or Fences()
        self._peers = peers or StatelessPeers()
        self.call_bytes = call_bytes

    def meet(self, head: HttpRequest) -> HttpReply | Met:
        """Check all that a request's head says; return its refusal, or who sends it.

        A server that reads bodies as they come calls this first, so that a stranger cannot make
        it read one.
        """
        try:
            outcome = self._meet(head)
        except Exception as error:  # noqa: BLE001 - the edge: every request gets an answer
            outcome = self._refuse(head, error, None)
        return outcome if isinstance(outcome, Met) else self._shared(head, outcome)

    def begin(self, request: HttpRequest, met: Met | None = None) -> HttpReply | HttpCall:
        """Check the request; return its reply, or the call that will give it.

        `met` is what `meet` returned, where the head was checked before.
        """
        try:
            checked = met or self._meet(request)
            if isinstance(checked, HttpReply):
                return self._shared(request, checked)
            outcome = self._begin(request, checked.principal)
        except Exception as error:  # noqa: BLE001 - the edge: every request gets an answer
            outcome = self._refuse(request, error, None)
        return self._shared(request, outcome)

    def reads_arguments(self, call: LargeCall, met: Met) -> bool:
        """Tell whether `begin` reads the arguments of a large call."""
        return call.tool is not None and (
            self._dispatcher.redirects(call.tool)
            or self._schema_of(call.tool, met.principal) is not None
        )

    def refusal(self, request: HttpRequest, error: Exception) -> HttpReply:
        """Return the answer to a request whose body cannot be read."""
        return self._shared(request, self._refuse(request, error, None))

    def _shared(self, request: HttpRequest, outcome: Outcome) -> Outcome:
        if self._fences.cors:
            outcome.cors = self._fences.cors_headers(request.headers)
        return outcome

    def _meet(self, head: HttpRequest) -> HttpReply | Met:
        if _parted(head.path) is None:
            return HttpReply(404)
        self._fences.check(head.headers)
        if head.method == "OPTIONS" and head.headers.get("origin") in self._fences.cors:
            return HttpReply(204)
        principal = self._admitted(head)
        if head.method != "POST":
            return _method_not_allowed()
        return _unfit(head.headers) or Met(principal)

    def _admitted(self, head: HttpRequest) -> Principal | None:
        path = _parted(head.path)
        return self._admit(head, path and path.group(1), head.query.get("being_id"))

    def _begin(self, request: HttpRequest, principal: Principal | None) -> HttpReply | HttpCall:
        if len(request.body) > self.call_bytes:
            raise TooLargeError("the request body", limit=self.call_bytes)
        message = parse_message(request.body)
        match message:
            case Request():
                return self._request(request, message, principal)
            case Notification():
                self._notified(request, message, principal)
                return HttpReply(202)
            case Response():
                return self._responded(message, principal)

    def _request(
        self, request: HttpRequest, message: Request, principal: Principal | None
    ) -> HttpReply | HttpCall:
        tool = called_tool(message)
        arguments = message.params.get("arguments")
        if (
            type(arguments) is LargeArguments
            and tool
            and self._schema_of(tool, principal) is not None
        ):
            message.params["arguments"] = arguments.values_in_full()  # headers mirror some of them
        try:
            version = _declared_version(message, request.headers)
            if version == MODERN:
                schema = None if tool is None else self._schema_of(tool, principal)
                check_mirrors(message, request.headers, schema)
                peer = declared_peer(message)
            else:
                peer = self._peers.of(client_key(request, principal))
        except NacreError as error:
            return self._refuse(request, error, message.id)
        accept = request.headers.get("accept")
        streams = accept is not None and _takes_stream(accept)
        caller = Caller(version, principal, peer, request.headers.get("x-llm-api-key"))
        if message.method == _LISTEN:
            caller.readmit = lambda: self._admitted(request)
        outcome = self._dispatcher.begin(message, caller)
        if isinstance(outcome, Answer):
            return self._challenged(request, outcome)
        if message.method == _LISTEN and not streams:
            return _unfitting(406, f"a subscription is a stream; accept {STREAM}", message.id)
        return HttpCall(message, streams, caller, outcome, tool)

    def _notified(
        self, request: HttpRequest, message: Notification, principal: Principal | None
    ) -> None:
        if not message.method.startswith("notifications/"):
            raise MalformedMessageError(
                f"'{message.method[:60]}' needs an 'id': it is a request, not a notification"
            )
        request_id = message.params.get("requestId")
        if message.method == "notifications/cancelled" and is_request_id(request_id):
            self._peers.give_up(client_key(request, principal), request_id)

    def _responded(self, message: Response, principal: Principal | None) -> HttpReply:
        if not self._peers.deliver(principal, message):
            raise MalformedMessageError("no request of this server waits for that response")
        return HttpReply(202)

    # Refusals.

    def _refuse(
        self, request: HttpRequest, error: Exception, request_id: RequestId | None
    ) -> HttpReply:
        if request_id is None and isinstance(
            error, MalformedJsonError | MalformedMessageError | TooLargeError
        ):
            request_id = error.request_id
        failure = self._rules.explain(error, modern=True)
        return self._challenged(request, refusal(request_id, failure, error))

    def _challenged(self, request: HttpRequest, failed: Answer) -> HttpReply:
        response = reply(failed)
        challenge = None if failed.cause is None else self._challenge(failed.cause, request)
        if challenge is None:
            return response
        extra = (("www-authenticate", challenge),)
        return HttpReply(response.status, response.headers + extra, response.body, response.cause)


def _declared_version(message: Request, headers: Mapping[str, str]) -> str:
    """Return the version; raises when header and body disagree or it is not served."""
    sent = headers.get(VERSION_HEADER)
    declared = message.meta.get(META_VERSION)
    if declared is None and sent != MODERN:
        return _legacy(message, sent)
    if sent == declared and sent in LEGACY_VERSIONS:
        return str(sent)
    if sent is None:
        raise HeaderMismatchError("Header mismatch: MCP-Protocol-Version is missing")
    if declared is None:
        raise InvalidParamsError(f"params._meta needs '{META_VERSION}'")
    if declared != sent:
        raise HeaderMismatchError("Header mismatch: MCP-Protocol-Version does not match the body")
    if sent != MODERN:
        raise UnsupportedVersionError(sent[:40], supported=SUPPORTED_VERSIONS)
    return sent


def _legacy(message: Request, sent: str | None) -> str:
    if sent is None or message.method == "initialize":
        return UNDECLARED
    if sent not in SUPPORTED_VERSIONS:
        raise UnsupportedVersionError(sent[:40], supported=SUPPORTED_VERSIONS)
    return sent


def _method_not_allowed() -> HttpReply:
    response = _unfitting(405, "send messages by POST; there is no stream to open or close here")
    return HttpReply(response.status, (("allow", "POST"), *response.headers), response.body)


def _unfit(headers: Mapping[str, str]) -> HttpReply | None:
    kind = headers.get("content-type", JSON)
    if kind != JSON and kind.partition(";")[0].strip().lower() != JSON:
        return _unfitting(415, f"send the message as {JSON}, not as {kind[:80]}")
    accept = headers.get("accept")
    if accept is not None and not _takes_json(accept):
        return _unfitting(406, f"answers are {JSON} or {STREAM}; accept both")
    return None


def _unfitting(status: int, text: str, request_id: RequestId | None = None) -> HttpReply:
    return reply(refusal(request_id, Failure(_INVALID_REQUEST, text, status=status)))


# A client sends the same path and the same header with each of its requests.
_parted = lru_cache(maxsize=128)(_PATH.fullmatch)


@lru_cache(maxsize=128)
def _takes_json(accept: str) -> bool:
    return not accept.strip() or _names(accept, JSON)


@lru_cache(maxsize=128)
def _takes_stream(accept: str) -> bool:
    return _names(accept, STREAM)


def _names(accept: str, kind: str) -> bool:
    ranges = {entry.partition(";")[0].strip().lower() for entry in accept.split(",")}
    return bool(ranges & {kind, kind.partition("/")[0] + "/*", "*/*"})

"""Lambda: the MCP endpoint behind API Gateway, HTTP and REST, and function URLs."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from nacre.access.tokens.authentication import Gate, admit_context
from nacre.being.application import Application
from nacre.core.coroutines import Looper, step
from nacre.core.errors import ClientCapabilityError, UnauthorizedError
from nacre.core.limits import LAMBDA_ANSWER_BYTES
from nacre.core.logs import Log
from nacre.faces.aws_lambda.event_body import event_body
from nacre.faces.mcp_endpoint import BaseOf, CallLog, called_address, endpoint
from nacre.protocol import strict_json
from nacre.protocol.context import capability_of
from nacre.protocol.http.http_messages import HttpCall, HttpReply, HttpRequest, reply
from nacre.protocol.http.http_messages import event as sse_event
from nacre.protocol.http.legacy_clients import Peers
from nacre.protocol.messages import Failure, notification, refusal
from nacre.protocol.principal import Principal

Event = dict[str, Any]
Handler = Callable[[Event, Any], Event]


class Buffer:
    """A channel that collects messages until the answer is complete."""

    can_ask = False
    cancelled = False

    def __init__(self) -> None:
        self.messages: list[bytes] = []

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Keep the notification."""
        self.messages.append(notification(method, params))

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Refuse: an answer would reach another invocation."""
        raise ClientCapabilityError(capability_of(method))


class Invocation(Protocol):
    """The part of the Lambda context that is used."""

    aws_request_id: str


def mcp_handler(
    app: Application,
    *,
    gate: Gate | None = None,
    peers: Peers | None = None,
    log: Log | None = None,
    public_url: str | None = None,
) -> Handler:
    """Return the handler of the MCP function.

    `public_url` is the address where clients can log in: empty for the one that they called, None
    if they cannot. The authorizer has admitted the callers. With a `gate`, this function checks
    tokens itself if an event comes without an authorizer's answer. Without `peers`, clients of
    older revisions cannot choose a log level and get no log messages.
    """
    base = None if public_url is None else called_address(public_url, scheme="https")
    served = endpoint(app, admit=_admission(gate, base), peers=peers, base=base)
    calls, looper = CallLog(log or Log()), Looper()

    def handle(event: Event, context: Invocation) -> Event:
        started = calls.start()
        request = read_event(event)
        begun = served.begin(request)
        answer = _run(begun, looper) if isinstance(begun, HttpCall) else begun
        if isinstance(begun, HttpCall) and not _fits(answer.body):
            answer = _too_large(begun, answer)
        caller = begun.caller.principal if isinstance(begun, HttpCall) else None
        # A request that was refused at once has no caller, but the authorizer knew one.
        vouched = request.authorizer or {}
        calls.end(
            started,
            answer,
            method=begun.message.method if isinstance(begun, HttpCall) else None,
            tool=begun.tool if isinstance(begun, HttpCall) else None,
            being=caller.being_id if caller else vouched.get("being_id") or None,
            token=caller.subject if caller else vouched.get("token_id") or None,
            request=getattr(context, "aws_request_id", None),
        )
        return write_reply(answer)

    return handle


def _fits(body: bytes) -> bool:
    """Tell whether Lambda accepts the answer; its body travels as text within JSON."""
    if len(body) < LAMBDA_ANSWER_BYTES // 2:  # escaping doubles the size of JSON at worst
        return True
    return len(strict_json.encode(body.decode("utf-8"))) <= LAMBDA_ANSWER_BYTES


def _too_large(call: HttpCall, answer: HttpReply) -> HttpReply:
    size, limit = len(answer.body) / 1e6, LAMBDA_ANSWER_BYTES / 1e6
    text = (
        f"the answer is {size:.1f} MB; this deployment sends {limit:.1f} MB at once"
        " (AWS Lambda). Ask for less, or use the laptop server."
    )
    return reply(refusal(call.message.id, Failure(-32603, text, status=200)))


def read_event(event: Event) -> HttpRequest:
    """Return the request that an event of any of the three fronts carries."""
    request_context = event.get("requestContext") or {}
    return HttpRequest(
        method=_method(event, request_context),
        path=_path(event, request_context),
        query=event.get("queryStringParameters") or {},
        headers=_headers(event),
        body=event_body(event),
        authorizer=_authorizer(request_context),
    )


def write_reply(answer: HttpReply) -> Event:
    """Return the reply as all three fronts understand it."""
    return {
        "statusCode": answer.status,
        "headers": dict(answer.headers),
        "body": answer.body.decode("utf-8"),
        "isBase64Encoded": False,
    }


def _run(call: HttpCall, looper: Looper) -> HttpReply:
    buffer = Buffer()
    running = call.run(buffer)
    answer = step(running) if call.call.blocking else looper.run(running)
    if not (call.streams and buffer.messages):
        return answer
    body = b"".join(sse_event(message) for message in [*buffer.messages, answer.body])
    headers = (("content-type", "text/event-stream"), ("cache-control", "no-store"))
    return HttpReply(200, headers, body, answer.cause)


def _admission(
    gate: Gate | None,
    base: BaseOf | None,
) -> Callable[[HttpRequest, str | None, str | None], Principal]:
    def admit(request: HttpRequest, path_being: str | None, query_being: str | None) -> Principal:
        address = None if base is None else base(request)
        if request.authorizer is not None:
            return admit_context(
                request.authorizer, path_being=path_being, query_being=query_being, base=address
            )
        if gate is None:
            raise UnauthorizedError("no authorizer vouched for this request", presented=False)
        return gate.admit(
            authorization=request.headers.get("authorization"),
            path_being=path_being,
            query_being=query_being,
            base=address,
        )

    return admit


def _method(event: Event, request_context: Mapping[str, Any]) -> str:
    http = request_context.get("http")
    return str(http["method"] if http else event.get("httpMethod", "")).upper()


def _path(event: Event, request_context: Mapping[str, Any]) -> str:
    path = str(event.get("rawPath") or event.get("path") or "")
    stage = request_context.get("stage", "$default")
    # HTTP APIs put a named stage in front of the path; REST APIs do not.
    prefix = f"/{stage}/"
    return path[len(prefix) - 1 :] if "rawPath" in event and path.startswith(prefix) else path


def _headers(event: Event) -> dict[str, str]:
    several = event.get("multiValueHeaders")
    if several:
        return {name.lower(): ", ".join(values) for name, values in several.items()}
    return {name.lower(): value for name, value in (event.get("headers") or {}).items()}


def _authorizer(request_context: Mapping[str, Any]) -> Mapping[str, Any] | None:
    authorizer = request_context.get("authorizer")
    if not authorizer:
        return None
    # HTTP APIs nest the context of a Lambda authorizer; REST APIs do not.
    context = authorizer.get("lambda") if "http" in request_context else authorizer
    return context if context and "auth" in context else None

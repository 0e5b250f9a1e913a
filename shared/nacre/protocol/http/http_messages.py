"""HTTP as the endpoint sees it, whatever server carries it."""

from collections.abc import Mapping
from typing import Any

from nacre.core.lazy_dataclasses import dataclass, field
from nacre.protocol.caller import Caller
from nacre.protocol.context import Channel
from nacre.protocol.dispatch.calls import Call
from nacre.protocol.messages import Answer, Request
from nacre.protocol.principal import Principal

JSON = "application/json"
STREAM = "text/event-stream"
_JSON_HEADERS = (("content-type", JSON),)
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
    body: bytes | bytearray = b""
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
    tool: str | None = None  # that is called, if one is
    cors: tuple[Header, ...] = ()

    async def run(self, channel: Channel) -> HttpReply:
        """Run the call to its reply; the messages that it sends go to the channel."""
        response = reply(await self.call.run(channel))
        if self.cors:
            response.cors = self.cors
        return response


def reply(response: Answer) -> HttpReply:
    """Return the HTTP form of a JSON-RPC response."""
    status = 200 if response.failure is None else response.failure.status
    return HttpReply(status, _JSON_HEADERS, response.body, response.cause)


def called_tool(message: Request) -> str | None:
    """Return the name of the tool that a request calls, if it calls one."""
    name = message.params.get("name")
    return name if message.method == "tools/call" and isinstance(name, str) else None


def client_key(request: HttpRequest, principal: Principal | None) -> tuple[str, str]:
    """Return the key of a client: the id of its token, and its own name for itself."""
    return subject_of(principal), request.headers.get("user-agent", "")


def subject_of(principal: Principal | None) -> str:
    """Return the id of a caller's token and its profile, "" without a caller."""
    if principal is None:
        return ""
    return f"{principal.subject}/{principal.profile}" if principal.profile else principal.subject


ALIVE = b":\n\n"  # a comment, which clients skip


def event(message: bytes) -> bytes:
    """Return the event that carries one JSON message."""
    return b"event: message\ndata: " + message + b"\n\n"

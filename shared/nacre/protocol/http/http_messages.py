"""HTTP as the endpoint sees it, whatever server carries it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nacre.protocol.caller import Caller
from nacre.protocol.context import Channel
from nacre.protocol.dispatch.calls import Call
from nacre.protocol.messages import Request
from nacre.protocol.replies import Answer

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
    cors: tuple[Header, ...] = ()

    @property
    def blocking(self) -> bool:
        """Whether the handler never awaits an event loop."""
        return self.call.blocking

    @property
    def tool(self) -> str | None:
        """The tool that is called, if one is."""
        return called_tool(self.message)

    async def run(self, channel: Channel) -> HttpReply:
        """Run the call to its reply; what it sends meanwhile goes to the channel."""
        done = reply(await self.call.run(channel))
        if self.cors:
            done.cors = self.cors
        return done


def reply(done: Answer) -> HttpReply:
    """Return the HTTP form of a JSON-RPC response."""
    status = 200 if done.failure is None else done.failure.status
    return HttpReply(status, _JSON_HEADERS, done.body, done.cause)


def called_tool(message: Request) -> str | None:
    """Return the name of the tool that a request calls, if it calls one."""
    name = message.params.get("name")
    return name if message.method == "tools/call" and isinstance(name, str) else None

"""MCP over standard input and output: one JSON message a line.

What needs no handler is answered from the reading thread at once. Blocking
handlers run in a small pool of threads, the others on an event loop that starts
with the first of them. When the input ends, calls in flight are finished first; a
signal gives up those that take longer than a moment.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO

from nacre.being.application import Application
from nacre.core.errors import (
    InvalidParamsError,
    MalformedMessageError,
    NacreError,
    TooLargeError,
    UnsupportedVersionError,
)
from nacre.core.limits import DRAIN_SECONDS
from nacre.core.logs import Log
from nacre.faces.mcp_endpoint import CallLog, dispatcher
from nacre.faces.stdio.log_details import Details
from nacre.faces.stdio.stdio_client import CallChannel, Output, Questions
from nacre.faces.stdio.workers import Workers
from nacre.protocol.caller import Caller, Peer, declared_peer
from nacre.protocol.changes import Changes, Seen
from nacre.protocol.dispatch.calls import Call
from nacre.protocol.http.error_map import explain
from nacre.protocol.http.http_messages import reply
from nacre.protocol.messages import (
    Notification,
    Request,
    RequestId,
    Response,
    is_request_id,
    notification,
    parse_message,
)
from nacre.protocol.principal import Principal
from nacre.protocol.replies import Answer, refusal
from nacre.protocol.versions import META_VERSION, SUPPORTED_VERSIONS, is_modern, negotiate

if TYPE_CHECKING:
    from concurrent.futures import Future

_SEEING = frozenset(
    {
        *("tools/list", "prompts/list", "resources/list", "resources/templates/list"),
        "resources/subscribe",
    }
)
_PIECE = 1024 * 1024  # of a line that is read at once
_GRACE_SECONDS = 1.0  # after a signal; clients kill two seconds after it


def serve_stdio(
    app: Application, *, principal: Principal, stdin: BinaryIO, stdout: BinaryIO, log: Log
) -> None:
    """Serve one client until its input ends, and finish the calls in flight."""
    session = _Session(app, principal, Output(stdout), log)
    try:
        for line in _lines(stdin, app.call_bytes):
            session.receive(line)
    except BaseException:
        session.give_up()
        raise
    finally:
        session.drain()


def _lines(stdin: BinaryIO, most: int) -> Iterator[bytes | bytearray]:
    """Yield the lines that hold something; of one that is too long, the beginning."""
    while line := stdin.readline(_PIECE):
        if len(line) == _PIECE and not line.endswith(b"\n"):
            yield _long_line(line, stdin, most)
        elif line.strip():
            yield line


def _long_line(beginning: bytes, stdin: BinaryIO, most: int) -> bytearray:
    # One buffer that grows: pieces and the whole of a large line would be in memory together.
    line = bytearray(beginning)
    while piece := stdin.readline(_PIECE):
        if len(line) <= most:
            line += piece
        if piece.endswith(b"\n"):
            break
    return line


class _Session:
    """One client: what it has said, what runs for it, and what it is asked."""

    def __init__(self, app: Application, principal: Principal, output: Output, log: Log) -> None:
        self._changes = Changes(app.surface)
        self._seen = Seen()
        self._watching = ExitStack()
        self._is_watching = False
        self._dispatcher = dispatcher(app, logging=True, changes=self._changes)
        self._call_bytes = app.call_bytes
        self._principal = principal
        self._output = output
        self._calls = CallLog(log)
        self._details = Details(log)
        self._peer = Peer(seen=self._seen)
        self._version = negotiate(None)
        self._initialized = False
        self._workers = Workers()
        self._questions = Questions(output)
        self._in_flight: dict[RequestId, _Flight] = {}
        # A client may use an id again as soon as it has the answer, so an id is free before its
        # flight has landed.
        self._flights: set[_Flight] = set()

    def receive(self, line: bytes | bytearray) -> None:
        """Take one line; whatever is wrong with it is answered, never raised."""
        try:
            if len(line) > self._call_bytes + len(b"\r\n"):
                raise TooLargeError("the message", limit=self._call_bytes)
            message = parse_message(line)
        except NacreError as error:
            self._refuse(getattr(error, "request_id", None), error)
            return
        match message:
            case Request():
                self._request(message)
            case Notification():
                if message.method == "notifications/cancelled":
                    self._cancel(message)
            case Response():
                self._questions.answer(message)

    def give_up(self) -> None:
        """Cancel what does not land in a moment: an order may take minutes, and costs money."""
        self._await_landings(_GRACE_SECONDS)
        for flight in list(self._flights):
            flight.give_up()

    def drain(self) -> None:
        """Finish what is in flight; questions to the client will not be answered now."""
        self._changes.close()
        self._watching.close()
        self._questions.close()
        self._await_landings(DRAIN_SECONDS)
        self._workers.close()

    def _await_landings(self, seconds: float) -> None:
        end = monotonic() + seconds
        for flight in list(self._flights):
            flight.landed.wait(max(0.0, end - monotonic()))

    def _request(self, message: Request) -> None:
        started = self._calls.start()
        self._details.request(message.id, message.method, message.params)
        try:
            if message.id in self._in_flight:
                raise MalformedMessageError(
                    "a request with this 'id' is still running", request_id=message.id
                )
            caller = self._caller(message)
        except NacreError as error:
            self._refuse(message.id, error)
            return
        if message.method in _SEEING and not is_modern(caller.version):
            self._watch()
        begun = self._dispatcher.begin(message, caller)
        if isinstance(begun, Answer):
            self._output.write(begun.body)
            self._log(started, message, begun)
        else:
            self._start(begun, message, caller, started)

    def _watch(self) -> None:
        """Tell the client from now on what changes in the lists that it asks for."""
        if self._is_watching:
            return
        self._is_watching = True

        def tell(method: str, params: Mapping[str, Any]) -> None:
            self._output.write(notification(method, dict(params)))

        self._watching.enter_context(self._changes.watching(self._principal, self._seen, tell))

    def _caller(self, message: Request) -> Caller:
        version = message.meta.get(META_VERSION)
        if version is None:
            if message.method == "initialize":
                self._version = negotiate(message.params.get("protocolVersion"))
                self._initialized = True
            return Caller(self._version, self._principal, self._peer)
        if not isinstance(version, str):
            raise InvalidParamsError(f"params._meta: '{META_VERSION}' must be a string")
        if not is_modern(version):
            raise UnsupportedVersionError(version[:40], supported=SUPPORTED_VERSIONS)
        return Caller(version, self._principal, declared_peer(message))

    def _start(self, call: Call, message: Request, caller: Caller, started: float) -> None:
        can_ask = self._initialized and not is_modern(caller.version)
        channel = CallChannel(
            self._output, self._questions, can_ask=can_ask, blocking=call.blocking
        )
        future = self._workers.start(partial(call.run, channel), blocking=call.blocking)
        flight = self._in_flight[message.id] = _Flight(channel, future)
        self._flights.add(flight)

        def land(done: "Future[Answer]") -> None:
            self._in_flight.pop(message.id, None)
            try:
                if not (done.cancelled() or channel.cancelled):
                    self._output.write(done.result().body)
                    self._log(started, message, done.result())
            finally:
                self._flights.discard(flight)
                if message.method == "tools/call":
                    self._changes.soon()
                # The future knows this function: a ring that would keep the message, and what
                # came with it, until the collector passes.
                flight.future = None
                flight.landed.set()

        future.add_done_callback(land)

    def _cancel(self, message: Notification) -> None:
        request_id = message.params.get("requestId")
        flight = self._in_flight.get(request_id) if is_request_id(request_id) else None
        if flight is not None:
            flight.give_up()

    def _refuse(self, request_id: RequestId | None, error: NacreError) -> None:
        self._output.write(refusal(request_id, explain(error, modern=True), error).body)

    def _log(self, started: float, message: Request, done: Answer) -> None:
        tool = message.params.get("name") if message.method == "tools/call" else None
        self._details.answer(message.id, done.body)
        self._calls.end(
            started,
            reply(done),
            method=message.method,
            tool=tool if isinstance(tool, str) else None,
            being=self._principal.being_id,
        )


@dataclass(slots=True, eq=False)
class _Flight:
    """One call that runs; it has landed once its answer is written or given up."""

    channel: CallChannel
    future: "Future[Answer] | None"
    landed: threading.Event = field(default_factory=threading.Event)

    def give_up(self) -> None:
        """Tell the call that nobody waits for it."""
        self.channel.cancelled = True
        future = self.future
        if future is not None:
            future.cancel()

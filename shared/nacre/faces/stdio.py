"""MCP over standard input and output: one JSON message a line.

What needs no handler is answered from the reading thread at once. Blocking
handlers run in a small pool of threads, the others on an event loop that starts
with the first of them. When the input ends, calls in flight are finished first.
"""

import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO

from nacre.app import Application
from nacre.errors import (
    ClientCapabilityError,
    InvalidParamsError,
    MalformedMessageError,
    NacreError,
    TooLargeError,
    UnavailableError,
    UnsupportedVersionError,
)
from nacre.faces.error_map import explain
from nacre.faces.logs import Log
from nacre.faces.mcp import CallLog, dispatcher
from nacre.limits import ASK_SECONDS, DRAIN_SECONDS, MAX_BODY_BYTES, STDIO_THREADS
from nacre.protocol.answers import Answer, refusal
from nacre.protocol.caller import Caller, Peer, declared_peer
from nacre.protocol.calls import Call
from nacre.protocol.context import capability_of
from nacre.protocol.http_messages import reply
from nacre.protocol.messages import (
    Notification,
    Request,
    RequestId,
    Response,
    is_request_id,
    notification,
    parse_message,
    question,
)
from nacre.protocol.principal import Principal
from nacre.protocol.running import step
from nacre.protocol.versions import META_VERSION, SUPPORTED_VERSIONS, is_modern, negotiate

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from concurrent.futures import Future

    from nacre.faces.threads import CallThreads


def serve_stdio(
    app: Application, *, principal: Principal, stdin: BinaryIO, stdout: BinaryIO, log: Log
) -> None:
    """Serve one client until its input ends, and finish the calls in flight."""
    session = _Session(app, principal, _Output(stdout), CallLog(log))
    try:
        for line in _lines(stdin):
            session.receive(line)
    finally:
        session.drain()


def _lines(stdin: BinaryIO) -> Iterator[bytes]:
    """Yield the lines that hold something; of one that is too long, the beginning."""
    while line := stdin.readline(MAX_BODY_BYTES + 2):
        piece = line
        while len(piece) >= MAX_BODY_BYTES and not piece.endswith(b"\n"):
            if not (piece := stdin.readline(MAX_BODY_BYTES)):
                break
        if line.strip():
            yield line


class _Output:
    """Standard output, one whole message at a time; silent once the client is gone."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, message: bytes) -> None:
        with self._lock:
            try:
                self._stream.write(message + b"\n")
                self._stream.flush()
            except (OSError, ValueError):
                return


class _Session:
    """One client: what it has said, what runs for it, and what it is asked."""

    def __init__(
        self, app: Application, principal: Principal, output: _Output, calls: CallLog
    ) -> None:
        self._dispatcher = dispatcher(app)
        self._principal = principal
        self._output = output
        self._calls = calls
        self._peer = Peer()
        self._version = negotiate(None)
        self._initialized = False
        self._workers = _Workers()
        self._questions = _Questions(output)
        self._in_flight: dict[RequestId, _Flight] = {}
        # A client may use an id again as soon as it has the answer, so an id is free before its
        # flight has landed.
        self._flights: set[_Flight] = set()

    def receive(self, line: bytes) -> None:
        """Take one line; whatever is wrong with it is answered, never raised."""
        try:
            if len(line) > MAX_BODY_BYTES:
                raise TooLargeError("the message", limit=MAX_BODY_BYTES)
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

    def drain(self) -> None:
        """Finish what is in flight; questions to the client will not be answered now."""
        self._questions.close()
        end = monotonic() + DRAIN_SECONDS
        for flight in list(self._flights):
            flight.landed.wait(max(0.0, end - monotonic()))
        self._workers.close()

    def _request(self, message: Request) -> None:
        started = self._calls.start()
        try:
            if message.id in self._in_flight:
                raise MalformedMessageError(
                    "a request with this 'id' is still running", request_id=message.id
                )
            caller = self._caller(message)
        except NacreError as error:
            self._refuse(message.id, error)
            return
        begun = self._dispatcher.begin(message, caller)
        if isinstance(begun, Answer):
            self._output.write(begun.body)
            self._log(started, message, begun)
        else:
            self._start(begun, message, caller, started)

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
        channel = _Channel(self._output, self._questions, can_ask=can_ask, blocking=call.blocking)
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
                flight.landed.set()

        future.add_done_callback(land)

    def _cancel(self, message: Notification) -> None:
        request_id = message.params.get("requestId")
        flight = self._in_flight.get(request_id) if is_request_id(request_id) else None
        if flight is not None:
            flight.channel.cancelled = True
            flight.future.cancel()

    def _refuse(self, request_id: RequestId | None, error: NacreError) -> None:
        self._output.write(refusal(request_id, explain(error, modern=True), error).body)

    def _log(self, started: float, message: Request, done: Answer) -> None:
        tool = message.params.get("name") if message.method == "tools/call" else None
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

    channel: "_Channel"
    future: "Future[Answer]"
    landed: threading.Event = field(default_factory=threading.Event)


class _Questions:
    """Requests to the client that wait for its answer."""

    def __init__(self, output: _Output) -> None:
        self._output = output
        self._lock = threading.Lock()
        self._waiting: dict[RequestId, Future[Response]] = {}
        self._count = 0
        self._open = True

    def put(self, method: str, params: dict[str, Any]) -> "Future[Response]":
        """Send the request and return its answer to come."""
        from concurrent.futures import Future  # noqa: PLC0415 - not needed to start

        future: Future[Response] = Future()
        with self._lock:
            if not self._open:
                raise ClientCapabilityError(capability_of(method))
            self._count += 1
            request_id = f"nacre-{self._count}"
            self._waiting[request_id] = future
        future.add_done_callback(lambda _: self._waiting.pop(request_id, None))
        self._output.write(question(request_id, method, params))
        return future

    def answer(self, response: Response) -> None:
        """Take the client's answer; one that nobody waits for is dropped."""
        future = self._waiting.get(response.id)
        # A call that was cancelled or has waited too long has given its question up.
        if future is not None and future.set_running_or_notify_cancel():
            future.set_result(response)

    def close(self) -> None:
        """Fail what still waits: the client has closed its end."""
        with self._lock:
            self._open = False
        for future in list(self._waiting.values()):
            if future.set_running_or_notify_cancel():
                future.set_exception(UnavailableError("the client went away before it answered"))


class _Channel:
    """The way back to the client during one call."""

    def __init__(
        self, output: _Output, questions: _Questions, *, can_ask: bool, blocking: bool
    ) -> None:
        self.can_ask = can_ask
        self.cancelled = False
        self._output = output
        self._questions = questions
        self._blocking = blocking

    def notify(self, method: str, params: dict[str, Any]) -> None:
        if not self.cancelled:
            self._output.write(notification(method, params))

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if not self.can_ask:
            raise ClientCapabilityError(capability_of(method))
        future = self._questions.put(method, params)
        try:
            response = await self._wait(future)
        except TimeoutError:
            raise UnavailableError(
                f"the client did not answer within {ASK_SECONDS} seconds; make the call again"
            ) from None
        finally:
            future.cancel()
        if response.result is None:
            raise ClientCapabilityError(capability_of(method))
        return response.result

    async def _wait(self, future: "Future[Response]") -> Response:
        if self._blocking:
            return future.result(ASK_SECONDS)
        import asyncio  # noqa: PLC0415 - loaded already by whoever runs a loop

        return await asyncio.wait_for(asyncio.wrap_future(future), ASK_SECONDS)


class _Workers:
    """Where calls run: threads for blocking ones, a loop for the others, both on demand."""

    def __init__(self) -> None:
        self._threads: CallThreads | None = None
        self._loop: AbstractEventLoop | None = None

    def start(
        self, begin: Callable[[], Coroutine[Any, Any, Answer]], *, blocking: bool
    ) -> "Future[Answer]":
        """Run the call to its answer."""
        if blocking:
            from nacre.faces.threads import CallThreads  # noqa: PLC0415 - not needed to start

            self._threads = self._threads or CallThreads(STDIO_THREADS)
            return self._threads.submit(lambda: step(begin()))
        import asyncio  # noqa: PLC0415 - costs more than the start of the whole server

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_run_loop, args=(self._loop,), daemon=True).start()

        async def main() -> Answer:
            return await begin()

        return asyncio.run_coroutine_threadsafe(main(), self._loop)

    def close(self) -> None:
        """Stop the loop; threads that still run are left behind."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)


def _run_loop(loop: "AbstractEventLoop") -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()

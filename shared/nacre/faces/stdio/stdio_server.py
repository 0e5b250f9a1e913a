"""MCP over standard input and output, with one JSON message per line.

The reading thread answers requests that need no handler. Blocking handlers run in a small pool of
threads, all others on an event loop that starts with the first of them. When the input ends,
running calls are finished first. After a signal, or if nobody reads the output any more, calls
that take longer than a moment are cancelled.
"""

import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO

from nacre.being.application import Application
from nacre.core.coroutines import step
from nacre.core.errors import (
    InvalidParamsError,
    MalformedMessageError,
    NacreError,
    TooLargeError,
    UnsupportedVersionError,
)
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import DRAIN_SECONDS, STDIO_THREADS
from nacre.core.logs import Log
from nacre.faces.mcp_endpoint import CallLog, dispatcher
from nacre.faces.stdio.stdio_client import CallChannel, Output, Questions
from nacre.protocol.caller import Caller, Peer, declared_peer
from nacre.protocol.changes import Changes, Seen
from nacre.protocol.dispatch.calls import Call
from nacre.protocol.http.error_map import explain
from nacre.protocol.http.http_messages import reply
from nacre.protocol.messages import (
    Answer,
    Notification,
    Request,
    RequestId,
    Response,
    is_request_id,
    notification,
    parse_message,
    refusal,
)
from nacre.protocol.principal import Principal
from nacre.protocol.versions import META_VERSION, MODERN, SUPPORTED_VERSIONS, negotiate

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from concurrent.futures import Future

    from nacre.faces.call_threads import CallThreads
    from nacre.faces.stdio.log_details import Details


class Workers:
    """Runs calls: blocking ones in threads, the others on an event loop, both on demand."""

    def __init__(self) -> None:
        self._threads: CallThreads | None = None
        self._loop: AbstractEventLoop | None = None

    def start(
        self, begin: Callable[[], Coroutine[Any, Any, Answer]], *, blocking: bool
    ) -> "Future[Answer]":
        """Run the call to its answer."""
        if blocking:
            from nacre.faces.call_threads import CallThreads  # noqa: PLC0415 - not needed to start

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


_WATCHED_METHODS = frozenset(
    {
        *("tools/list", "prompts/list", "resources/list", "resources/templates/list"),
        "resources/subscribe",
    }
)
_PIECE = 1024 * 1024  # bytes of a line that are read at once
_LOOK_SECONDS = 0.25  # between two checks whether the client still reads the answers
_GRACE_SECONDS = 1.0  # for running calls after a signal; clients kill the process after two


def serve_stdio(
    app: Application, *, principal: Principal, stdin: BinaryIO, stdout: BinaryIO, log: Log
) -> None:
    """Serve one client until its input ends, and finish its running calls."""
    session = _Session(app, principal, Output(stdout), log)
    try:
        for line in _lines(stdin, app.call_bytes):
            session.receive(line)
    except BaseException:
        session.cancel()
        raise
    finally:
        session.drain()


def _lines(stdin: BinaryIO, most: int) -> Iterator[bytes | bytearray]:
    """Yield the lines that are not blank; cut a line that is too long."""
    while line := stdin.readline(_PIECE):
        if len(line) == _PIECE and not line.endswith(b"\n"):
            yield _long_line(line, stdin, most)
        elif line.strip():
            yield line


def _long_line(beginning: bytes, stdin: BinaryIO, most: int) -> bytearray:
    # One growing buffer: joining pieces would hold a large line in memory twice.
    line = bytearray(beginning)
    while piece := stdin.readline(_PIECE):
        if len(line) <= most:
            line += piece
        if piece.endswith(b"\n"):
            break
    return line


class _Session:
    """The session of one client: its version, its running calls and the open questions to it."""

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
        self._details = _details(log)
        self._peer = Peer(seen=self._seen)
        self._version = negotiate(None)
        self._initialized = False
        self._workers = Workers()
        self._questions = Questions(output)
        self._calls_by_id: dict[RequestId, _RunningCall] = {}
        # A client may reuse an id as soon as it has the answer, so an id is free before its call
        # has finished.
        self._running: set[_RunningCall] = set()

    def receive(self, line: bytes | bytearray) -> None:
        """Handle one line; errors in it are answered, never raised."""
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

    def cancel(self) -> None:
        """Cancel calls that do not finish in a moment: an order takes minutes and costs money."""
        self._wait_for_calls(_GRACE_SECONDS)
        for running in list(self._running):
            running.cancel()

    def drain(self) -> None:
        """Finish the running calls, and end the open questions to the client.

        A client that is gone, as after a crash, gets no answers: its calls are cancelled.
        """
        self._changes.close()
        self._watching.close()
        self._questions.close()
        end = monotonic() + DRAIN_SECONDS
        while self._running and monotonic() < end:
            if self._output.is_unread():
                self.cancel()
                break
            self._wait_for_calls(min(_LOOK_SECONDS, end - monotonic()))
        self._workers.close()

    def _wait_for_calls(self, seconds: float) -> None:
        end = monotonic() + seconds
        for running in list(self._running):
            running.is_finished.wait(max(0.0, end - monotonic()))

    def _request(self, message: Request) -> None:
        started = self._calls.start()
        if self._details is not None:
            self._details.request(message.id, message.method, message.params)
        try:
            if message.id in self._calls_by_id:
                raise MalformedMessageError(
                    "a request with this 'id' is still running", request_id=message.id
                )
            caller = self._caller(message)
        except NacreError as error:
            self._refuse(message.id, error)
            return
        if message.method in _WATCHED_METHODS and caller.version != MODERN:
            self._watch()
        answer_or_call = self._dispatcher.begin(message, caller)
        if isinstance(answer_or_call, Answer):
            self._output.write(answer_or_call.body)
            self._log(started, message, answer_or_call)
        else:
            self._start(answer_or_call, message, caller, started)

    def _watch(self) -> None:
        """Notify the client from now on of changes in the lists that it asks for."""
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
        if version != MODERN:
            raise UnsupportedVersionError(version[:40], supported=SUPPORTED_VERSIONS)
        return Caller(version, self._principal, declared_peer(message))

    def _start(self, call: Call, message: Request, caller: Caller, started: float) -> None:
        can_ask = self._initialized and caller.version != MODERN
        channel = CallChannel(
            self._output, self._questions, can_ask=can_ask, blocking=call.blocking
        )
        future = self._workers.start(partial(call.run, channel), blocking=call.blocking)
        running = self._calls_by_id[message.id] = _RunningCall(channel, future)
        self._running.add(running)

        def finish(finished: "Future[Answer]") -> None:
            self._calls_by_id.pop(message.id, None)
            try:
                if not (finished.cancelled() or channel.cancelled):
                    self._output.write(finished.result().body)
                    self._log(started, message, finished.result())
            finally:
                self._running.discard(running)
                if message.method == "tools/call":
                    self._changes.soon()
                # The future refers to this function, and this function to the future. Break the
                # cycle, so that the message is freed now and not by the garbage collector.
                running.future = None
                running.is_finished.set()

        future.add_done_callback(finish)

    def _cancel(self, message: Notification) -> None:
        request_id = message.params.get("requestId")
        running = self._calls_by_id.get(request_id) if is_request_id(request_id) else None
        if running is not None:
            running.cancel()

    def _refuse(self, request_id: RequestId | None, error: NacreError) -> None:
        self._output.write(refusal(request_id, explain(error, modern=True), error).body)

    def _log(self, started: float, message: Request, done: Answer) -> None:
        tool = message.params.get("name") if message.method == "tools/call" else None
        if self._details is not None:
            self._details.answer(message.id, done.body)
        self._calls.end(
            started,
            reply(done),
            method=message.method,
            tool=tool if isinstance(tool, str) else None,
            being=self._principal.being_id,
        )


def _details(log: Log) -> "Details | None":
    """Return the writer of debug lines, None for a log without them."""
    if not log.writes("debug"):
        return None
    from nacre.faces.stdio.log_details import Details  # noqa: PLC0415 - for --verbose

    return Details(log)


@dataclass(slots=True, eq=False)
class _RunningCall:
    """One running call; it is finished when its answer is written or it was cancelled."""

    channel: CallChannel
    future: "Future[Answer] | None"
    is_finished: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Cancel the call, because the client does not wait for it any more."""
        self.channel.cancelled = True
        future = self.future
        if future is not None:
            future.cancel()

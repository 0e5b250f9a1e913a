"""The client at the other end of standard input and output: notifications and questions to it."""

import threading
from typing import TYPE_CHECKING, Any, BinaryIO

from nacre.core.errors import ClientCapabilityError, UnansweredError, UnavailableError
from nacre.core.limits import ASK_SECONDS
from nacre.protocol.context import capability_of
from nacre.protocol.messages import RequestId, Response, notification, question

if TYPE_CHECKING:
    from concurrent.futures import Future


class Output:
    """Standard output, one whole message at a time; silent once the client is gone."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, message: bytes) -> None:
        """Write one message; a client that is gone misses it."""
        with self._lock:
            try:
                self._stream.write(message + b"\n")
                self._stream.flush()
            except (OSError, ValueError):
                return

    def is_unread(self) -> bool:
        """Tell whether the reader has closed its end; False if the system cannot tell."""
        import select  # noqa: PLC0415 - for the end of a client with running calls only

        if not hasattr(select, "poll"):  # on Windows
            return False
        poll = select.poll()
        try:
            poll.register(self._stream.fileno(), 0)
        except (OSError, ValueError):  # it is closed, or no file
            return self._stream.closed
        return any(flags & (select.POLLERR | select.POLLHUP) for _, flags in poll.poll(0))


class Questions:
    """Requests to the client that wait for its answer."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._lock = threading.Lock()
        self._waiting: dict[RequestId, Future[Response]] = {}
        self._count = 0
        self._open = True

    def put(self, method: str, params: dict[str, Any]) -> "Future[Response]":
        """Send the request and return the future of its answer."""
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
        """Fail the open questions, because the client has closed its end."""
        with self._lock:
            self._open = False
        for future in list(self._waiting.values()):
            if future.set_running_or_notify_cancel():
                future.set_exception(UnavailableError("the client went away before it answered"))


class CallChannel:
    """The way back to the client during one call."""

    def __init__(
        self, output: Output, questions: Questions, *, can_ask: bool, blocking: bool
    ) -> None:
        self.can_ask = can_ask
        self.cancelled = False
        self._output = output
        self._questions = questions
        self._blocking = blocking

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification that belongs to the call."""
        if not self.cancelled:
            self._output.write(notification(method, params))

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the client's result."""
        if not self.can_ask:
            raise ClientCapabilityError(capability_of(method))
        future = self._questions.put(method, params)
        try:
            response = await self._wait(future)
        except TimeoutError:
            raise UnansweredError(ASK_SECONDS) from None
        finally:
            future.cancel()
        if response.result is None:
            raise ClientCapabilityError(capability_of(method))
        return response.result

    async def _wait(self, future: "Future[Response]") -> Response:
        if self._blocking:
            return future.result(ASK_SECONDS)
        import asyncio  # noqa: PLC0415 - already loaded if a loop runs

        return await asyncio.wait_for(asyncio.wrap_future(future), ASK_SECONDS)

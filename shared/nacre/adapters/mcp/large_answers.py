"""Large answers of another server and large calls to it, past the official client.

The client blocks the interpreter while it parses or writes a message. So it gets a short message in
place of a large answer: with the same members, of which the large ones are empty. It writes a short
call, whose arguments are put in on the way to the server.
"""

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, Self

import mcp_types as types

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import UpstreamError
from nacre.core.limits import LARGE_RESULT_BYTES
from nacre.protocol import strict_json
from nacre.protocol.encoded_results import LargeAnswer, Spelled
from nacre.protocol.large_calls import LargeArguments

Fill = Callable[..., bytes]
"""Returns the message that the server gets, as LargeAnswers.filled does."""

Shorten = Callable[[bytes], Awaitable[bytes]]
"""Returns the message that the client gets: the same object, or a short one."""

_METHODS = frozenset({"tools/call", "resources/read", "prompts/get"})
_MAX_SENT = 1024
_MAX_SECONDS = 60.0  # the client needs milliseconds; a cancelled call never takes its answer


class Reading(Protocol):
    """Parses large answers in another process; ScreeningProcesses does."""

    def read(self, raw: bytes, sent: Mapping[str | int, str], version: str) -> LargeAnswer | None:
        """Return the answer to one of the sent requests; blocks.

        Returns None if it cannot be parsed there, and for any other message.
        """
        ...


class LargeAnswers:
    """The large answers of one session; without `reading`, no answer counts as large."""

    def __init__(
        self, server: str, reading: Callable[[], Reading] | None, version: Callable[[], str]
    ) -> None:
        self._server = server
        self._reading = reading
        self._version = version
        self._sent: BoundedCache[str | int, str] = BoundedCache(_MAX_SENT)
        self._answers: dict[int, Spelled] = {}
        self._number = 0
        self._marker = secrets.token_hex(16)  # a member name that no server can know
        self._calls: dict[int, tuple[bytes, bytes]] = {}
        self._mark = re.compile(rb'\{\s*"%b"\s*:\s*(\d+)\s*\}' % self._marker.encode())

    def watching(self, stream: Any) -> Any:
        """Return a stream to the server that notes the requests sent on it."""
        return stream if self._reading is None else _NotingStream(stream, self._note)

    async def shortened(self, raw: bytes) -> bytes:
        """Return the message that the client gets: the same, or a short one for a large answer."""
        if self._reading is None or len(raw) < LARGE_RESULT_BYTES or not self._sent:
            return raw
        reading, sent, version = self._reading, dict(self._sent), self._version()
        answer = await asyncio.to_thread(lambda: reading().read(raw, sent, version))
        if answer is None:
            return raw
        self._sent.pop(answer.id, None)
        self._number += 1
        self._answers[self._number] = answer.result
        loop = asyncio.get_running_loop()
        loop.call_later(_MAX_SECONDS, self._answers.pop, self._number, None)
        result = {**answer.shown, self._marker: self._number}
        return strict_json.encode({"jsonrpc": "2.0", "id": answer.id, "result": result})

    @contextmanager
    def sending(self, params: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield parameters that the client can send; `filled` puts large arguments in."""
        arguments = params.get("arguments")
        if type(arguments) is not LargeArguments:
            yield params
            return
        if self._reading is None or arguments.summary.encoded is None:
            yield {**params, "arguments": arguments.values_in_full()}
            return
        self._number += 1
        number = self._number
        self._calls[number] = arguments.summary.encoded
        try:
            yield {**params, "arguments": {self._marker: number}}
        finally:
            del self._calls[number]

    def filled(self, message: bytes, *, is_line: bool) -> bytes:
        """Return the message that the server gets, with its large arguments."""
        mark = self._mark.search(message) if self._calls else None
        if mark is None:
            return message
        line, body = self._calls[int(mark[1])]
        return message[: mark.start()] + (line if is_line else body) + message[mark.end() :]

    def whole(self, result: dict[str, Any]) -> Mapping[str, Any]:
        """Return the whole result for the one that the client has parsed."""
        number = result.pop(self._marker, None)
        if number is None:
            return result
        large = self._answers.pop(number, None)
        if large is None:
            raise UpstreamError(self._server, "answered, but the answer was not taken in time")
        members = {
            name: large.members[name] if _is_left_out(inner) else strict_json.encode(inner)
            for name, inner in result.items()
        }
        return Spelled(members, large.uris)

    def _note(self, message: Any) -> None:
        if isinstance(message, types.JSONRPCRequest) and message.method in _METHODS:
            self._sent[message.id] = message.method


def _is_left_out(value: Any) -> bool:
    """Tell whether a member may have been emptied; restoring an empty one changes nothing."""
    return not value and isinstance(value, dict | list | str)


class WrappedStream:
    """A stream of messages that passes everything on to another one."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)


class _NotingStream(WrappedStream):
    """A stream to the server that calls `note` for each message."""

    def __init__(self, stream: Any, note: Callable[[Any], None]) -> None:
        super().__init__(stream)
        self._note = note

    async def send(self, message: Any) -> None:
        self._note(message.message)
        await self._stream.send(message)

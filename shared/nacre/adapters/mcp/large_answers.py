"""Large answers of another server, read in a helper instead of by the official client.

The client parses each message and holds the interpreter meanwhile, so it gets a short message in
place of a large answer: with the same members, of which the large ones are empty.
"""

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import mcp_types as types

from nacre.core.errors import UpstreamError
from nacre.core.limits import LARGE_RESULT_BYTES, UPSTREAM_ANSWER_BYTES
from nacre.protocol import strict_json
from nacre.protocol.encoded_results import LargeAnswer, Spelled

Shorten = Callable[[bytes], Awaitable[bytes]]
"""From a message to the one that the client gets: the same object, or a short one."""

_METHODS = frozenset({"tools/call", "resources/read", "prompts/get"})
_MOST_SENT = 1024
_KEPT_SECONDS = 60.0  # the client needs some milliseconds; a call that was given up, for ever
_END_OF_EVENT = re.compile(rb"\n\r?\n|\r\r")


class Reading(Protocol):
    """Reads large answers somewhere else; ScreeningProcesses does."""

    def read(self, raw: bytes, sent: Mapping[str | int, str], version: str) -> LargeAnswer | None:
        """Return the answer to one of the requests that were sent; blocks.

        None where it cannot be read there, and for any other message.
        """
        ...


class LargeAnswers:
    """The large answers of one session; without `reading` there are none."""

    def __init__(
        self, server: str, reading: Callable[[], Reading] | None, version: Callable[[], str]
    ) -> None:
        self._server = server
        self._reading = reading
        self._version = version
        self._sent: dict[str | int, str] = {}
        self._kept: dict[int, Spelled] = {}
        self._number = 0
        self._mark = secrets.token_hex(16)  # no server can know it

    def watching(self, stream: Any) -> Any:
        """Return a stream of messages to the server that lets the requests be known here."""
        return stream if self._reading is None else _Watching(stream, self._note)

    async def shortened(self, raw: bytes) -> bytes:
        """Return the message for the client: the same, or a short one for a large answer."""
        if self._reading is None or len(raw) < LARGE_RESULT_BYTES or not self._sent:
            return raw
        reading, sent, version = self._reading, dict(self._sent), self._version()
        answer = await asyncio.to_thread(lambda: reading().read(raw, sent, version))
        if answer is None:
            return raw
        self._sent.pop(answer.id, None)
        self._number += 1
        self._kept[self._number] = answer.result
        loop = asyncio.get_running_loop()
        loop.call_later(_KEPT_SECONDS, self._kept.pop, self._number, None)
        result = {**answer.shown, self._mark: self._number}
        return strict_json.encode({"jsonrpc": "2.0", "id": answer.id, "result": result})

    def whole(self, result: dict[str, Any]) -> Mapping[str, Any]:
        """Return the result that the client has read as the server sent it."""
        number = result.pop(self._mark, None)
        if number is None:
            return result
        large = self._kept.pop(number, None)
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
            if len(self._sent) > _MOST_SENT:
                del self._sent[next(iter(self._sent))]


def _is_left_out(shown: Any) -> bool:
    """Tell whether a member is as an empty one is shown; one that was empty is equal to it."""
    return not shown and isinstance(shown, dict | list | str)


class LargeEvents:
    """A stream of events with large answers in short; the bytes of all others pass."""

    def __init__(self, shortened: Shorten) -> None:
        self._shortened = shortened
        self._event = bytearray()
        self._is_open = False  # nothing is held any more

    async def feed(self, chunk: bytes) -> bytes:
        """Return the complete events, and keep the rest of the chunk."""
        if self._is_open:
            return chunk
        looked = max(0, len(self._event) - 2)
        self._event += chunk
        start, parts = 0, []
        while (end := _END_OF_EVENT.search(self._event, max(start, looked))) is not None:
            event = bytes(self._event[start : end.end()])
            start = end.end()
            parts.append(event if len(event) < LARGE_RESULT_BYTES else await self._short(event))
        del self._event[:start]
        if len(self._event) > UPSTREAM_ANSWER_BYTES:  # the client has the same bound
            self._is_open = True
            parts.append(self.rest())
        return b"".join(parts)

    def rest(self) -> bytes:
        """Return the bytes of an event that is still incomplete at the end."""
        left = bytes(self._event)
        self._event.clear()
        return left

    async def _short(self, event: bytes) -> bytes:
        lines = event.splitlines()
        data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
        others = [line for line in lines if line and not line.startswith(b"data:")]
        raw = b"\n".join(data)
        short = await self._shortened(raw)
        return event if short is raw else b"\n".join([*others, b"data: " + short, b"", b""])


class _Watching:
    """A stream to the server, whose messages are noted."""

    def __init__(self, stream: Any, note: Callable[[Any], None]) -> None:
        self._stream = stream
        self._note = note

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> "_Watching":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *what: Any) -> Any:
        return await self._stream.__aexit__(*what)

    async def send(self, message: Any) -> None:
        self._note(message.message)
        await self._stream.send(message)

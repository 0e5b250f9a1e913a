"""A large message that another process has read, so that other calls need not wait for it.

A tool call is handled as a short message without its arguments. Only the receiver gets the whole
message, and a tool of this process its arguments.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nacre.core.coroutines import is_in_loop
from nacre.core.errors import MalformedJsonError, MalformedMessageError
from nacre.core.lazy_dataclasses import dataclass

Unreadable = MalformedJsonError | MalformedMessageError


@dataclass(slots=True)
class ArgumentsSummary:
    """A summary of a call's arguments, made in another process.

    `decision` is the decision of the rules, which was made for `decided`. `shown` is the text for
    a person who is asked. `encoded` has the arguments as the official client would write them, over
    stdio and over HTTP.
    """

    sha256: str
    shape: dict[str, str]
    decision: Any = None
    decided: Any = None
    shown: str | None = None
    encoded: tuple[bytes, bytes] | None = None


class LargeArguments(Mapping[str, Any]):
    """The arguments of a large call; `parsed` is set once somebody reads them in this process."""

    __slots__ = ("_parse", "elsewhere", "parsed", "summary", "whole")

    def __init__(self, whole: bytes, summary: ArgumentsSummary) -> None:
        self.whole = whole
        self.summary = summary
        self.elsewhere: Callable[[bytes], dict[str, Any] | None] | None = None
        self._parse: Callable[[bytes], Any] | None = None
        self.parsed: dict[str, Any] | None = None

    def read_by(self, parse: Callable[[bytes], Any]) -> "LargeArguments":
        """Set the parser of the message, and return these arguments."""
        self._parse = parse
        return self

    def values_in_full(self) -> dict[str, Any]:
        """Return the arguments as a dictionary; blocks."""
        if self.parsed is None and self.elsewhere is not None:
            self.parsed = self.elsewhere(self.whole)
        if self.parsed is None:
            assert self._parse is not None
            self.parsed = self._parse(self.whole)["params"]["arguments"]
        return self.parsed

    def __getitem__(self, name: str) -> Any:
        return self.values_in_full()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_in_full())

    def __len__(self) -> int:
        return len(self.values_in_full())


class LargeCall(bytes):
    """A large call as a short message; `whole` has the bytes that were received.

    If the message cannot be read, `error` is the reason and the message is empty. Any other
    message is empty as well, and `parsed` is its value.
    """

    whole: bytes
    arguments: LargeArguments | None
    error: Unreadable | None
    parsed: Any
    tool: str | None

    @classmethod
    def of(
        cls,
        short: bytes,
        whole: bytes,
        *,
        summary: ArgumentsSummary | None = None,
        error: Unreadable | None = None,
        parsed: Any = None,
        tool: str | None = None,
    ) -> "LargeCall":
        """Return the call."""
        call = cls(short)
        call.whole = whole
        call.arguments = None if summary is None else LargeArguments(whole, summary)
        call.error = error
        call.parsed = parsed
        call.tool = tool
        return call

    def value(self, parse: Callable[[bytes], Any]) -> Any:
        """Return the parsed message with its LargeArguments; raises its error."""
        if self.error is not None:
            raise self.error
        if self.parsed is not None:
            return self.parsed
        message = parse(bytes(self))
        if self.arguments is not None:
            message["params"]["arguments"] = self.arguments.read_by(parse)
        return message


def whole(raw: bytes) -> bytes:
    """Return the message as it was received."""
    return raw.whole if isinstance(raw, LargeCall) else raw


async def read_in_full(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as a dictionary; on an event loop, others run meanwhile."""
    if type(arguments) is LargeArguments and arguments.parsed is None and is_in_loop():
        import asyncio  # noqa: PLC0415 - a handler that does not block has loaded it

        await asyncio.to_thread(arguments.values_in_full)
    return in_full(arguments)


def in_full(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as a dictionary."""
    if type(arguments) is LargeArguments:
        return arguments.values_in_full()
    return dict(arguments) if type(arguments) is not dict else arguments

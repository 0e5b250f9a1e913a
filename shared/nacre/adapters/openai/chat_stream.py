"""The answer of a chat endpoint, put together from its events or read as a whole.

An endpoint that was asked to stream may not, and what it streams may be anything, so what is
not understood is an error and nothing is believed.
"""

import base64
import json
import re
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nacre.adapters.openai.faults import (
    UNCLEAR,
    PassingError,
    said_in_passing,
    text_of,
    tokens_told,
)
from nacre.core.errors import ModelError
from nacre.core.limits import TOKEN_BYTES
from nacre.ports.chat import ChatAnswer, ChatMedia, ToolRequest

_DATA_URI = re.compile(r"data:([a-z]+/[a-z0-9.+-]+);base64,", re.IGNORECASE)
_DONE = "[DONE]"


@dataclass(slots=True)
class _Request:
    """A tool call of which some has come."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Gathered:
    """What has come of one answer; `tokens` is about what was asked."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens
        self._texts: list[str] = []
        self._requests: list[_Request] = []
        self._open: dict[Any, _Request] = {}  # those that may go on, by what they are known by
        self._media: list[ChatMedia] = []
        self._usage: Mapping[str, Any] = {}
        self._ending: str | None = None
        self._is_refusal = False
        self._rest: list[bytes] = []  # of a line whose end has not come
        self._is_done = False

    def feed(self, chunk: bytes) -> None:
        """Take some of a stream of events; raises ModelError for what is none."""
        # Put together at its end: a line is an image at times, and comes in a thousand pieces.
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._take(b"".join([*self._rest, end]))
            self._rest = []
        self._rest.append(rest)

    def end(self) -> None:
        """Take the end of the stream; raises PassingError where it came too early."""
        self._take(b"".join(self._rest))
        self._rest = []
        if not self._is_done and self._ending is None:
            hung_up = ModelError("unavailable", "it hung up", input_tokens=self._tokens)
            raise PassingError(hung_up)

    def whole(self, body: bytes) -> None:
        """Take an answer that came at once."""
        self._object(_json(body, self._tokens))
        if self._ending is None and not (self._texts or self._requests):
            raise _unclear(self._tokens)

    def answer(self) -> ChatAnswer:
        """Return the answer; raises ModelError where a filter took it."""
        # Half of a surrogate pair is no text, and nothing that could be stored.
        text = "".join(self._texts).encode(errors="replace").decode()
        requests = tuple(_numbered(self._requests))
        written = len(text.encode())
        written += sum(len(each.arguments) + len(each.name) for each in requests)
        spent_in = tokens_told(self._usage.get("prompt_tokens"), self._tokens)
        spent_out = tokens_told(self._usage.get("completion_tokens"), written // TOKEN_BYTES + 1)
        if self._ending == "content_filter" and not text:
            raise ModelError(
                "refused",
                "the provider's filter stopped it",
                input_tokens=spent_in,
                output_tokens=spent_out,
            )
        return ChatAnswer(
            text=text,
            requests=requests,
            media=tuple(self._media),
            is_cut=self._ending == "length",
            input_tokens=spent_in,
            output_tokens=spent_out,
        )

    def _take(self, line: bytes) -> None:
        line = line.strip()
        # Event names, ids and comments that keep the line open say nothing here.
        if not line or self._is_done or line.startswith((b":", b"event:", b"id:", b"retry:")):
            return
        if not line.startswith(b"data:"):
            raise _unclear(self._tokens)
        data = line[5:].strip()
        if data == _DONE.encode():
            self._is_done = True
        elif data:
            self._object(_json(data, self._tokens))

    def _object(self, found: Any) -> None:
        try:
            error = found.get("error")
            if error:
                told = error if isinstance(error, dict) else {"message": str(error)}
                raise said_in_passing(str(told.get("code", "")), str(told.get("message", "")))
            usage = found.get("usage")
            if isinstance(usage, dict):
                self._usage = usage
            for choice in (found.get("choices") or ())[:1]:
                self._message(choice.get("delta") or choice.get("message") or {})
                self._ending = choice.get("finish_reason") or self._ending
        except (AttributeError, TypeError, LookupError, ValueError):
            raise _unclear(self._tokens) from None

    def _message(self, message: Mapping[str, Any]) -> None:
        content = message.get("content")
        self._texts.append(text_of(content))
        # A refusal is what the model has to say.
        self._texts.append(text_of(message.get("refusal")))
        for part in content if isinstance(content, list) else ():
            self._image(part)
        for part in message.get("images") or ():
            self._image(part)
        for place, call in enumerate(message.get("tool_calls") or ()):
            self._call(place, call)

    def _image(self, part: Any) -> None:
        url = (part.get("image_url") or {}).get("url") if isinstance(part, dict) else None
        match = _DATA_URI.match(url) if isinstance(url, str) else None
        if match is not None and isinstance(url, str):
            try:
                data = base64.b64decode(url[match.end() :], validate=True)
            except (Base64Error, ValueError):
                return
            self._media.append(ChatMedia(match.group(1).lower(), data))

    def _call(self, place: int, call: Mapping[str, Any]) -> None:
        # Some endpoints give no index: then each call comes whole, and by its id it is known.
        key = call.get("index")
        if key is None:
            key = call.get("id") or f"place-{place}"
        function = call.get("function") or {}
        request = self._open.get(key)
        # Some give one id to all their calls, and then it is the name that begins another.
        is_another = call.get("index") is None and bool(function.get("name"))
        if request is None or (is_another and request.name):
            request = self._open[key] = _Request()
            self._requests.append(request)
        request.id = request.id or str(call.get("id") or "")
        request.name = request.name or str(function.get("name") or "")
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # not a text, as the protocol has it, but clear
            arguments = json.dumps(arguments)
        if isinstance(arguments, str):
            request.arguments.append(arguments)


def _numbered(requests: Iterable[_Request]) -> Iterator[ToolRequest]:
    """Give every request an id of its own: the results are told apart by it."""
    taken: set[str] = set()
    for number, each in enumerate(requests, 1):
        if not each.name:
            continue
        own = each.id if each.id and each.id not in taken else f"call_{number}"
        taken.add(own)
        yield ToolRequest(own, each.name, "".join(each.arguments))


def _json(body: bytes, tokens: int) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise _unclear(tokens) from None


def _unclear(tokens: int) -> ModelError:
    return ModelError("unavailable", UNCLEAR, input_tokens=tokens)

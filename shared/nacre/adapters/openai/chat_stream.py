"""The answer of a chat endpoint, read from a stream of events or from one body.

An endpoint may ignore that it was asked to stream, and it may stream anything. So everything that
is not understood is an error.
"""

import base64
import json
import re
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nacre.adapters.openai.faults import (
    UNCLEAR,
    PassingError,
    error_in_answer,
    text_of,
    token_count,
)
from nacre.core.errors import ModelError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import TOKEN_BYTES
from nacre.ports.chat import ChatAnswer, ChatMedia, ToolRequest

_DATA_URI = re.compile(r"data:([a-z]+/[a-z0-9.+-]+);base64,", re.IGNORECASE)
_DONE = "[DONE]"


@dataclass(slots=True)
class _Request:
    """A tool call that may still be incomplete."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class StreamedAnswer:
    """The parts of one answer so far; `tokens` is an estimate of the question's size."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens
        self._texts: list[str] = []
        self._requests: list[_Request] = []
        self._unfinished: dict[Any, _Request] = {}  # by their index, id or place
        self._media: list[ChatMedia] = []
        self._usage: Mapping[str, Any] = {}
        self._ending: str | None = None
        self._is_refusal = False
        self._line_parts: list[bytes] = []  # of a line that is not complete
        self._is_done = False

    def feed(self, chunk: bytes) -> None:
        """Read a chunk of the stream; raises ModelError if it is not a stream of events."""
        # Joined at the end of the line: a line may be an image that comes in a thousand parts.
        *ends, start = chunk.split(b"\n")
        for end in ends:
            self._read_line(b"".join([*self._line_parts, end]))
            self._line_parts = []
        self._line_parts.append(start)

    def end(self) -> None:
        """End the stream; raises PassingError if it was cut off."""
        self._read_line(b"".join(self._line_parts))
        self._line_parts = []
        if not self._is_done and self._ending is None:
            hung_up = ModelError("unavailable", "it hung up", input_tokens=self._tokens)
            raise PassingError(hung_up)

    def read_body(self, body: bytes) -> None:
        """Read an answer that came as one body."""
        self._read_object(_json(body, self._tokens))
        if self._ending is None and not (self._texts or self._requests):
            raise _unclear(self._tokens)

    def answer(self) -> ChatAnswer:
        """Return the answer; raises ModelError if a filter removed it."""
        # A lone half of a surrogate pair cannot be stored.
        text = "".join(self._texts).encode(errors="replace").decode()
        requests = tuple(_numbered(self._requests))
        size = len(text.encode())
        size += sum(len(request.arguments) + len(request.name) for request in requests)
        input_tokens = token_count(self._usage.get("prompt_tokens"), self._tokens)
        output_tokens = token_count(self._usage.get("completion_tokens"), size // TOKEN_BYTES + 1)
        if self._ending == "content_filter" and not text:
            raise ModelError(
                "refused",
                "the provider's filter stopped it",
                input_tokens=input_tokens,
                output_tokens=output_tokens,
            )
        return ChatAnswer(
            text=text,
            requests=requests,
            media=tuple(self._media),
            is_cut=self._ending == "length",
            input_tokens=input_tokens,
            output_tokens=output_tokens,
        )

    def _read_line(self, line: bytes) -> None:
        line = line.strip()
        # Event names, ids and comments are not needed.
        if not line or self._is_done or line.startswith((b":", b"event:", b"id:", b"retry:")):
            return
        if not line.startswith(b"data:"):
            raise _unclear(self._tokens)
        data = line[5:].strip()
        if data == _DONE.encode():
            self._is_done = True
        elif data:
            self._read_object(_json(data, self._tokens))

    def _read_object(self, value: Any) -> None:
        try:
            error = value.get("error")
            if error:
                details = error if isinstance(error, dict) else {"message": str(error)}
                raise error_in_answer(str(details.get("code", "")), str(details.get("message", "")))
            usage = value.get("usage")
            if isinstance(usage, dict):
                self._usage = usage
            for choice in (value.get("choices") or ())[:1]:
                self._read_message(choice.get("delta") or choice.get("message") or {})
                self._ending = choice.get("finish_reason") or self._ending
        except (AttributeError, TypeError, LookupError, ValueError):
            raise _unclear(self._tokens) from None

    def _read_message(self, message: Mapping[str, Any]) -> None:
        content = message.get("content")
        self._texts.append(text_of(content))
        # A refusal is the text of the model's answer.
        self._texts.append(text_of(message.get("refusal")))
        for part in content if isinstance(content, list) else ():
            self._read_image(part)
        for part in message.get("images") or ():
            self._read_image(part)
        for place, call in enumerate(message.get("tool_calls") or ()):
            self._read_call(place, call)

    def _read_image(self, part: Any) -> None:
        url = (part.get("image_url") or {}).get("url") if isinstance(part, dict) else None
        match = _DATA_URI.match(url) if isinstance(url, str) else None
        if match is not None and isinstance(url, str):
            try:
                data = base64.b64decode(url[match.end() :], validate=True)
            except (Base64Error, ValueError):
                return
            self._media.append(ChatMedia(match.group(1).lower(), data))

    def _read_call(self, place: int, call: Mapping[str, Any]) -> None:
        # Some endpoints give no index; then each call comes in one part, with an id.
        key = call.get("index")
        if key is None:
            key = call.get("id") or f"place-{place}"
        function = call.get("function") or {}
        request = self._unfinished.get(key)
        # Some give one id to all their calls; then a name begins another call.
        is_another = call.get("index") is None and bool(function.get("name"))
        if request is None or (is_another and request.name):
            request = self._unfinished[key] = _Request()
            self._requests.append(request)
        request.id = request.id or str(call.get("id") or "")
        request.name = request.name or str(function.get("name") or "")
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # the protocol demands a text, but the meaning is clear
            arguments = json.dumps(arguments)
        if isinstance(arguments, str):
            request.arguments.append(arguments)


def _numbered(requests: Iterable[_Request]) -> Iterator[ToolRequest]:
    """Yield the requests with distinct ids, which their results refer to."""
    ids: set[str] = set()
    for number, request in enumerate(requests, 1):
        if not request.name:
            continue
        id_ = request.id if request.id and request.id not in ids else f"call_{number}"
        ids.add(id_)
        yield ToolRequest(id_, request.name, "".join(request.arguments))


def _json(body: bytes, tokens: int) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise _unclear(tokens) from None


def _unclear(tokens: int) -> ModelError:
    return ModelError("unavailable", UNCLEAR, input_tokens=tokens)

"""Debug lines about requests and answers: the shapes of their values, never the content."""

import json
from collections.abc import Mapping
from typing import Any

from nacre.core.logs import Log
from nacre.protocol.messages import RequestId

_MOST = 20  # arguments or blocks that are named
_ERROR_LENGTH = 300


class Details:
    """Writes two lines for each request, at the level of debugging."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._foreign: set[RequestId] = set()  # that call a tool of another server

    def request(self, request_id: RequestId, method: str, params: Mapping[str, Any]) -> None:
        """Write a line about a request."""
        arguments, name = params.get("arguments"), _text(params.get("name"))
        if name is not None and name.startswith("mcp__"):
            self._foreign.add(request_id)
        self._log.write(
            "debug",
            "request",
            id=request_id,
            method=method,
            name=name,
            uri=_text(params.get("uri")),
            arguments=_shape_of_all(arguments) if isinstance(arguments, Mapping) else None,
        )

    def answer(self, request_id: RequestId, body: bytes) -> None:
        """Write a line about an answer."""
        message = json.loads(body)
        result, error = message.get("result"), message.get("error")
        result = result if isinstance(result, dict) else {}
        content = result.get("content")
        blocks = content if isinstance(content, list) else []
        is_error = result.get("isError") is True
        is_foreign = request_id in self._foreign
        self._foreign.discard(request_id)
        self._log.write(
            "debug",
            "answer",
            id=request_id,
            bytes=len(body),
            content=", ".join(map(_block, blocks[:_MOST])) or None,
            is_error=is_error or None,
            # The texts of our errors are written for people, and hold no content; what another
            # server calls an error may hold anything.
            said=_text(blocks[0].get("text")) if is_error and blocks and not is_foreign else None,
            error=_text(error.get("message"))
            if isinstance(error, dict) and not is_foreign
            else None,
        )


def _shape_of_all(arguments: Mapping[str, Any]) -> str:
    shapes = [f"{name[:60]}: {_shape(value)}" for name, value in list(arguments.items())[:_MOST]]
    return ", ".join(shapes) or "none"


def _shape(value: Any) -> str:
    match value:
        case str():
            return f"text of {len(value)}"
        case bool() | None:
            return json.dumps(value)
        case int() | float():
            return "a number"
        case list():
            return f"list of {len(value)}"
        case _:
            return "object"


def _block(block: Any) -> str:
    kind = block.get("type") if isinstance(block, dict) else None
    text = block.get("text") if kind == "text" else None
    return f"text of {len(text)}" if isinstance(text, str) else str(kind)


def _text(value: Any) -> str | None:
    return value[:_ERROR_LENGTH] if isinstance(value, str) else None

"""What a tool call gives back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal

from nacre.sdk.content import (
    CONTENT_TYPES,
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
    ToolContent,
)
from nacre.sdk.schema.encode import encode


class _Absent(Enum):
    ABSENT = "absent"


# None is a JSON value that a tool may return as structured content.
ABSENT: Final = _Absent.ABSENT


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Content for the model, perhaps structured content for programs, perhaps an error.

    `is_error` marks a failure that the model can read and act on.
    """

    content: Sequence[ToolContent] = ()
    is_error: bool = False
    structured_content: Any | Literal[_Absent.ABSENT] = ABSENT
    meta: Mapping[str, Any] | None = None

    @staticmethod
    def text(text: str) -> "ToolResult":
        """Return a success with one block of text."""
        return ToolResult((TextContent(text),))

    @staticmethod
    def error(message: str) -> "ToolResult":
        """Return a failure that the model can read."""
        return ToolResult((TextContent(message),), is_error=True)

    @staticmethod
    def image(data: bytes | str, mime_type: str) -> "ToolResult":
        """Return one image: bytes, or text that is base64 already."""
        return ToolResult((ImageContent(data, mime_type),))

    @staticmethod
    def audio(data: bytes | str, mime_type: str) -> "ToolResult":
        """Return one sound: bytes, or text that is base64 already."""
        return ToolResult((AudioContent(data, mime_type),))

    @staticmethod
    def link(uri: str, name: str, *, mime_type: str | None = None) -> "ToolResult":
        """Return a reference to one resource."""
        return ToolResult((ResourceLink(uri, name, mime_type=mime_type),))

    @staticmethod
    def resource(
        uri: str,
        *,
        text: str | None = None,
        blob: bytes | str | None = None,
        mime_type: str | None = None,
    ) -> "ToolResult":
        """Return one resource's contents, sent along."""
        return ToolResult((EmbeddedResource(ResourceContents(uri, text, blob, mime_type)),))

    @staticmethod
    def structured(value: Any, *, text: str | None = None) -> "ToolResult":
        """Return a value for programs, and its JSON (or `text`) for the model."""
        data = encode(value)
        return ToolResult((TextContent(_json(data) if text is None else text),), False, data)

    def to_dict(self) -> dict[str, Any]:
        """Return the result in wire form; what is absent is left out."""
        result: dict[str, Any] = {"content": [block.to_dict() for block in self.content]}
        if self.is_error:
            result["isError"] = True
        if self.structured_content is not ABSENT:
            result["structuredContent"] = encode(self.structured_content)
        if self.meta is not None:
            result["_meta"] = dict(self.meta)
        return result


def result_of(value: Any, *, has_output_schema: bool = False) -> ToolResult:
    """Turn what a function returned into a result.

    A ToolResult stays; text and content blocks become content; None says nothing;
    objects (mappings, dataclasses, models) become structured content with their JSON
    as text; lists and other values become JSON text, and structured content too when
    the tool has an output schema. Anything else raises InvalidInputError.
    """
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, str) and not has_output_schema:
        return ToolResult((TextContent(str(value)),))
    if value is None and not has_output_schema:
        return ToolResult()
    if isinstance(value, CONTENT_TYPES):
        return ToolResult((value,))
    if (
        isinstance(value, list | tuple)
        and value
        and all(isinstance(block, CONTENT_TYPES) for block in value)
    ):
        return ToolResult(tuple(value))
    data = encode(value)
    # Revisions before 2026-07-28 know structured content as an object only.
    if isinstance(data, dict) or has_output_schema:
        return ToolResult((TextContent(_json(data)),), False, data)
    return ToolResult((TextContent(_json(data)),))


def _json(data: Any) -> str:
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)

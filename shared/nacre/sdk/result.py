"""The result of a tool call, and its content: text, images, sound and references."""

import base64
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, Literal

from nacre.core.lazy_dataclasses import dataclass
from nacre.sdk.schema.encode import encode

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """Hints about a block: who it is for, how much it matters (0 to 1), when it changed."""

    audience: Sequence[Role] | None = None
    priority: float | None = None
    last_modified: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the hints that are set, in wire form."""
        return present(
            audience=None if self.audience is None else list(self.audience),
            priority=self.priority,
            lastModified=self.last_modified,
        )


@dataclass(frozen=True, slots=True)
class TextContent:
    """A block of text."""

    text: str
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the block in wire form."""
        block: dict[str, Any] = {"type": "text", "text": self.text}
        plain = self.annotations is None and self.meta is None
        return block if plain else block | _hints(self)


@dataclass(frozen=True, slots=True)
class _Media:
    """The common part of images and sounds: bytes, or text that is base64 already."""

    data: bytes | str
    mime_type: str
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None
    _type = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the block in wire form."""
        block: dict[str, Any] = {
            "type": self._type,
            "data": _base64(self.data),
            "mimeType": self.mime_type,
        }
        return block | _hints(self)


class ImageContent(_Media):
    """An image: bytes, or text that is base64 already."""

    __slots__ = ()
    _type = "image"


class AudioContent(_Media):
    """A sound: bytes, or text that is base64 already."""

    __slots__ = ()
    _type = "audio"


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """A reference to a resource that the client may read."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the block in wire form."""
        return present(
            type="resource_link",
            uri=self.uri,
            name=self.name,
            title=self.title,
            description=self.description,
            mimeType=self.mime_type,
            size=self.size,
        ) | _hints(self)


@dataclass(frozen=True, slots=True)
class ResourceContents:
    """The contents of a resource: text, or bytes (`blob`, where text is base64 already)."""

    uri: str
    text: str | None = None
    blob: bytes | str | None = None
    mime_type: str | None = None
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse contents that are both text and bytes, or neither."""
        if (self.text is None) == (self.blob is None):
            raise TypeError(f"resource contents of {self.uri!r} need either text or blob")

    def to_dict(self) -> dict[str, Any]:
        """Return the contents in wire form."""
        return present(
            uri=self.uri,
            mimeType=self.mime_type,
            text=self.text,
            blob=None if self.blob is None else _base64(self.blob),
        ) | _hints(self)


@dataclass(frozen=True, slots=True)
class EmbeddedResource:
    """The contents of a resource, included in the result."""

    resource: ResourceContents
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the block in wire form."""
        return {"type": "resource", "resource": self.resource.to_dict()} | _hints(self)


ToolContent = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
CONTENT_TYPES = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)


def present(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def _hints(block: ToolContent | ResourceContents | _Media) -> dict[str, Any]:
    return present(
        annotations=None if block.annotations is None else block.annotations.to_dict(),
        _meta=None if block.meta is None else dict(block.meta),
    )


def _base64(data: bytes | str) -> str:
    return data if isinstance(data, str) else base64.b64encode(data).decode("ascii")


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
        """Return the contents of one resource, included in the result."""
        return ToolResult((EmbeddedResource(ResourceContents(uri, text, blob, mime_type)),))

    @staticmethod
    def structured(value: Any, *, text: str | None = None) -> "ToolResult":
        """Return a value for programs, and its JSON (or `text`) for the model."""
        data = encode(value)
        return ToolResult((TextContent(_json(data) if text is None else text),), False, data)

    def to_dict(self) -> dict[str, Any]:
        """Return the result in wire form, without absent members."""
        result: dict[str, Any] = {"content": [block.to_dict() for block in self.content]}
        if self.is_error:
            result["isError"] = True
        if self.structured_content is not ABSENT:
            result["structuredContent"] = encode(self.structured_content)
        if self.meta is not None:
            result["_meta"] = dict(self.meta)
        return result


def result_of(value: Any, *, has_output_schema: bool = False) -> ToolResult:
    """Turn the return value of a function into a result.

    A ToolResult stays. Text and content blocks become content, and None becomes no content.
    Objects (mappings, dataclasses, models) become structured content with their JSON as text.
    Lists and other values become JSON text, and structured content too if the tool has an output
    schema. Anything else raises InvalidInputError.
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

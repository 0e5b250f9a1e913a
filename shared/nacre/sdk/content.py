"""What a tool, a prompt or a resource says: blocks of text, images, sound and references."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """Hints about a block: whom it is for, how much it matters (0 to 1), when it changed."""

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
class ImageContent:
    """An image: bytes, or text that is base64 already."""

    data: bytes | str
    mime_type: str
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the block in wire form."""
        return {
            "type": "image",
            "data": _base64(self.data),
            "mimeType": self.mime_type,
        } | _hints(self)


@dataclass(frozen=True, slots=True)
class AudioContent:
    """A sound: bytes, or text that is base64 already."""

    data: bytes | str
    mime_type: str
    annotations: Annotations | None = None
    meta: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the block in wire form."""
        return {
            "type": "audio",
            "data": _base64(self.data),
            "mimeType": self.mime_type,
        } | _hints(self)


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
    """What a resource holds: text, or bytes (`blob`; text there is base64 already)."""

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
    """A resource's contents, sent along."""

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


def _hints(block: ToolContent | ResourceContents) -> dict[str, Any]:
    return present(
        annotations=None if block.annotations is None else block.annotations.to_dict(),
        _meta=None if block.meta is None else dict(block.meta),
    )


def _base64(data: bytes | str) -> str:
    return data if isinstance(data, str) else base64.b64encode(data).decode("ascii")

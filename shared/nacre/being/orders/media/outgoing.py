"""The media of an answer as content blocks within the limits; those left out are named."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from nacre.being.orders.media.base64_text import decoded_pieces, decoded_size, encoded
from nacre.being.orders.media.file_names import base_name
from nacre.being.orders.media.media_limits import MediaLimits, bound, readable
from nacre.being.orders.media.media_types import ALL, IMAGES
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OutMedia:
    """One image, sound or file of an answer: bytes, or a text in base64."""

    mime_type: str
    data: bytes | str = field(repr=False)
    name: str = ""


@dataclass(frozen=True, slots=True)
class FittedMedia:
    """The content blocks of an answer, and a line for each medium that was left out."""

    blocks: list[dict[str, Any]] = field(repr=False)
    left_out: list[str]


def media_of(block: Mapping[str, Any]) -> OutMedia | None:
    """Return the medium in a content block of a tool's result, or None."""
    match block:
        case {"type": "image" | "audio", "data": str(data), "mimeType": str(mime_type)}:
            return OutMedia(mime_type, data)
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data)} as resource}:
            return OutMedia(str(resource.get("mimeType") or _UNKNOWN), data, uri)
        case _:
            return None


def fit(media: Sequence[OutMedia], limits: MediaLimits, *, text_bytes: int = 0) -> FittedMedia:
    """Return as many media as the answer can carry, as content blocks in their order.

    Repeated media are sent once. `text_bytes` is the size of the answer's text.
    """
    blocks: list[dict[str, Any]] = []
    left_out: list[str] = []
    names: set[str] = set()
    contents: set[tuple[str, str]] = set()
    bytes_left = limits.answer_bytes - text_bytes
    for number, item in enumerate(media, 1):
        mime_type = item.mime_type.partition(";")[0].strip().lower() or _UNKNOWN
        name = _name(item.name, mime_type, number)
        try:
            text, size = _checked(item.data)
        except InvalidInputError:
            left_out.append(f"{name} was left out: its content is not base64.")
            continue
        if (mime_type, text) in contents:
            continue
        if size > limits.answer_item_bytes or size > bytes_left:
            left_out.append(f"{name} ({readable(size)}) was left out: {_reason(size, limits)}.")
            continue
        contents.add((mime_type, text))
        bytes_left -= size
        blocks.append(_block(mime_type, text, _unique(name, names)))
    return FittedMedia(blocks, left_out)


_UNKNOWN = "application/octet-stream"


def _checked(data: bytes | str) -> tuple[str, int]:
    if isinstance(data, bytes):
        return encoded(data), len(data)
    for _ in decoded_pieces(data):
        pass
    return data, decoded_size(data)


def _reason(size: int, limits: MediaLimits) -> str:
    if size > limits.answer_item_bytes:
        return f"one item of an answer may have {bound(limits.answer_item_bytes)}"
    return (
        f"this {limits.deployment} sends at most {bound(limits.answer_bytes)} in one answer"
        f"{limits.platform}"
    )


def _name(file_name: str, mime_type: str, number: int) -> str:
    media_type = ALL.get(mime_type)
    extension = media_type.extension if media_type else "bin"
    return base_name(file_name) or f"attachment-{number}.{extension}"


def _unique(name: str, names: set[str]) -> str:
    stem, dot, extension = name.partition(".")
    unique, number = name, 1
    while unique in names:
        number += 1
        unique = f"{stem}-{number}{dot}{extension}"
    names.add(unique)
    return unique


def _block(mime_type: str, text: str, name: str) -> dict[str, Any]:
    if mime_type in IMAGES:
        return {"type": "image", "data": text, "mimeType": mime_type}
    if mime_type.startswith("audio/"):
        return {"type": "audio", "data": text, "mimeType": mime_type}
    uri = f"attachment://{quote(name, safe='')}"
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "blob": text}}

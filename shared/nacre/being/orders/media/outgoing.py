"""Media of an answer, as blocks and within the limits; what does not fit is named."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from nacre.being.orders.media.base64_text import decoded_size, encoded, pieces
from nacre.being.orders.media.file_names import base_name
from nacre.being.orders.media.media_limits import MediaLimits, bound, readable
from nacre.being.orders.media.media_types import ALL, IMAGES
from nacre.core.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class OutMedia:
    """One image, sound or file of an answer: bytes, or text that is base64 already."""

    mime_type: str
    data: bytes | str = field(repr=False)
    name: str = ""


@dataclass(frozen=True, slots=True)
class FittedMedia:
    """The blocks that an answer carries, and a line for each that it does not."""

    blocks: list[dict[str, Any]] = field(repr=False)
    left_out: list[str]


def media_of(block: Mapping[str, Any]) -> OutMedia | None:
    """Return the medium that a content block of a tool's result holds, if it holds one."""
    match block:
        case {"type": "image" | "audio", "data": str(data), "mimeType": str(mime_type)}:
            return OutMedia(mime_type, data)
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data)} as resource}:
            return OutMedia(str(resource.get("mimeType") or _UNKNOWN), data, uri)
        case _:
            return None


def fit(media: Sequence[OutMedia], limits: MediaLimits, *, text_bytes: int = 0) -> FittedMedia:
    """Return the media as content blocks, in their order, as many as the answer carries.

    What comes twice goes out once. `text_bytes` is what the answer's words take of the room.
    """
    blocks: list[dict[str, Any]] = []
    left_out: list[str] = []
    names: set[str] = set()
    seen: set[tuple[str, str]] = set()
    room = limits.answer_bytes - text_bytes
    for number, item in enumerate(media, 1):
        mime_type = item.mime_type.partition(";")[0].strip().lower() or _UNKNOWN
        name = _name(item.name, mime_type, number)
        try:
            text, size = _checked(item.data)
        except InvalidInputError:
            left_out.append(f"{name} was left out: its content is not base64.")
            continue
        if (mime_type, text) in seen:
            continue
        if size > limits.answer_item_bytes or size > room:
            left_out.append(f"{name} ({readable(size)}) was left out: {_why(size, limits)}.")
            continue
        seen.add((mime_type, text))
        room -= size
        blocks.append(_block(mime_type, text, _unique(name, names)))
    return FittedMedia(blocks, left_out)


_UNKNOWN = "application/octet-stream"


def _checked(data: bytes | str) -> tuple[str, int]:
    if isinstance(data, bytes):
        return encoded(data), len(data)
    for _ in pieces(data):
        pass
    return data, decoded_size(data)


def _why(size: int, limits: MediaLimits) -> str:
    if size > limits.answer_item_bytes:
        return f"one item of an answer may have {bound(limits.answer_item_bytes)}"
    return (
        f"this {limits.deployment} sends at most {bound(limits.answer_bytes)} in one answer"
        f"{limits.platform}"
    )


def _name(given: str, mime_type: str, number: int) -> str:
    known = ALL.get(mime_type)
    return base_name(given) or f"attachment-{number}.{known.extension if known else 'bin'}"


def _unique(name: str, taken: set[str]) -> str:
    stem, dot, extension = name.partition(".")
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{stem}-{number}{dot}{extension}"
    taken.add(found)
    return found


def _block(mime_type: str, text: str, name: str) -> dict[str, Any]:
    if mime_type in IMAGES:
        return {"type": "image", "data": text, "mimeType": mime_type}
    if mime_type.startswith("audio/"):
        return {"type": "audio", "data": text, "mimeType": mime_type}
    uri = f"attachment://{quote(name, safe='')}"
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "blob": text}}

"""The media of an answer as content blocks within the limits; those left out are named."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from nacre.being.orders.media.base64_text import decoded, decoded_pieces, decoded_size, encoded
from nacre.being.orders.media.file_names import base_name
from nacre.being.orders.media.media_limits import MediaLimits, bound, readable
from nacre.being.orders.media.media_types import ALL, IMAGES
from nacre.core.errors import InvalidInputError, UnavailableError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import MEDIA_LINK_SECONDS


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


Link = Callable[[bytes, str, str], str]
"""From a content, its type and its name to a link; may raise UnavailableError."""


def fit(
    media: Sequence[OutMedia],
    limits: MediaLimits,
    *,
    text_bytes: int = 0,
    link: Link | None = None,
) -> FittedMedia:
    """Return as many media as the answer can carry, as content blocks in their order.

    Repeated media are sent once. `text_bytes` is the size of the answer's text. What the answer
    itself cannot carry becomes a link, where the limits allow it.
    """
    blocks: list[dict[str, Any]] = []
    left_out: list[str] = []
    names: set[str] = set()
    contents: set[tuple[str, str]] = set()
    bytes_left = limits.answer_bytes - text_bytes
    all_left = max(limits.answer_bytes, limits.linked_bytes) - text_bytes
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
        is_linked = link is not None and bytes_left < size <= all_left
        if size > limits.answer_item_bytes or (size > bytes_left and not is_linked):
            left_out.append(f"{name} ({readable(size)}) was left out: {_reason(size, limits)}.")
            continue
        if link is not None and is_linked:
            try:
                uri = link(decoded(text), mime_type, name)
            except UnavailableError:
                reason = "it could not be stored for a download"
                left_out.append(f"{name} ({readable(size)}) was left out: {reason}.")
                continue
            blocks.append(_link_block(uri, mime_type, _unique(name, names), size))
        else:
            bytes_left -= size
            blocks.append(_block(mime_type, text, _unique(name, names)))
        contents.add((mime_type, text))
        all_left -= size
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
    most = max(limits.answer_bytes, limits.linked_bytes)
    platform = "" if limits.linked_bytes else limits.platform
    return f"this {limits.deployment} sends at most {bound(most)} in one answer{platform}"


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


def _link_block(uri: str, mime_type: str, name: str, size: int) -> dict[str, Any]:
    return {
        "type": "resource_link",
        "uri": uri,
        "name": name,
        "description": f"Download it within {MEDIA_LINK_SECONDS // 60} minutes",
        "mimeType": mime_type,
        "size": size,
    }


def _block(mime_type: str, text: str, name: str) -> dict[str, Any]:
    if mime_type in IMAGES:
        return {"type": "image", "data": text, "mimeType": mime_type}
    if mime_type.startswith("audio/"):
        return {"type": "audio", "data": text, "mimeType": mime_type}
    uri = f"attachment://{quote(name, safe='')}"
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "blob": text}}

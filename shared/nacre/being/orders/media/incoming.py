"""The media of an incoming order, checked strictly; an error names the item."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from nacre.being.orders.media.base64_text import decoded, decoded_head, decoded_pieces, decoded_size
from nacre.being.orders.media.decoded_content import DecodedContent
from nacre.being.orders.media.file_names import base_name
from nacre.being.orders.media.media_limits import MediaLimits, bound, megabytes
from nacre.being.orders.media.media_types import FILES, IMAGES, MediaType, likely_type
from nacre.core.errors import InvalidArgumentError, InvalidInputError
from nacre.core.lazy_dataclasses import dataclass, field

Kind = Literal["image", "file"]

_LINKED = {"upload", "size"}  # in place of data, where a stack gives links


@dataclass(frozen=True, slots=True)
class Attachment:
    """One checked image or file of an order; its content is decoded on each access.

    The base64 text is that of the call, so an attachment takes no further memory.
    """

    kind: Kind
    mime_type: str
    name: str
    size: int
    sha256: str
    base64: str = field(repr=False)

    @property
    def data(self) -> bytes:
        """The content."""
        return decoded(self.base64)

    def head(self, size: int) -> bytes:
        """Return at most the first `size` bytes of the content."""
        return decoded_head(self.base64, size)


@dataclass(frozen=True, slots=True)
class DeclaredItem:
    """One item of a call: its list, its place there, and what it is declared to be."""

    kind: Kind
    number: int
    place: str
    type: MediaType
    name: str
    entry: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Item:
    """One item of a call, before its content is checked."""

    kind: Kind
    place: str
    type: MediaType
    name: str
    text: str = field(repr=False)


def read_attachments(images: Any, files: Any, limits: MediaLimits) -> tuple[Attachment, ...]:
    """Return the images and files of a call, images first, both in their order.

    All checks that need no decoding come first, for all items. Raises InvalidArgumentError, whose
    text names the item, the fault and the limit.
    """
    items = [_with_content(item) for item in declared_items(images, files, limits)]
    total = 0
    for item in items:
        total += _measured(item, limits)
    if total > limits.call_bytes:
        raise InvalidArgumentError(limits.too_much(total))
    return tuple(_read(item) for item in items)


def declared_items(images: Any, files: Any, limits: MediaLimits) -> list[DeclaredItem]:
    """Return the items of a call with their declared types; contents are not looked at."""
    return [
        *_declared("image", images, IMAGES, most=limits.images),
        *_declared("file", files, FILES, most=limits.files),
    ]


def _declared(
    kind: Kind, argument: Any, types: Mapping[str, MediaType], *, most: int
) -> Iterator[DeclaredItem]:
    entries = _checked_list(f"{kind}s", argument)
    if len(entries) > most:
        raise InvalidArgumentError(
            f"there are {len(entries)} {kind}s; one call takes at most {most}. Send fewer at once"
        )
    for number, entry in enumerate(entries):
        place = f"{kind}s[{number}]"
        if not isinstance(entry, Mapping):
            raise InvalidArgumentError(f"{place}: expected an object with data and mimeType")
        if not isinstance(entry.get("data"), str) and not _LINKED & entry.keys():
            raise InvalidArgumentError(f"{place}: 'data' must be base64 text")
        declared, file_name = entry.get("mimeType"), entry.get("filename")
        if not isinstance(declared, str):
            raise InvalidArgumentError(f"{place}: 'mimeType' must be text, such as {_first(types)}")
        if file_name is not None and not isinstance(file_name, str):
            raise InvalidArgumentError(f"{place}: 'filename' must be text, or left out")
        name = base_name(file_name or "")
        if name:
            place = f"{place} ({name})"
        media_type = _allowed(place, kind, declared, types)
        name = name or f"{kind}-{number + 1}.{media_type.extension}"
        yield DeclaredItem(kind, number, place, media_type, name, entry)


def _with_content(item: DeclaredItem) -> _Item:
    text = item.entry.get("data")
    if not isinstance(text, str):
        raise InvalidArgumentError(f"{item.place}: 'data' must be base64 text")
    return _Item(item.kind, item.place, item.type, item.name, text)


def _checked_list(name: str, argument: Any) -> Sequence[Any]:
    if argument is None:
        return ()
    if isinstance(argument, Sequence) and not isinstance(argument, str | bytes):
        return argument
    raise InvalidArgumentError(f"'{name}' must be a list of objects with data and mimeType")


def _first(types: Mapping[str, MediaType]) -> str:
    return "image/png" if types is IMAGES else "application/pdf"


def _allowed(place: str, kind: Kind, declared: str, types: Mapping[str, MediaType]) -> MediaType:
    # Types are case-insensitive, and parameters such as the charset do not matter here.
    name = declared.partition(";")[0].strip().lower()
    media_type = types.get(name)
    if media_type is not None:
        return media_type
    other_list, other_types = ("files", FILES) if kind == "image" else ("images", IMAGES)
    if name in other_types:
        raise InvalidArgumentError(f"{place}: {name} goes into '{other_list}', not into '{kind}s'")
    readable = base_name(name.replace("/", "\N{DIVISION SLASH}")).replace("\N{DIVISION SLASH}", "/")
    raise InvalidArgumentError(
        f"{place}: the type '{readable}' is not accepted; {kind}s may be {', '.join(types)}"
    )


def _measured(item: _Item, limits: MediaLimits) -> int:
    if not item.text:
        raise InvalidArgumentError(f"{item.place}: it is empty")
    try:
        size = decoded_size(item.text)
    except InvalidInputError as error:
        raise InvalidArgumentError(f"{item.place}: {error}") from None
    check_size(item.kind, item.place, size, limits)
    return size


def check_size(kind: Kind, place: str, size: int, limits: MediaLimits) -> None:
    """Raise InvalidArgumentError if an item is too large."""
    if size > limits.item_bytes:
        raise InvalidArgumentError(
            f"{place}: it is {megabytes(size, over=limits.item_bytes)} MB;"
            f" one {kind} may have {bound(limits.item_bytes)}"
        )


def _read(item: _Item) -> Attachment:
    try:
        content = DecodedContent(item.type, decoded_pieces(item.text))
    except InvalidInputError as error:
        raise InvalidArgumentError(f"{item.place}: {error}") from None
    if not content.fits():
        raise InvalidArgumentError(
            f"{item.place}: it is declared as {item.type.name}, but {_actual(item.type, content)}"
        )
    if content.is_cut():
        raise InvalidArgumentError(f"{item.place}: the {item.type.name} is cut short")
    name, size = item.name, content.size
    return Attachment(item.kind, item.type.name, name, size, content.sha256, item.text)


def _actual(declared: MediaType, content: DecodedContent) -> str:
    if guess := likely_type(content.head):
        return f"looks like {guess}"
    if declared.group == "text":
        return "is not text in UTF-8"
    return "is text" if content.is_text else "does not begin like one"

"""Media that come with an order: read strictly, and refused by name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from nacre.being.orders.media.base64_text import beginning, decoded, decoded_size, pieces
from nacre.being.orders.media.decoded_content import Content
from nacre.being.orders.media.file_names import base_name
from nacre.being.orders.media.media_limits import MediaLimits, bound, megabytes
from nacre.being.orders.media.media_types import FILES, IMAGES, MediaType, likely
from nacre.core.errors import InvalidArgumentError, InvalidInputError

Kind = Literal["image", "file"]


@dataclass(frozen=True, slots=True)
class Attachment:
    """One image or file of an order, checked; its bytes are decoded each time they are asked for.

    The base64 text is the one that came with the call, so an attachment costs no memory.
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
        return beginning(self.base64, size)


@dataclass(frozen=True, slots=True)
class _Sent:
    """One item as it came, before its content is looked at."""

    kind: Kind
    place: str
    type: MediaType
    name: str
    text: str = field(repr=False)


def read_attachments(images: Any, files: Any, limits: MediaLimits) -> tuple[Attachment, ...]:
    """Return the images and files of a call, images first, each in its order.

    Everything that can be known without decoding is checked for all of them first. Raises
    InvalidArgumentError, whose text names the item, what was wrong and the limit.
    """
    sent = [
        *_sent("image", images, IMAGES, most=limits.images),
        *_sent("file", files, FILES, most=limits.files),
    ]
    total = 0
    for item in sent:
        total += _measured(item, limits)
    if total > limits.call_bytes:
        raise InvalidArgumentError(limits.too_much(total))
    return tuple(_read(item) for item in sent)


def _sent(kind: Kind, given: Any, types: Mapping[str, MediaType], *, most: int) -> Iterator[_Sent]:
    items = _listed(f"{kind}s", given)
    if len(items) > most:
        raise InvalidArgumentError(
            f"there are {len(items)} {kind}s; one call takes at most {most}. Send fewer at once"
        )
    for number, item in enumerate(items):
        place = f"{kind}s[{number}]"
        if not isinstance(item, Mapping):
            raise InvalidArgumentError(f"{place}: expected an object with data and mimeType")
        text, declared, named = (item.get(name) for name in ("data", "mimeType", "filename"))
        if not isinstance(text, str):
            raise InvalidArgumentError(f"{place}: 'data' must be base64 text")
        if not isinstance(declared, str):
            raise InvalidArgumentError(f"{place}: 'mimeType' must be text, such as {_first(types)}")
        if named is not None and not isinstance(named, str):
            raise InvalidArgumentError(f"{place}: 'filename' must be text, or left out")
        name = base_name(named or "")
        if name:
            place = f"{place} ({name})"
        found = _allowed(place, kind, declared, types)
        yield _Sent(kind, place, found, name or f"{kind}-{number + 1}.{found.extension}", text)


def _listed(name: str, given: Any) -> Sequence[Any]:
    if given is None:
        return ()
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return given
    raise InvalidArgumentError(f"'{name}' must be a list of objects with data and mimeType")


def _first(types: Mapping[str, MediaType]) -> str:
    return "image/png" if types is IMAGES else "application/pdf"


def _allowed(place: str, kind: Kind, declared: str, types: Mapping[str, MediaType]) -> MediaType:
    # Types are case-insensitive, and a parameter such as a charset says nothing that counts here.
    wanted = declared.partition(";")[0].strip().lower()
    found = types.get(wanted)
    if found is not None:
        return found
    other, elsewhere = ("files", FILES) if kind == "image" else ("images", IMAGES)
    if wanted in elsewhere:
        raise InvalidArgumentError(f"{place}: {wanted} goes into '{other}', not into '{kind}s'")
    shown = base_name(wanted.replace("/", "\N{DIVISION SLASH}")).replace("\N{DIVISION SLASH}", "/")
    raise InvalidArgumentError(
        f"{place}: the type '{shown}' is not taken; {kind}s may be {', '.join(types)}"
    )


def _measured(item: _Sent, limits: MediaLimits) -> int:
    if not item.text:
        raise InvalidArgumentError(f"{item.place}: it is empty")
    try:
        size = decoded_size(item.text)
    except InvalidInputError as error:
        raise InvalidArgumentError(f"{item.place}: {error}") from None
    if size > limits.item_bytes:
        raise InvalidArgumentError(
            f"{item.place}: it is {megabytes(size, over=limits.item_bytes)} MB;"
            f" one {item.kind} may have {bound(limits.item_bytes)}"
        )
    return size


def _read(item: _Sent) -> Attachment:
    try:
        content = Content(item.type, pieces(item.text))
    except InvalidInputError as error:
        raise InvalidArgumentError(f"{item.place}: {error}") from None
    if not content.fits():
        raise InvalidArgumentError(
            f"{item.place}: it is declared as {item.type.name}, but {_found(item.type, content)}"
        )
    if content.is_cut():
        raise InvalidArgumentError(f"{item.place}: the {item.type.name} is cut short")
    name, size = item.name, content.size
    return Attachment(item.kind, item.type.name, name, size, content.sha256, item.text)


def _found(declared: MediaType, content: Content) -> str:
    if looks := likely(content.head):
        return f"looks like {looks}"
    if declared.group == "text":
        return "is not text in UTF-8"
    return "is text" if content.is_text else "does not begin like one"

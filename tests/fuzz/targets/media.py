"""The media of orders.

Whatever is sent is either taken, and then it is what it says, or refused by name; and what
is sent back is within the limits.
"""

import asyncio
import base64
import json

from nacre.being.orders.media.chat_parts import MediaAbilities, parts_for
from nacre.being.orders.media.incoming import Attachment, read_attachments
from nacre.being.orders.media.media_limits import MediaLimits
from nacre.being.orders.media.media_types import ALL, FILES, IMAGES
from nacre.being.orders.media.outgoing import OutMedia, fit
from nacre.core.errors import InvalidArgumentError, MalformedJsonError, MalformedMessageError
from nacre.protocol import strict_json
from tests.being.orders.documents import SAMPLES, sent

LIMITS = MediaLimits(
    item_bytes=300,
    call_bytes=500,
    answer_item_bytes=200,
    answer_bytes=400,
    deployment="",
    instead="",
)
TYPES = tuple(ALL)
LENGTH = 500
SEEDS = (
    b"",
    b"\0",
    b"\0[[]]",
    b'\0{"images": [null]}',
    b'\0{"images": "x", "files": {}}',
    '\0{"images": [{"data": "世🐚", "mimeType": "image/png"}]}'.encode(),
    *(
        b"\0" + json.dumps({"files": [sent(data, name, "../é.x")]}).encode()
        for name, data in SAMPLES.items()
        if len(data) < 200
    ),
    *(bytes([1, TYPES.index(name)]) + data for name, data in SAMPLES.items() if len(data) < 200),
    b"\2GIF89a\0aGk=\0aGk\0\xff",
)


def one(data: bytes) -> None:
    """Try one input: its first byte says as what."""
    kind, rest = data[:1] or b"\0", data[1:]
    match kind[0] % 3:
        case 0:
            _arguments(rest)
        case 1:
            _content(rest)
        case _:
            _answer(rest)


def _arguments(raw: bytes) -> None:
    """Take the input for the arguments of a call, as JSON."""
    value = _parsed(bytearray(raw))
    assert value == _parsed(raw)
    images, files = (
        (value.get("images"), value.get("files")) if isinstance(value, dict) else (value, value)
    )
    _read(images, files)


def _parsed(raw: bytes | bytearray) -> object:
    try:
        return strict_json.parse(raw)
    except (MalformedJsonError, MalformedMessageError) as error:
        return type(error)


def _content(raw: bytes) -> None:
    """Take the input for a file of the type that its first byte names."""
    mime_type = TYPES[raw[0] % len(TYPES)] if raw else "text/plain"
    name = raw[1:9].decode("utf-8", "replace")
    text = base64.b64encode(raw[1:]).decode()
    item = {"data": text, "mimeType": mime_type, "filename": name}
    if mime_type in IMAGES:
        _read([item], None)
    else:
        _read(None, [item])
    _read(None, [{"data": raw[1:].decode("latin-1"), "mimeType": "application/zip"}])


def _read(images: object, files: object) -> None:
    try:
        found = read_attachments(images, files, LIMITS)
    except InvalidArgumentError as error:
        said, found = str(error), ()
    else:
        said = ""
    said.encode()
    assert len(said) < 1000
    for each in found:
        _check(each)
    parts = asyncio.run(parts_for("m", found, MediaAbilities()))
    assert parts[0] == {"type": "text", "text": "m"}
    json.dumps(parts).encode()


def _check(found: Attachment) -> None:
    data = found.data
    assert 0 < len(data) == found.size <= LIMITS.item_bytes
    assert base64.b64encode(data).decode() == found.base64
    assert found.mime_type in (IMAGES if found.kind == "image" else FILES)
    assert found.name
    assert found.name.isprintable()
    assert not set(found.name) & set("/\\`")
    kind = ALL[found.mime_type]
    assert kind.group == "text" or kind.begins(data)


def _answer(raw: bytes) -> None:
    """Take the input for media of an answer, one after each zero byte."""
    media = []
    for number, piece in enumerate(raw.split(b"\0")):
        data: bytes | str = piece.decode("latin-1") if number % 2 else piece
        media.append(
            OutMedia(TYPES[len(piece) % len(TYPES)], data, piece.decode("utf-8", "replace"))
        )
    fitted = fit(media, LIMITS)
    size = 0
    for block in fitted.blocks:
        text = block["data"] if "data" in block else block["resource"]["blob"]
        item = base64.b64decode(text, validate=True)
        assert len(item) <= LIMITS.answer_item_bytes
        size += len(item)
        if "resource" in block:
            uri = block["resource"]["uri"]
            assert uri.startswith("attachment://")
            assert "/" not in uri.removeprefix("attachment://")
    assert size <= LIMITS.answer_bytes
    assert len(fitted.blocks) + len(fitted.left_out) <= len(media)
    json.dumps([fitted.blocks, fitted.left_out]).encode()

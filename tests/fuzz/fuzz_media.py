"""Fuzz the media of orders: `python tests/fuzz/fuzz_media.py -runs=100000` (needs atheris).

Whatever is sent is either taken, and then it is what it says, or refused by name; and what
is sent back is within the limits.
"""

import asyncio
import base64
import json
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "shared")]

from nacre.errors import InvalidArgumentError, MalformedJsonError, MalformedMessageError
from nacre.orders.media_in import Attachment, read_attachments
from nacre.orders.media_limits import MediaLimits
from nacre.orders.media_out import OutMedia, fit
from nacre.orders.media_parts import MediaAbilities, parts_for
from nacre.orders.media_types import ALL, FILES, IMAGES
from nacre.protocol import strict_json

LIMITS = MediaLimits(
    item_bytes=300,
    call_bytes=500,
    answer_item_bytes=200,
    answer_bytes=400,
    deployment="",
    instead="",
)
TYPES = tuple(ALL)


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


if __name__ == "__main__":
    import atheris  # comes without types

    atheris.instrument_all()
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()

"""A zip with any byte changed, cut off anywhere, is read or refused in words."""

import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nacre.cli.memory.foreign_files import read_foreign
from nacre.cli.memory.transcript_files import (
    read_transcripts,
    recognized_format,
    transcript_files,
)
from nacre.core.errors import InvalidInputError
from tests.end_to_end.attacks.rows import attack

TODAY = datetime(2026, 11, 18, tzinfo=UTC)
CHATS = [{"uuid": "c", "chat_messages": [{"uuid": "m", "sender": "human", "text": "é"}]}]


def packed(name: str, content: bytes, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr(zipfile.ZipInfo(name), content, compression)
    return file.getvalue()


def zip64(content: bytes) -> bytes:
    """Return a zip whose directory is found by way of a 64-bit record at the end."""
    end = content.index(b"PK\5\6")
    size, offset = struct.unpack("<LL", content[end + 12 : end + 20])
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, size, offset)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    return content[:end] + record + locator + content[end:]


def damaged(content: bytes) -> Iterator[bytes]:
    yield from (content[:length] for length in range(len(content)))
    for place in range(len(content)):
        for value in {0x00, 0x08, 0x7F, 0xB7, 0xFF} - {content[place]}:
            yield content[:place] + bytes((value,)) + content[place + 1 :]


def transcripts(path: Path) -> None:
    format_ = recognized_format(path)
    for name in {format_, "claude"} - {None, "cursor"}:
        list(read_transcripts(transcript_files(path, str(name)), str(name)))


def notes(path: Path) -> None:
    list(read_foreign("basic-memory", str(path), today=TODAY))


def memories(path: Path) -> None:
    list(read_foreign("mem0", str(path), today=TODAY))


READERS: dict[str, tuple[Callable[[Path], None], bytes]] = {
    "transcripts": (transcripts, packed("é/conversations.json", json.dumps(CHATS).encode())),
    "stored": (transcripts, packed("conversations.json", b"[]", zipfile.ZIP_STORED)),
    "of 64 bits": (transcripts, zip64(packed("conversations.json", b"[]"))),
    "notes": (notes, packed("é.md", b"# A note\n\n- [fact] Ann bakes bread\n")),
    "memories": (memories, packed("memories.json", b'[{"memory":"a","id":"1"}]')),
}


@attack("N25")
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_zip_is_read_or_refused_in_words(name: str, tmp_path: Path) -> None:
    read, whole = READERS[name]
    path = tmp_path / "given.zip"

    for content in damaged(whole):
        path.write_bytes(content)
        with suppress(InvalidInputError):
            read(path)


@pytest.mark.parametrize("name", ["transcripts", "of 64 bits", "notes", "memories"])
def test_the_same_zip_is_read_whole(name: str, tmp_path: Path) -> None:
    read, whole = READERS[name]
    path = tmp_path / "given.zip"
    path.write_bytes(whole)

    read(path)


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_another_compression_is_refused_by_name(compression: int, tmp_path: Path) -> None:
    path = tmp_path / "given.zip"
    path.write_bytes(packed("a.md", b"# A note\n", compression))

    with pytest.raises(InvalidInputError, match=r"the compression of 'a\.md' is not supported"):
        notes(path)

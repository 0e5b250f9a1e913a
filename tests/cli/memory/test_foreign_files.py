"""Files of other programs that somebody has made to break what reads them."""

import gzip
import io
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nacre.cli.memory.foreign_files import read_foreign
from nacre.core.errors import InvalidInputError
from tests.end_to_end.attacks.rows import attack

TODAY = datetime(2026, 11, 18, tzinfo=UTC)
NOTE = b"# A note\n\n- [fact] Ann bakes bread\n"
BIG = b"h" * 100_000_000


def zipped(name: str, content: bytes) -> bytearray:
    """Return a zip with one file in it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(name, content)
    return bytearray(packed.getvalue())


def directory(packed: bytearray, offset: int, value: int) -> bytes:
    """Change two bytes of what a zip says about its file, in both places where it does."""
    local, central = packed.index(b"PK\x03\x04"), packed.index(b"PK\x01\x02")
    for place in (local + offset, central + offset + 2):
        packed[place : place + 2] = value.to_bytes(2, "little")
    return bytes(packed)


HOSTILE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a password": ("basic-memory", lambda: directory(zipped("a.md", NOTE), 6, 1)),
    "an unknown way of packing": ("basic-memory", lambda: directory(zipped("a.md", NOTE), 8, 99)),
    "a note that unpacks to 100 MB": ("basic-memory", lambda: bytes(zipped("a.md", BIG))),
    "memories that unpack to 100 MB": ("mem0", lambda: bytes(zipped("memories.json", BIG))),
    "a line that unpacks to 100 MB": ("server-memory", lambda: gzip.compress(BIG, 9)),
    "a file that is cut off": ("server-memory", lambda: gzip.compress(NOTE)[:-6]),
}


@attack("N25")
@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused(name: str, tmp_path: Path) -> None:
    kind, make = HOSTILE[name]
    file = tmp_path / "given"
    file.write_bytes(make())

    with pytest.raises(InvalidInputError):
        list(read_foreign(kind, str(file), today=TODAY))


@attack("N25")
def test_a_date_that_is_none_is_that_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "given.zip"
    file.write_bytes(directory(zipped("a.md", NOTE), 12, 0))

    assert len(list(read_foreign("basic-memory", str(file), today=TODAY))) > 0

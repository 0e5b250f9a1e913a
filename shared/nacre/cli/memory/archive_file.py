"""Zips that other programs wrote. Whatever is wrong with one raises `zipfile.BadZipFile`.

Python's own reader raises a dozen kinds of errors for damaged zips, some of them only when a
member is opened.
"""

import struct
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from nacre.core.errors import InvalidInputError

_MAX_MEMBERS = 200_000
_HEAD = 512
_PACKED = (
    (b"\x1f\x8b", "packed with gzip"),
    (b"BZh", "packed with bzip2"),
    (b"\xfd7zXZ\0", "packed with xz"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
)
_PAGES = (b"<!doctype html", b"<html")
_ARCHIVE_ENDINGS = (".zip", ".tgz", ".tar", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar")
# A name that is no text, a number too large, a member that is not there.
_DAMAGE = (ValueError, LookupError, OverflowError, struct.error)


def is_archive(path: Path) -> bool:
    """Return whether a file is a zip, even a damaged one."""
    try:
        return zipfile.is_zipfile(path)
    except (zipfile.BadZipFile, *_DAMAGE):
        return True


def unreadable_packing(path: Path) -> str | None:
    """Return the reason why a file cannot be read because of its packing, and a way out."""
    if path.is_dir():
        return None
    with path.open("rb") as file:
        start = file.read(_HEAD)
    kind = next((kind for mark, kind in _PACKED if start.startswith(mark)), None)
    if kind is None and start[257:262] == b"ustar":
        kind = "a tar archive"
    if kind is not None:
        return f"it is {kind}; unpack it, and import the folder or the file in it"
    if start.startswith(b"PK\3\4") and not is_archive(path):
        return "it is a zip that is cut or damaged; download it again"
    if start.removeprefix(b"\xef\xbb\xbf").lstrip()[:14].lower().startswith(_PAGES):
        return "it is a web page; export again, and choose JSON"
    return None


def archives_in(names: Iterable[str]) -> list[str]:
    """Return the names that end like those of archives."""
    return [name for name in names if name.lower().endswith(_ARCHIVE_ENDINGS)]


@contextmanager
def opened_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip that is closed again at the end."""
    try:
        archive = zipfile.ZipFile(path)
    except _DAMAGE as error:
        raise zipfile.BadZipFile("its list of files is damaged") from error
    with archive:
        if len(archive.infolist()) > _MAX_MEMBERS:
            raise InvalidInputError(f"{path} has more than {_MAX_MEMBERS} files")
        yield archive


def opened_member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """Open one file of a zip. Only the two ways of packing that every program writes are read."""
    try:
        if archive.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise zipfile.BadZipFile(f"the compression of {name!r} is not supported")
        return archive.open(name)
    except _DAMAGE as error:
        raise zipfile.BadZipFile(f"its file {name!r} is damaged") from error

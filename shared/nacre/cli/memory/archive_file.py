"""Zips that other programs wrote. Whatever is wrong with one raises `zipfile.BadZipFile`.

Python's own reader raises a dozen kinds of errors for damaged zips, some of them only when a
member is opened.
"""

import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from nacre.core.errors import InvalidInputError

_MAX_MEMBERS = 200_000
# A name that is no text, a number too large, a member that is not there.
_DAMAGE = (ValueError, LookupError, OverflowError, struct.error)


def is_archive(path: Path) -> bool:
    """Return whether a file is a zip, a damaged one included."""
    try:
        return zipfile.is_zipfile(path)
    except (zipfile.BadZipFile, *_DAMAGE):
        return True


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

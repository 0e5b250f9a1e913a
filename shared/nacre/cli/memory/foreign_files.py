"""Reads the files of other programs: JSON lines, also compressed, and folders or zips of notes."""

import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from nacre.being.memory.transfer.basic_memory import Page, read_basic_memory
from nacre.being.memory.transfer.foreign_records import MAX_FOREIGN_BYTES, ParsedPart
from nacre.being.memory.transfer.mem0 import read_mem0
from nacre.being.memory.transfer.server_memory import read_server_memory
from nacre.cli.memory.archive_file import is_archive, opened_archive, opened_member
from nacre.core.errors import InvalidInputError

_MAX_LINE = 16 * 1024 * 1024  # an entity with all its observations
_MAX_NOTE = 16 * 1024 * 1024
_MEM0 = ("memories.jsonl.gz", "memories.json")  # in a zip of OpenMemory; the first has categories

Reader = Callable[[Path, datetime], Iterator[ParsedPart]]


def _server_memory(path: Path, today: datetime) -> Iterator[ParsedPart]:
    with _unpacked(path) as file:
        yield from read_server_memory(iter(lambda: _line(file), b""), today=today)


def _mem0(path: Path, today: datetime) -> Iterator[ParsedPart]:
    if is_archive(path):
        with opened_archive(path) as packed:
            members = {name.rpartition("/")[2]: name for name in packed.namelist()}
            member = next((members[name] for name in _MEM0 if name in members), None)
            if member is None:
                raise InvalidInputError(f"{path}: the zip has no {' or '.join(_MEM0)}")
            content = _read(packed, member, MAX_FOREIGN_BYTES)
        file: io.BufferedIOBase = io.BytesIO(content)
        if member.endswith(".gz"):
            file = gzip.GzipFile(fileobj=file)
    else:
        file = _unpacked(path)
    with file:
        yield from read_mem0(_all(file, str(path)), today=today)


def _basic_memory(path: Path, today: datetime) -> Iterator[ParsedPart]:
    pages = _in_folder(path) if path.is_dir() else _in_zip(path)
    yield from read_basic_memory(pages, today=today)


FORMATS: Mapping[str, Reader] = {
    "server-memory": _server_memory,
    "mem0": _mem0,
    "basic-memory": _basic_memory,
}
"""The reader of each program's file; it raises InvalidInputError for other files."""


def read_foreign(format_: str, file: str, *, today: datetime) -> Iterator[ParsedPart]:
    """Yield the content of a file of another program."""
    try:
        yield from FORMATS[format_](Path(file), today)
    # RuntimeError: a zip with a password or an unknown compression.
    except (OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInputError(f"{file}: cannot be read ({reason})") from error


def _unpacked(path: Path) -> io.BufferedIOBase:
    with path.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    return gzip.GzipFile(path) if is_packed else path.open("rb")


def _line(file: io.BufferedIOBase) -> bytes:
    line = file.readline(_MAX_LINE)
    if len(line) == _MAX_LINE:
        raise InvalidInputError(f"a line has more than {_MAX_LINE} bytes; is it JSON lines?")
    return line


def _all(file: io.BufferedIOBase, name: str) -> bytes:
    content = file.read(MAX_FOREIGN_BYTES + 1)
    if len(content) > MAX_FOREIGN_BYTES:
        raise InvalidInputError(f"{name} has more than {MAX_FOREIGN_BYTES} bytes; split it")
    return content


def _in_folder(path: Path) -> Iterator[Page]:
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in names if name.lower().endswith(".md")):
            file = Path(folder, name)
            if file.is_symlink() or not file.is_file():
                continue  # a link may lead out of the folder
            with file.open("rb") as content:
                text = content.read(_MAX_NOTE + 1)
            if len(text) > _MAX_NOTE:
                raise InvalidInputError(f"{file} has more than {_MAX_NOTE} bytes")
            changed = datetime.fromtimestamp(file.stat().st_mtime, UTC)
            yield Page(file.relative_to(path).as_posix(), text, changed)


def _in_zip(path: Path) -> Iterator[Page]:
    if not is_archive(path):
        raise InvalidInputError(f"{path} is neither a folder nor a zip of Markdown files")
    with opened_archive(path) as packed:
        for info in sorted(packed.infolist(), key=lambda info: info.filename):
            if info.is_dir() or not info.filename.lower().endswith(".md"):
                continue
            try:
                changed = datetime(*info.date_time, tzinfo=UTC)
            except ValueError:  # a zip may have any numbers
                changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            yield Page(info.filename, _read(packed, info.filename, _MAX_NOTE), changed)


def _read(packed: zipfile.ZipFile, name: str, limit: int) -> bytes:
    with opened_member(packed, name) as file:
        content = file.read(limit + 1)  # the size in a zip may be wrong
    if len(content) > limit:
        raise InvalidInputError(f"{name} has more than {limit} bytes")
    return content

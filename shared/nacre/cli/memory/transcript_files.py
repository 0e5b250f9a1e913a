"""Opens the files of other programs' conversations: files, folders, archives and databases."""

import fnmatch
import os
import sqlite3
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO
from urllib.parse import unquote, urlsplit

from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.being.memory.transfer.foreign_records import SkippedPart
from nacre.being.memory.transfer.transcripts.cursor import (
    CONVERSATION,
    OLD_CHATS,
    read_conversation,
    read_old_chats,
)
from nacre.being.memory.transfer.transcripts.formats import CURSOR, FORMATS, TEXT_FORMATS, format_of
from nacre.being.memory.transfer.transcripts.json_values import json_value, json_values
from nacre.being.memory.transfer.transcripts.parts import Hints, LeftOut, mapping
from nacre.cli.memory.archive_file import (
    archives_in,
    is_archive,
    opened_archive,
    opened_member,
    unreadable_packing,
)
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import TRANSCRIPT_PACKED_RATIO

_SQLITE = b"SQLite format 3\0"
_ZIP_ROOM = 8 * 1024 * 1024  # that any archive may unpack to, whatever its size
_JSON = ("*.json", "*.jsonl")
_DATABASES = ("*.vscdb",)
_PROBED = 200  # files of a folder that are opened to recognize a format
_CHUNK = 64 * 1024

Progress = Callable[[int], None]
Part = CapturedMessage | SkippedPart


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A file, in a folder or in an archive."""

    name: str  # as messages show it
    path: Path
    size: int
    changed: datetime
    member: str | None = None  # of an archive
    stored: int = 0  # bytes of the member in the archive

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file; an archive's is unpacked while it is read, and nowhere else."""
        if self.member is None:
            with self.path.open("rb") as file:
                yield file
            return
        with opened_archive(self.path) as archive, opened_member(archive, self.member) as file:
            yield _Bounded(file, self)  # type: ignore[misc]  # it reads, and nothing else

    @property
    def is_database(self) -> bool:
        """Return whether the file is one of SQLite, by its first bytes."""
        with self.open() as file:
            return file.read(len(_SQLITE)) == _SQLITE

    @property
    def is_lines(self) -> bool:
        """Return whether the name promises JSON lines."""
        return self.name.lower().endswith(".jsonl")


class _Bounded:
    """A file that is unpacked from an archive, and may not be much larger than its packed form."""

    def __init__(self, file: IO[bytes], source: TranscriptFile) -> None:
        self._file = file
        self._name = source.name
        self._room = _ZIP_ROOM + TRANSCRIPT_PACKED_RATIO * source.stored

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size if size >= 0 else self._room + 1)
        self._room -= len(data)
        if self._room < 0:
            raise InvalidInputError(
                f"{self._name} unpacks to more than {TRANSCRIPT_PACKED_RATIO} times its size;"
                " if you trust it, unpack it and import the folder"
            )
        return data


class _Counted:
    """A file that reports how many of its bytes were read."""

    def __init__(self, file: BinaryIO, progress: Progress) -> None:
        self._file = file
        self._progress = progress

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._progress(len(data))
        return data


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn failures to read a file into an InvalidInputError that names it."""
    try:
        yield
    # RuntimeError and NotImplementedError: a zip with a password or an unknown compression.
    except (OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInputError(f"{path}: cannot be read ({reason})") from error
    except sqlite3.Error as error:
        raise InvalidInputError(f"{path}: cannot be read as a database ({error})") from error


def transcript_files(path: Path, format_: str) -> list[TranscriptFile]:
    """Return the files of a format at a path: the file itself, or those in a folder or archive."""
    with readable(path):
        files = _all_files(path)
        problem = unreadable_packing(path)
    if problem is not None:
        raise InvalidInputError(f"{path}: {problem}")
    if path.is_file() and not is_archive(path):
        return files
    patterns = _DATABASES if format_ == CURSOR else TEXT_FORMATS[format_].files
    named = [file for file in files if _matches(file, patterns)]
    if not named and format_ != CURSOR:
        # An export may be in another language, or its files renamed.
        named = [file for file in files if _matches(file, _JSON)]
    if not named and any(_matches(file, ("my*activity*.html",)) for file in files):
        raise InvalidInputError(f"{path} has the activity as HTML; choose JSON in Google Takeout")
    if not named and (inner := archives_in(file.name for file in files)):
        raise InvalidInputError(f"{path} has the archive {inner[0]}; unpack it, and import that")
    if not named:
        raise InvalidInputError(f"{path} has no file named {' or '.join(patterns)}")
    return named


def recognized_format(path: Path) -> str | None:
    """Return the format of the first file that shows one, or None."""
    with readable(path):
        for file in (
            islice(
                (file for file in _all_files(path) if _matches(file, (*_JSON, *_DATABASES))),
                _PROBED,
            )
            if path.is_dir() or is_archive(path)
            else _all_files(path)
        ):
            try:
                with readable(file.path):
                    name = _format_of(file)
            except InvalidInputError:
                if file.path == path:
                    raise
                continue  # another file of the folder may show it
            if name is not None:
                return name
    return None


def reason_unrecognized(path: Path) -> str | None:
    """Return why no format was recognized in a file, if it shows."""
    with readable(path):
        if not is_archive(path):
            return unreadable_packing(path)
        inner = archives_in(file.name for file in _all_files(path))
    if inner:
        return f"it has the archive {inner[0]}; unpack it, and import that"
    return "no file in it has conversations of a program that Nacre knows"


def unlisted_folders(path: Path) -> Iterator[SkippedPart]:
    """Yield the folders at a path whose files nobody knows, because they cannot be listed."""
    errors: list[OSError] = []
    for _ in os.walk(path, onerror=errors.append) if path.is_dir() else ():
        pass
    for error in errors:
        yield SkippedPart(str(error.filename), f"cannot be read ({error.strerror})")


def read_transcripts(
    files: Sequence[TranscriptFile], format_: str, progress: Progress = lambda _: None
) -> Iterator[Part]:
    """Yield the messages of the files, and the records that were left out.

    `progress` gets the number of bytes read. One of several files that cannot be read is left out.

    Raises InvalidInputError if all files are of another format, which the error names, or if the
    only file cannot be read.
    """
    others: dict[str, int] = {}
    for file in files:
        try:
            with readable(file.path):
                actual = _format_of(file)
                if actual is not None and actual != format_:
                    others[actual] = others.get(actual, 0) + 1
                    if len(files) > 1:
                        yield SkippedPart(file.name, f"it looks like a file of {actual}")
                    progress(file.size)
                elif format_ == CURSOR:
                    yield from _database(file)
                    progress(file.size)
                else:
                    yield from _text(file, format_, progress)
        except InvalidInputError as error:
            if len(files) == 1:
                raise
            # One file of many: the others are imported, and this one by the next import.
            yield SkippedPart(file.name, str(error).removeprefix(f"{file.path}: "))
    if sum(others.values()) == len(files) and files:
        likely = max(others, key=others.__getitem__)
        raise InvalidInputError(
            f"{files[0].path} is not of the format {format_}: it looks like {likely}"
        )


def _text(file: TranscriptFile, format_: str, progress: Progress) -> Iterator[Part]:
    if file.size == 0:
        yield SkippedPart(file.name, "an empty file")
        return
    hints = Hints(PurePosixPath(file.name).stem, file.changed, _project(file, format_))
    with file.open() as content:
        values = json_values(_Counted(content, progress), is_lines=file.is_lines)  # type: ignore[arg-type]
        for part in TEXT_FORMATS[format_].read(values, hints):
            yield _placed(file, part)


def _placed(file: TranscriptFile, part: CapturedMessage | LeftOut) -> Part:
    if isinstance(part, LeftOut):
        return SkippedPart(f"{file.name}, record {part.number}", part.reason)
    return part


def _project(file: TranscriptFile, format_: str) -> str | None:
    """Return the project of a chat of Gemini CLI, which is in a file beside the chats."""
    if format_ != "gemini" or file.member is not None:
        return None
    root = file.path.parent.parent / ".project_root"
    try:
        return root.read_text(encoding="utf-8", errors="replace")[:4096].strip() or None
    except OSError:
        return None


def _format_of(file: TranscriptFile) -> str | None:
    if file.is_database:
        return CURSOR
    with file.open() as content:
        return format_of(json_values(content, is_lines=file.is_lines))


def _all_files(path: Path) -> list[TranscriptFile]:
    if path.is_dir():
        return list(_in_folder(path))
    if is_archive(path):
        return list(_in_archive(path))
    state = path.stat()
    return [TranscriptFile(path.name, path, state.st_size, _time(state.st_mtime))]


def _in_folder(path: Path) -> Iterator[TranscriptFile]:
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            try:
                state = file.lstat()
            except FileNotFoundError:
                continue
            except OSError:  # reading it will fail, too, and then it is listed
                state = path.stat()
            else:
                if not stat.S_ISREG(state.st_mode):
                    continue  # a link may lead out of the folder
            relative_name = unicodedata.normalize("NFC", file.relative_to(path).as_posix())
            yield TranscriptFile(relative_name, file, state.st_size, _time(state.st_mtime))


def _in_archive(path: Path) -> Iterator[TranscriptFile]:
    """Yield the files of an archive. Their names are only names: nothing is unpacked to them."""
    with opened_archive(path) as archive:
        members = archive.infolist()
    for info in sorted(members, key=lambda info: info.filename):
        if info.filename.endswith("/"):
            continue
        try:
            changed = datetime(*info.date_time, tzinfo=UTC)
        except ValueError:  # a zip may have any numbers
            changed = _time(path.stat().st_mtime)
        yield TranscriptFile(
            info.filename, path, info.file_size, changed, info.filename, info.compress_size
        )


def _matches(file: TranscriptFile, patterns: Sequence[str]) -> bool:
    name = file.name.rpartition("/")[2].lower()
    return any(fnmatch.fnmatchcase(name, pattern.lower()) for pattern in patterns)


def _time(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _database(file: TranscriptFile) -> Iterator[Part]:
    """Yield the messages of a database, which stays open to its program meanwhile."""
    if file.member is not None:
        yield SkippedPart(file.name, "a database in an archive; unpack it first")
        return
    projects = _cursor_projects(file.path)
    with closing(_opened(file.path)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        if "cursorDiskKV" in tables:
            yield from _conversations(file, database, projects)
        if "ItemTable" in tables:
            value = _value(database, "ItemTable", OLD_CHATS)
            hints = Hints(file.path.parent.name, file.changed, _folder_of(file.path.parent))
            for part in read_old_chats(value, hints):
                yield _placed(file, part)


def _conversations(
    file: TranscriptFile, database: sqlite3.Connection, projects: dict[str, str]
) -> Iterator[Part]:
    end = CONVERSATION[:-1] + chr(ord(CONVERSATION[-1]) + 1)
    rows = database.execute(
        "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY key", (CONVERSATION, end)
    )
    for number, (key,) in enumerate(rows, start=1):
        conversation_id = str(key).removeprefix(CONVERSATION)
        hints = Hints(conversation_id, file.changed, projects.get(conversation_id))
        for part in read_conversation(
            number,
            conversation_id,
            _value(database, "cursorDiskKV", str(key)),
            lambda key: _value(database, "cursorDiskKV", key),
            hints,
        ):
            yield _placed(file, part)


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _value(database: sqlite3.Connection, table: str, key: str) -> object:
    row = database.execute(f"SELECT value FROM {table} WHERE key = ?", (key,)).fetchone()  # noqa: S608  # two names
    return None if row is None else json_value(row[0])


def _cursor_projects(path: Path) -> dict[str, str]:
    """Return the folders of conversations by their ids, as the folders' own databases list them."""
    projects: dict[str, str] = {}
    for folder in sorted(path.parent.parent.glob("workspaceStorage/*")):
        project, database = _folder_of(folder), folder / "state.vscdb"
        if project is None or not database.is_file():
            continue
        try:
            with closing(_opened(database)) as opened:
                value = mapping(_value(opened, "ItemTable", "composer.composerData"))
        except sqlite3.Error:
            continue  # the folder's conversations have no project then
        for entry in value.get("allComposers") or ():
            projects[str(mapping(entry).get("composerId"))] = project
    return projects


def _folder_of(storage: Path) -> str | None:
    """Return the folder that a folder of `workspaceStorage` belongs to."""
    try:
        with (storage / "workspace.json").open("rb") as file:
            value = mapping(json_value(file.read(_CHUNK)))
    except OSError:
        return None
    url = urlsplit(str(value.get("folder") or value.get("workspace") or ""))
    return unquote(url.path) or None


__all__ = [
    "FORMATS",
    "TranscriptFile",
    "read_transcripts",
    "reason_unrecognized",
    "recognized_format",
    "transcript_files",
    "unlisted_folders",
]

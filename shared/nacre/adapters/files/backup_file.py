"""A backup as one tar file: its parts in any order, then a manifest with their hashes."""

import hashlib
import io
import json
import os
import tarfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO

from nacre.adapters.files.private_files import private_folder, sync_folder
from nacre.core.errors import InvalidInputError, NewerSchemaError
from nacre.core.lazy_dataclasses import asdict, dataclass, field

FORMAT = 1
_TYPE = "nacre-backup"
_MANIFEST = "backup.json"
_CHUNK = 1024 * 1024
_MAX_MANIFEST_BYTES = 64 * _CHUNK
_LINE_TRIES = 20
_LINE_WAIT = 0.005  # seconds
# Errors that a manifest from elsewhere may cause; `int(Infinity)` is an OverflowError.
_UNREADABLE = (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a backup."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a backup, and the version of Nacre that wrote it."""

    made: str
    nacre: str
    has_secrets: bool
    counts: Mapping[str, int]
    parts: Mapping[str, Part] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return the size of all parts in bytes."""
        return sum(part.size for part in self.parts.values())


def write_backup(
    target: BinaryIO, files: Iterable[tuple[str, Path]], manifest: Manifest
) -> Manifest:
    """Write files under their names and a manifest of all parts; return the manifest.

    A file that no longer exists is left out: files come and go while a server runs.
    """
    parts: dict[str, Part] = {}
    with tarfile.open(fileobj=target, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for name, path in files:
            try:
                content = path.open("rb")
            except FileNotFoundError:
                continue
            with content:
                parts[name] = _add(archive, name, content, _size(name, content))
        complete = Manifest(
            manifest.made, manifest.nacre, manifest.has_secrets, manifest.counts, parts
        )
        text = json.dumps({"type": _TYPE, "format": FORMAT, **asdict(complete)}, indent=1).encode()
        _add(archive, _MANIFEST, io.BytesIO(text), len(text))
    return complete


class BackupFile:
    """A backup to be read; it is read once to check it, and again to unpack it."""

    def __init__(self, content: BinaryIO) -> None:
        self._content = content

    def check(self) -> Manifest:
        """Return the manifest; raise InvalidInputError if the file is cut off or was altered."""
        with _reading_errors():
            parts, manifest_json = self._hashed_parts()
        if manifest_json is None:
            raise InvalidInputError(
                "the file is cut off, or not a backup (its list is missing); make or fetch it again"
            )
        manifest = _manifest(manifest_json)
        for name in sorted(parts.keys() | manifest.parts.keys()):
            if parts.get(name) != manifest.parts.get(name):
                raise InvalidInputError(f"the backup was altered: {name} is not what was written")
        return manifest

    def unpack(self, folder: Path) -> None:
        """Write the parts into a folder, readable by their owner alone (0600), and sync them."""
        folders = {folder}
        with _reading_errors():
            for name, part in self._parts():
                if name != _MANIFEST:
                    path = folder.joinpath(*PurePosixPath(name).parts)
                    _unpack_part(part, path)
                    folders.update(
                        parent for parent in path.parents if parent.is_relative_to(folder)
                    )
        for parent in sorted(folders, reverse=True):
            sync_folder(parent)

    def _hashed_parts(self) -> tuple[dict[str, Part], bytes | None]:
        parts: dict[str, Part] = {}
        manifest_json: bytes | None = None
        for name, part in self._parts():
            if manifest_json is not None:
                raise InvalidInputError("this is not a backup: something follows its end")
            if name == _MANIFEST:
                manifest_json = part.read(_MAX_MANIFEST_BYTES)
            elif name in parts:
                raise InvalidInputError(f"the backup was altered: {name} is in it twice")
            else:
                parts[name] = _hashed(part)
        return parts, manifest_json

    def _parts(self) -> Iterator[tuple[str, IO[bytes]]]:
        self._content.seek(0)
        with tarfile.open(fileobj=self._content, mode="r:") as archive:
            for member in archive:
                # A sparse file states its own length, which may be false.
                is_plain = member.isreg() and not member.issparse()
                part = archive.extractfile(member) if is_plain else None
                if part is None:
                    raise InvalidInputError(f"this is not a backup: {member.name!r} is not a file")
                _check_name(member.name)
                yield member.name, part


@contextmanager
def _reading_errors() -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, UnicodeError) as error:
        raise InvalidInputError(
            f"the file is cut off, or not a backup ({error}); make or fetch it again"
        ) from error


def _add(archive: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> Part:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    # The size is in the header already, so bytes that are appended meanwhile are left out.
    reader = _Hashing(content)
    archive.addfile(entry, reader)
    return Part(size, reader.digest.hexdigest())


def _size(name: str, content: BinaryIO) -> int:
    """Return the size of an open file; wait a moment for a line that is being written."""
    # Ask the open file, not its name: the name may belong to a newer file by now.
    size = content.seek(0, os.SEEK_END)
    if name.endswith(".jsonl"):
        tries = _LINE_TRIES
        while tries and not _ends_a_line(content, size):
            time.sleep(_LINE_WAIT)
            size = content.seek(0, os.SEEK_END)
            tries -= 1
    content.seek(0)
    return size


def _ends_a_line(content: BinaryIO, size: int) -> bool:
    content.seek(max(0, size - 1))
    return content.read(1) in (b"", b"\n")


class _Hashing(io.RawIOBase):
    """Reads from a file and hashes the bytes."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        chunk = self._content.read(size)
        self.digest.update(chunk)
        return chunk


def _hashed(part: IO[bytes]) -> Part:
    digest, size = hashlib.sha256(), 0
    while chunk := part.read(_CHUNK):
        digest.update(chunk)
        size += len(chunk)
    return Part(size, digest.hexdigest())


def _manifest(manifest_json: bytes) -> Manifest:
    try:
        fields: dict[str, Any] = json.loads(manifest_json)
        if fields["type"] != _TYPE:
            raise InvalidInputError("this is not a backup of Nacre")
        version = int(fields["format"])
        if version > FORMAT:
            raise NewerSchemaError("The backup", version=version, newest=FORMAT)
        return Manifest(
            made=str(fields["made"]),
            nacre=str(fields["nacre"]),
            has_secrets=bool(fields["has_secrets"]),
            counts={str(name): int(count) for name, count in fields["counts"].items()},
            parts={str(name): Part(**part) for name, part in fields["parts"].items()},
        )
    except _UNREADABLE as error:
        raise InvalidInputError("the backup was altered: its list cannot be read") from error


def _check_name(name: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or not path.parts or ".." in path.parts or set(name) & set("\\:"):
        raise InvalidInputError(f"this is not a backup: {name!r} leads out of its folder")


def _unpack_part(part: IO[bytes], path: Path) -> None:
    private_folder(path.parent)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        while chunk := part.read(_CHUNK):
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())

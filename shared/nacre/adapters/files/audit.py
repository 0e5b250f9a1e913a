"""The audit on a laptop: a folder of JSON Lines files, with one chain of files per writer.

Each running process locks a writer number that is free, and continues the chain of that number.
A small head file next to each chain names its last record, so that lines missing from the end
are noticed.
"""

import heapq
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from operator import itemgetter
from pathlib import Path

from nacre.adapters.files.file_lock import locks
from nacre.adapters.files.private_files import private_folder
from nacre.core.errors import UnavailableError
from nacre.core.limits import AUDIT_CHECK_SECONDS, AUDIT_FILE_BYTES
from nacre.firewall.audit.log import moment_of, number_of
from nacre.ports.audit import GENESIS, Chain, Head

_LINES = ".jsonl"
_HEAD = ".head"
_LOCK = ".lock"
_HEAD_BYTES = 20 + 1 + 64 + 1
_WRITERS = 1000  # running processes, and chains that are closed because their end is damaged
_BLOCK = 1 << 16


class JsonlAudit:
    """An AuditLog of one process."""

    def __init__(
        self,
        folder: Path,
        *,
        file_bytes: int = AUDIT_FILE_BYTES,
        tick: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._file_bytes = file_bytes
        self._tick = tick
        self._slot: _Slot | None = None

    def open(self) -> Head:
        """Lock a chain that no other process writes, and return its head."""
        self.close()
        try:
            private_folder(self._folder)
            for number in range(1, _WRITERS + 1):
                slot = _Slot.take(self._folder, f"laptop-{number}")
                if slot is not None:
                    self._slot = slot
                    return slot.head
        except OSError as error:
            raise _unwritable(self._folder, error) from error
        raise UnavailableError(f"{self._folder}: no audit file is free; remove damaged ones")

    def append(self, line: bytes, *, before: Head, after: Head, at: str) -> None:
        """Write one line atomically."""
        del before, at
        slot = self._slot
        if slot is None:
            raise UnavailableError(f"{self._folder}: the audit is closed")
        try:
            slot.write(line, after, self._file_bytes, self._tick())
        except OSError as error:
            self.close()
            raise _unwritable(self._folder, error) from error

    def close(self) -> None:
        """Unlock the chain."""
        slot, self._slot = self._slot, None
        if slot is not None:
            slot.close()


class JsonlRecords:
    """Reads a folder of chains; `anchored` returns the heads that are also stored elsewhere."""

    def __init__(self, folder: Path, anchored: Callable[[], dict[str, Head]] = dict) -> None:
        self._folder = folder
        self._anchored = anchored

    def chains(self) -> Iterator[Chain]:
        """Yield the chain of each writer, also if only its head is left."""
        anchored = self._anchored()
        writers = self._writers()
        writers |= {path.name.removesuffix(_HEAD) for path in self._folder.glob(f"laptop-*{_HEAD}")}
        for writer in sorted(writers | set(anchored), key=_writer_order):
            # Read heads before lines: a line written in between is one more, never one less.
            stored = _read_head(self._folder / f"{writer}{_HEAD}", writer)
            heads = tuple(head for head in (stored, anchored.get(writer)) if head is not None)
            yield Chain(writer, _lines(_files(self._folder, writer)), heads)

    def newest(self, before: str = "") -> Iterator[bytes]:
        """Yield the lines of all writers, newest first; read each file only when it is needed."""
        streams = [_backwards(_files(self._folder, writer)) for writer in sorted(self._writers())]
        for moment, line in heapq.merge(*streams, key=itemgetter(0), reverse=True):
            if not before or moment < before:
                yield line

    def record(self, writer: str, sequence: int) -> bytes | None:
        """Return the line of one record; a chain's numbers rise, so its end is not read."""
        if writer not in self._writers():  # a name from outside may not choose files
            return None
        for line in _lines(_files(self._folder, writer)):
            number = number_of(line)
            if number == sequence:
                return line
            if number is not None and number > sequence:
                return None
        return None

    def _writers(self) -> set[str]:
        return {path.name.split(".", 1)[0] for path in self._folder.glob(f"laptop-*.*{_LINES}")}


def copy_heads(folder: Path, target: Path) -> dict[str, Path]:
    """Copy the head file of each chain into another folder; return the copies by file name.

    Copy the lines afterwards: they then include at least the records that the heads name.
    """
    copies: dict[str, Path] = {}
    for path in sorted(folder.glob(f"laptop-*{_HEAD}")):
        copies[path.name] = target / path.name
        copies[path.name].write_bytes(path.read_bytes())
    return copies


def is_head(name: str) -> bool:
    """Tell whether a file of the audit folder holds the head of a chain."""
    return name.endswith(_HEAD)


class _Slot:
    """The chain that this process may continue."""

    def __init__(self, folder: Path, head: Head, lock: int) -> None:
        self.head = head
        self._folder = folder
        self._lock = lock
        files = _files(folder, head.writer)
        self._number = len(files) or 1
        self._lines = self._open_lines()
        self._size = os.fstat(self._lines).st_size
        self._checked = -math.inf
        self._heads = os.open(
            folder / f"{head.writer}{_HEAD}", os.O_RDWR | os.O_CREAT | _BINARY, 0o600
        )

    @classmethod
    def take(cls, folder: Path, writer: str) -> "_Slot | None":
        """Lock the writer's chain; None if it is in use or does not end as its head says."""
        lock = os.open(folder / f"{writer}{_LOCK}", os.O_RDWR | os.O_CREAT | _BINARY, 0o600)
        if locks(lock):
            head = _read_head(folder / f"{writer}{_HEAD}", writer)
            if _ends_with(head, _files(folder, writer)):
                return cls(folder, head or Head(writer, 0, GENESIS), lock)
        os.close(lock)
        return None

    def write(self, line: bytes, after: Head, file_bytes: int, now: float) -> None:
        """Write the line and its head; after an error neither is kept."""
        if self._size and self._size + len(line) >= file_bytes:
            self._start_next_file()
        try:
            if now - self._checked >= AUDIT_CHECK_SECONDS:
                self._checked = now
                if not os.fstat(self._lines).st_nlink:  # nobody could read a line in it
                    raise OSError(2, "the file was removed")  # noqa: TRY301 - as below
            row = line + b"\n"
            if os.write(self._lines, row) != len(row):
                raise OSError(28, "the disk is full")  # noqa: TRY301 - as a failed write
            _write_at_start(self._heads, _encoded_head(after))
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._lines, self._size)
                _write_at_start(self._heads, _encoded_head(self.head))
            raise
        self._size += len(row)
        self.head = after

    def close(self) -> None:
        for descriptor in (self._lines, self._heads, self._lock):
            with suppress(OSError):
                os.close(descriptor)

    def _start_next_file(self) -> None:
        self._number += 1
        # Open the new file first. If that fails, `close` closes each descriptor only once: the
        # number of a closed one may already belong to another thread.
        before, self._lines = self._lines, self._open_lines()
        os.close(before)
        self._size = 0

    def _open_lines(self) -> int:
        path = self._folder / f"{self.head.writer}.{self._number:06d}{_LINES}"
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _BINARY, 0o600)


_BINARY = getattr(os, "O_BINARY", 0)

if sys.platform == "win32":

    def _write_at_start(descriptor: int, content: bytes) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, content)

else:

    def _write_at_start(descriptor: int, content: bytes) -> None:
        os.pwrite(descriptor, content, 0)


def _encoded_head(head: Head) -> bytes:
    return f"{head.sequence:020d} {head.hash}\n".encode() if head.sequence else b""


def _read_head(path: Path, writer: str) -> Head | None:
    """Return the stored head; for a damaged file, the head of a record that cannot exist."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    if not content:
        return None
    sequence, _, digest = content.rstrip(b"\n").partition(b" ")
    if len(content) != _HEAD_BYTES or not sequence.isdigit():
        return Head(writer, sys.maxsize, "damaged")
    return Head(writer, int(sequence), digest.decode("ascii", "replace"))


def _files(folder: Path, writer: str) -> list[Path]:
    return sorted(folder.glob(f"{writer}.*{_LINES}"))


def _ends_with(head: Head | None, files: list[Path]) -> bool:
    """Tell whether the files end with the record that the head names."""
    last = next((path for path in reversed(files) if path.stat().st_size), None)
    if head is None or last is None:
        return head is None and last is None
    with last.open("rb") as file:
        file.seek(max(0, last.stat().st_size - 80))
        return file.read().endswith(f'"hash":"{head.hash}"}}\n'.encode())


def _lines(files: list[Path]) -> Iterator[bytes]:
    for path in files:
        with path.open("rb", buffering=_BLOCK) as file:
            for line in file:
                # A line without a line end was cut off; the added byte makes it invalid.
                yield line[:-1] if line.endswith(b"\n") else line + b"?"


def _backwards(files: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield lines and their times, newest first; a damaged line gets the time of the line after."""
    moment = "~"
    for path in reversed(files):
        for line in reversed(list(_lines([path]))):
            moment = moment_of(line) or moment
            yield moment, line


def _writer_order(writer: str) -> tuple[int, str]:
    return len(writer), writer


def _unwritable(folder: Path, error: OSError) -> UnavailableError:
    return UnavailableError(
        f"{folder}: the audit cannot be written ({error.strerror}); "
        "free disk space, or change the owner of the folder",
        public="the audit cannot be written, so nothing is allowed; the server's log says why",
    )

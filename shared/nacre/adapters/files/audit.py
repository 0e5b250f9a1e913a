"""The audit on the laptop: a folder of JSON lines, one file after another for each writer.

A writer is a process, for as long as it runs: it holds the lock of a number that no other
process holds, and goes on where the last holder of that number ended. Where a chain ends
stands in a small file beside it, so that lines missing from its end are missed.
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
from nacre.firewall.audit.log import moment_of
from nacre.ports.audit import GENESIS, Chain, Head

_LINES = ".jsonl"
_HEAD = ".head"
_LOCK = ".lock"
_HEAD_BYTES = 20 + 1 + 64 + 1
_WRITERS = 1000  # processes at once, and chains that a damaged end has closed
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
        """Return the head of a chain that no other process writes."""
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
        """Write one line, whole or not at all."""
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
        """Let the number go."""
        slot, self._slot = self._slot, None
        if slot is not None:
            slot.close()


class JsonlRecords:
    """Reads a folder of chains; `anchored` gives the heads that were noted elsewhere."""

    def __init__(self, folder: Path, anchored: Callable[[], dict[str, Head]] = dict) -> None:
        self._folder = folder
        self._anchored = anchored

    def chains(self) -> Iterator[Chain]:
        """Return the chains by writer, also those of which only a head is left."""
        anchored = self._anchored()
        writers = self._writers()
        writers |= {path.name.removesuffix(_HEAD) for path in self._folder.glob(f"laptop-*{_HEAD}")}
        for writer in sorted(writers | set(anchored), key=_in_order):
            # Heads before lines: what is written meanwhile is more, never less.
            beside = _read_head(self._folder / f"{writer}{_HEAD}", writer)
            heads = tuple(head for head in (beside, anchored.get(writer)) if head is not None)
            yield Chain(writer, _lines(_files(self._folder, writer)), heads)

    def newest(self, before: str = "") -> Iterator[bytes]:
        """Yield the lines of all writers, the newest first; each file is read when it is due."""
        each = [_backwards(_files(self._folder, writer)) for writer in sorted(self._writers())]
        for moment, line in heapq.merge(*each, key=itemgetter(0), reverse=True):
            if not before or moment < before:
                yield line

    def _writers(self) -> set[str]:
        return {path.name.split(".", 1)[0] for path in self._folder.glob(f"laptop-*.*{_LINES}")}


def copy_heads(folder: Path, target: Path) -> dict[str, Path]:
    """Copy the note of each chain's end into another folder; return the copies by file name.

    Whoever copies the lines afterwards gets at least the records that the notes speak of.
    """
    copies: dict[str, Path] = {}
    for path in sorted(folder.glob(f"laptop-*{_HEAD}")):
        copies[path.name] = target / path.name
        copies[path.name].write_bytes(path.read_bytes())
    return copies


def is_head(name: str) -> bool:
    """Tell whether a file of the audit's folder notes the end of a chain."""
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
        """Return the writer's chain, unless it is in use or its end is not as it was noted."""
        lock = os.open(folder / f"{writer}{_LOCK}", os.O_RDWR | os.O_CREAT | _BINARY, 0o600)
        if locks(lock):
            noted = _read_head(folder / f"{writer}{_HEAD}", writer)
            if _is_last(noted, _files(folder, writer)):
                return cls(folder, noted or Head(writer, 0, GENESIS), lock)
        os.close(lock)
        return None

    def write(self, line: bytes, after: Head, file_bytes: int, now: float) -> None:
        """Write the line and note the head; what was written in part is taken back."""
        if self._size and self._size + len(line) >= file_bytes:
            self._turn_over()
        try:
            if now - self._checked >= AUDIT_CHECK_SECONDS:
                self._checked = now
                if not os.fstat(self._lines).st_nlink:  # what is written there, nobody can read
                    raise OSError(2, "the file was removed")  # noqa: TRY301 - as below
            whole = line + b"\n"
            if os.write(self._lines, whole) != len(whole):
                raise OSError(28, "the disk is full")  # noqa: TRY301 - as a whole write says it
            _write_at_start(self._heads, _noted(after))
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._lines, self._size)
                _write_at_start(self._heads, _noted(self.head))
            raise
        self._size += len(whole)
        self.head = after

    def close(self) -> None:
        for descriptor in (self._lines, self._heads, self._lock):
            with suppress(OSError):
                os.close(descriptor)

    def _turn_over(self) -> None:
        self._number += 1
        # Opened first: where that fails, `close` closes each descriptor once, as another thread
        # may have got the number of one that is closed already.
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


def _noted(head: Head) -> bytes:
    return f"{head.sequence:020d} {head.hash}\n".encode() if head.sequence else b""


def _read_head(path: Path, writer: str) -> Head | None:
    """Return what is noted; a damaged note is of a record that nobody can show."""
    try:
        noted = path.read_bytes()
    except FileNotFoundError:
        return None
    if not noted:
        return None
    sequence, _, own = noted.rstrip(b"\n").partition(b" ")
    if len(noted) != _HEAD_BYTES or not sequence.isdigit():
        return Head(writer, sys.maxsize, "damaged")
    return Head(writer, int(sequence), own.decode("ascii", "replace"))


def _files(folder: Path, writer: str) -> list[Path]:
    return sorted(folder.glob(f"{writer}.*{_LINES}"))


def _is_last(noted: Head | None, files: list[Path]) -> bool:
    """Tell whether the files end with the record that was noted."""
    last = next((path for path in reversed(files) if path.stat().st_size), None)
    if noted is None or last is None:
        return noted is None and last is None
    with last.open("rb") as file:
        file.seek(max(0, last.stat().st_size - 80))
        return file.read().endswith(f'"hash":"{noted.hash}"}}\n'.encode())


def _lines(files: list[Path]) -> Iterator[bytes]:
    for path in files:
        with path.open("rb", buffering=_BLOCK) as file:
            for line in file:
                # A last line without its end was cut; the stray byte shows that it is no record.
                yield line[:-1] if line.endswith(b"\n") else line + b"?"


def _backwards(files: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield lines with their moments; one that is damaged stands where its neighbour does."""
    moment = "~"
    for path in reversed(files):
        for line in reversed(list(_lines([path]))):
            moment = moment_of(line) or moment
            yield moment, line


def _in_order(writer: str) -> tuple[int, str]:
    return len(writer), writer


def _unwritable(folder: Path, error: OSError) -> UnavailableError:
    return UnavailableError(
        f"{folder}: the audit cannot be written ({error.strerror}); make room or make it yours",
        public="the audit cannot be written, so nothing is allowed; the server's log says why",
    )

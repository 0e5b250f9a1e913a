"""Blobs as files in one folder, each with its end in front."""

import shutil
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from nacre.adapters.files.private_files import TEMPORARY, private_folder, write_private
from nacre.adapters.input_checks import blob_end, check_blob_name
from nacre.core.clock import Clock, system_clock
from nacre.core.errors import UnavailableError

_HEADER = struct.Struct(">6sQ")  # so that a copied or restored file keeps its end
_MAGIC = b"nacre1"
_PURGE_SECONDS = 3600
_ABANDONED_SECONDS = 3600  # nobody writes one file for so long


class FileBlobs:
    """Blobs below a folder; files and folders are their owner's alone."""

    def __init__(self, folder: Path, *, now: Clock = system_clock) -> None:
        self._folder = folder
        self._clock = now
        self._purged_at: datetime | None = None

    def put(self, name: str, data: bytes, *, until: datetime | None = None) -> None:
        """Store the bytes under the name, atomically; older bytes of that name are replaced."""
        path = self._path(name)
        now = self._clock()
        header = _HEADER.pack(_MAGIC, blob_end(data, until, now))
        with self._translated():
            private_folder(self._folder)
            private_folder(path.parent)
            write_private(path, header, data)
        # The distance: a clock that was set back must not keep what is over for as long.
        if self._purged_at is None or abs((now - self._purged_at).total_seconds()) > _PURGE_SECONDS:
            self.purge()

    def get(self, name: str) -> bytes | None:
        """Return the bytes, or None when there are none or their time is over."""
        path = self._path(name)
        with self._translated():
            try:
                content = path.read_bytes()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return None
        if len(content) < _HEADER.size or self._is_over(content):
            return None
        return content[_HEADER.size :]

    def delete(self, name: str) -> None:
        """Remove the bytes, if there are any."""
        path = self._path(name)
        with self._translated(), suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            path.unlink()

    def delete_all(self, folder: str) -> None:
        """Remove everything whose name begins with this part and a slash."""
        check_blob_name(folder)
        path = self._folder.joinpath(*(f"{part}.d" for part in folder.split("/")))
        with self._translated(), suppress(FileNotFoundError):
            shutil.rmtree(path)

    def purge(self) -> int:
        """Remove the files whose time is over, and unfinished ones; return how many."""
        self._purged_at = self._clock()
        removed = 0
        with self._translated():
            for path in [file for file in self._folder.rglob("*") if file.is_file()]:
                if self._is_rubbish(path):
                    path.unlink(missing_ok=True)
                    removed += 1
        return removed

    def _is_rubbish(self, path: Path) -> bool:
        try:
            if path.name.startswith(TEMPORARY):
                return time.time() - path.stat().st_mtime > _ABANDONED_SECONDS
            with path.open("rb") as file:
                header = file.read(_HEADER.size)
        except FileNotFoundError:  # another process was faster
            return False
        return len(header) == _HEADER.size and self._is_over(header)

    def _is_over(self, content: bytes) -> bool:
        magic, end = _HEADER.unpack_from(content)
        return bool(magic != _MAGIC or end <= self._clock().timestamp())

    def _path(self, name: str) -> Path:
        check_blob_name(name)
        # A folder cannot bear the name of a file, so that "a" and "a/b" are both possible.
        *folders, file = name.split("/")
        return self._folder.joinpath(*(f"{folder}.d" for folder in folders), f"{file}.blob")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UnavailableError(
                f"{self._folder}: files cannot be read or written here ({error.strerror})."
                " Make the folder yours, and free some space if the disk is full."
            ) from error

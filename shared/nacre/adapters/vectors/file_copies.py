"""Copies of files in a temporary folder of a process, for a short time and of a bounded size."""

import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from nacre.adapters.input_checks import check_blob_name


class FileCopies:
    """Keeps copies under the names of their files; every error of the disk counts as no copy.

    A copy is removed `seconds` after it was written, by the next call of any kind, and at the end
    of the process. The oldest go first if all together are larger than `size`.
    """

    def __init__(
        self, *, size: int, seconds: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder: Path | None = None
        self._size = size
        self._seconds = seconds
        self._clock = clock

    def get(self, name: str) -> bytes | None:
        """Return the bytes of a copy, or None."""
        check_blob_name(name)
        self.expire()
        with suppress(OSError):
            return self._path(name).read_bytes()
        return None

    def put(self, name: str, data: bytes) -> None:
        """Write a copy, unless it is larger than all may be together."""
        check_blob_name(name)
        self.expire(room_for=len(data))
        if len(data) <= self._size:
            with suppress(OSError):
                partial = self._path(name).with_suffix(".part")
                partial.write_bytes(data)
                partial.replace(self._path(name))

    def remove(self, name: str) -> None:
        """Remove a copy, if there is one."""
        check_blob_name(name)
        with suppress(OSError):
            self._path(name).unlink(missing_ok=True)

    def expire(self, *, room_for: int = 0) -> None:
        """Remove copies that are too old, and the oldest if there is too little room."""
        room = self._size - room_for
        for written, size, path in sorted(self._all(), reverse=True):
            room -= size
            if room < 0 or abs(self._clock() - written) > self._seconds:
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    def _all(self) -> Iterator[tuple[float, int, Path]]:
        with suppress(OSError):
            for path in self.folder().iterdir():
                with suppress(OSError):  # another thread has removed it
                    status = path.stat()
                    yield status.st_mtime, status.st_size, path

    def folder(self) -> Path:
        """Return the folder, which only this user can open; it is made at its first use."""
        if self._folder is None:
            self._folder = Path(mkdtemp(prefix="nacre-search-"))
            weakref.finalize(self, rmtree, self._folder, ignore_errors=True)
        return self._folder

    def _path(self, name: str) -> Path:
        return self.folder() / sha256(name.encode()).hexdigest()

"""Other programs' files on this machine: read, compared and replaced as a whole."""

import glob
import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from nacre.adapters.files.file_lock import locked
from nacre.adapters.files.private_files import private_folder, sync_folder, write_private
from nacre.core.errors import ConfigurationError, ConflictError, UnavailableError
from nacre.core.limits import CONFIG_ATTEMPTS, CONFIG_BACKUPS, CONFIG_LOCK_SECONDS, MAX_CONFIG_BYTES
from nacre.ports.other_programs.config_files import Change

_WILD = re.compile(r"[\[?]")
_BINARY = getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # somebody may have put a pipe there


class LocalConfigFiles:
    """ConfigFiles of this machine; `folder` keeps the backups and the locks.

    `managed` are patterns of files that belong to an administrator: they are read, never
    written, whatever leads to them.
    """

    def __init__(
        self, folder: Path, *, managed: Sequence[str], now: Callable[[], datetime]
    ) -> None:
        self._folder = folder
        self._managed = managed
        self._now = now

    def find(self, patterns: Sequence[str]) -> list[str]:
        """Return the files that exist, without links, each once and in the order given."""
        files: dict[str, None] = {}
        for pattern in patterns:
            for match in _matches(pattern):
                with suppress(OSError, ValueError, RuntimeError):
                    files[str(Path(match).resolve(strict=True))] = None
        return list(files)

    def read(self, file: str) -> str:
        """Return a file's text; raise ConfigurationError if it cannot be a configuration."""
        with _translated(file):
            return _decoded(_content(Path(file)))

    def change(self, file: str, change: Change) -> bool:
        """Replace a file's text with the result of `change`, atomically."""
        with _translated(file):
            path = Path(file).resolve(strict=True)
            self._check(path)
            key = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:16]
            private_folder(self._folder)
            with locked(self._folder / f"{key}.lock", seconds=CONFIG_LOCK_SECONDS) as has_lock:
                if not has_lock:
                    raise ConflictError("another nacre is changing it; try again")
                return self._replace(path, key, change)

    def create(self, file: str, text: str) -> None:
        """Write a new file, with the folders that lead to it."""
        with _translated(file):
            path = Path(file)
            if path.is_symlink() and not path.exists():
                raise ConfigurationError(
                    "it is a link to a file that is not there; create that file, or remove the link"
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
            except FileExistsError:
                raise ConflictError("it exists by now; try again") from None
            with os.fdopen(descriptor, "wb") as new:
                new.write(text.encode("utf-8"))
                new.flush()
                os.fsync(descriptor)
            sync_folder(path.parent)

    def delete(self, file: str, text: str) -> None:
        """Delete a file that still has this text."""
        with _translated(file):
            path = Path(file).resolve(strict=True)
            self._check(path)
            if _content(path) != text.encode("utf-8"):
                raise ConflictError("it has changed since; try again")
            path.unlink()
            sync_folder(path.parent)

    def has_folder(self, folder: str) -> bool:
        """Return whether a folder exists."""
        return Path(folder).is_dir()

    def _check(self, path: Path) -> None:
        """Refuse a file that must stay as it is."""
        if str(path) in self.find(self._managed):
            raise ConfigurationError("an administrator manages it; ask them")
        if path.stat().st_nlink > 1:
            raise ConfigurationError("it has a second name (a hard link); remove one of them")
        if not os.access(path, os.W_OK):
            raise ConfigurationError("it is write-protected; make it yours to write")

    def _replace(self, path: Path, key: str, change: Change) -> bool:
        _sweep(path)
        for _ in range(CONFIG_ATTEMPTS):
            content = _content(path)
            new = change(_decoded(content))
            if new is None:
                return False
            self._back_up(key, content)
            if _swapped(path, content, new.encode("utf-8")):
                return True
        raise ConflictError("its client keeps writing it; end the client and try again")

    def _back_up(self, key: str, content: bytes) -> None:
        folder = self._folder / "backups" / key
        private_folder(folder)
        write_private(folder / self._now().strftime("%Y%m%dT%H%M%S.%fZ"), content)
        for old in sorted(backup.name for backup in folder.iterdir())[:-CONFIG_BACKUPS]:
            (folder / old).unlink(missing_ok=True)


def _matches(pattern: str) -> list[str]:
    if "*" not in pattern:
        return [pattern]
    # Only the star is a wildcard; the rest of a path is literal.
    return sorted(glob.glob(_WILD.sub(r"[\g<0>]", pattern)))  # noqa: PTH207  absolute texts


def _swapped(path: Path, expected: bytes, new: bytes) -> bool:
    """Replace a file's content; return False if somebody has changed it."""
    temporary = path.parent / f".{path.name}.nacre-{secrets.token_hex(8)}"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(new)
            file.flush()
            _take_after(path, temporary)
            os.fsync(descriptor)
        # As late as possible, because what a client writes from here on is lost.
        if _content(path) != expected:
            return False
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)
    return True


def _take_after(path: Path, temporary: Path) -> None:
    """Give a file the owner, the mode and the attributes of another, and the current time."""
    if sys.platform != "win32":
        theirs, mine = path.stat(), temporary.stat()
        if (mine.st_uid, mine.st_gid) != (theirs.st_uid, theirs.st_gid):
            os.chown(temporary, theirs.st_uid, theirs.st_gid)
    shutil.copystat(path, temporary)
    os.utime(temporary)


def _sweep(path: Path) -> None:
    """Remove files that killed commands have left behind; the caller must hold the lock."""
    prefix = f".{path.name}.nacre-"
    for neighbour in path.parent.iterdir():
        if neighbour.name.startswith(prefix):
            neighbour.unlink(missing_ok=True)


def _content(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT | _BINARY)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ConfigurationError("it is not a regular file")
        content = file.read(MAX_CONFIG_BYTES + 1)
    if len(content) > MAX_CONFIG_BYTES:
        raise ConfigurationError(f"it has more than {MAX_CONFIG_BYTES} bytes")
    return content


def _decoded(content: bytes) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigurationError("it is not in UTF-8; save it in UTF-8") from None
    if "\0" in text:
        raise ConfigurationError("it contains bytes that are not text; save it in UTF-8")
    return text


@contextmanager
def _translated(file: str) -> Iterator[None]:
    """Name the file in every error, and convert errors of the system."""
    try:
        yield
    except (ConfigurationError, ConflictError) as error:
        raise type(error)(f"{file}: {error}") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnavailableError(f"{file}: it cannot be read or written ({reason})") from error

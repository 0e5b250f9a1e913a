"""Secrets on a laptop, each in a file that only its owner can read."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nacre.adapters.files.private_files import private_folder, write_private
from nacre.core.errors import StoreError
from nacre.core.names import checked_secret_name


class FileSecrets:
    """Secrets as files (0600) in one folder (0700), each written atomically."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, name: str) -> str | None:
        """Return the secret, or None when it is not set."""
        with self._translated():
            try:
                return self._path(name).read_bytes().decode("utf-8")
            except FileNotFoundError:
                return None

    def set(self, name: str, value: str) -> None:
        """Store the secret, and replace the old one."""
        with self._translated():
            path = self._path(name)
            private_folder(self._folder)
            write_private(path, value.encode("utf-8"))

    def unset(self, name: str) -> bool:
        """Delete the secret; return False if it was not set."""
        with self._translated():
            try:
                self._path(name).unlink()
            except FileNotFoundError:
                return False
            return True

    def names(self) -> list[str]:
        """Return the names that are set, in order."""
        with self._translated(), contextlib.suppress(FileNotFoundError):
            names = (path.name for path in self._folder.iterdir())
            return sorted(name for name in names if not name.startswith("."))
        return []

    def _path(self, name: str) -> Path:
        return self._folder / checked_secret_name(name)  # no name leads out of the folder

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"{self._folder}: secrets cannot be read or written ({error.strerror})."
                " Make the folder yours, or choose another data folder."
            ) from error
        except UnicodeDecodeError:
            raise StoreError(
                f"{self._folder}: a secret is damaged. Set it again with 'nacre secret set'."
            ) from None

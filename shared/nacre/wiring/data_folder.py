"""The folder where the laptop stores all data, private to its owner."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nacre.core.errors import ConfigurationError

DATABASE = "nacre.db"
VAULT = "vault.key"
SECRETS = "secrets"
AUDIT = "audit"
CAPTURE = "capture.json"  # of `cli.hooks.capture_settings`


def prepare_data_folder(path: str | Path, *, to_read: bool = False) -> Path:
    """Return the folder, and create it with mode 0700 if it does not exist.

    An existing folder keeps its permissions: it may be shared on purpose, and its files are
    private in any case. With `to_read`, a read-only folder with a store is accepted too, for
    example a snapshot. Raises ConfigurationError if the folder cannot be used.
    """
    # With an empty HOME, the folder would be at the root of the file system.
    if os.name == "posix" and str(path).startswith("//"):
        raise _unusable(path, "HOME is empty or '/'")
    try:
        folder = Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise _unusable(path, "this user has no home") from error
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise _unusable(folder, "it is a file") from None
    except OSError as error:
        raise _unusable(folder, error.strerror or type(error).__name__) from error
    can_be_read = os.access(folder, os.R_OK | os.X_OK)
    is_snapshot = to_read and can_be_read and os.access(folder / DATABASE, os.R_OK)
    if not is_snapshot and not (can_be_read and os.access(folder, os.W_OK)):
        raise _unusable(folder, "you may not write to it")
    return folder


def _unusable(folder: str | Path, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"{folder}: cannot be the data folder ({reason}); choose another one with --data-dir "
        "or NACRE_HOME"
    )


@contextmanager
def file_lock(file: Path, *, seconds: float) -> Iterator[bool]:
    """Hold the lock of a file until the block ends; yields False if another process holds it."""
    from nacre.adapters.files.file_lock import locked

    with locked(file, seconds=seconds) as is_held:
        yield is_held

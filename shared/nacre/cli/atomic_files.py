"""Files that a command writes completely or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from nacre.core.errors import ConflictError, InvalidInputError, UnavailableError


@contextmanager
def atomic_file(file: str, *, replace: bool) -> Iterator[BinaryIO]:
    """Open a file that only its owner can read (0600).

    The file appears under its name when the block ends without an error.
    """
    path = Path(file)
    try:
        descriptor, name = tempfile.mkstemp(prefix=".nacre-", dir=path.parent)  # 0600
    except OSError as error:
        raise InvalidInputError(f"{file}: cannot be written ({error.strerror})") from error
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as content:
            yield content
            content.flush()
            os.fsync(content.fileno())
        if replace:
            temporary.replace(path)
        else:
            path.hardlink_to(temporary)
    except FileExistsError:
        raise already_exists(file) from None
    except OSError as error:
        raise UnavailableError(f"{file}: cannot be written ({error.strerror})") from error
    finally:
        temporary.unlink(missing_ok=True)


def check_free(file: str, *, replace: bool) -> None:
    """Raise ConflictError if the file exists and must not be replaced."""
    if not replace and Path(file).exists():
        raise already_exists(file)


def already_exists(file: str) -> ConflictError:
    """Return the error for a file that already exists."""
    return ConflictError(f"{file} already exists; choose another name, or give --force")

"""Files that a command writes: complete, or not there."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from nacre.core.errors import ConflictError, InvalidInputError, UnavailableError


@contextmanager
def whole_file(file: str, *, replace: bool) -> Iterator[BinaryIO]:
    """Give a file for its owner alone (0600), which gets its name when the block has ended."""
    path = Path(file)
    try:
        descriptor, name = tempfile.mkstemp(prefix=".nacre-", dir=path.parent)  # 0600
    except OSError as error:
        raise InvalidInputError(f"{file}: cannot be written ({error.strerror})") from error
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as plain:
            yield plain
            plain.flush()
            os.fsync(plain.fileno())
        if replace:
            temporary.replace(path)
        else:
            path.hardlink_to(temporary)
    except FileExistsError:
        raise there_is(file) from None
    except OSError as error:
        raise UnavailableError(f"{file}: cannot be written ({error.strerror})") from error
    finally:
        temporary.unlink(missing_ok=True)


def check_free(file: str, *, replace: bool) -> None:
    """Raise ConflictError when the file is there and is not to be replaced."""
    if not replace and Path(file).exists():
        raise there_is(file)


def there_is(file: str) -> ConflictError:
    """Return the error that a file is there already."""
    return ConflictError(f"{file} is there already; choose another name, or give --force")

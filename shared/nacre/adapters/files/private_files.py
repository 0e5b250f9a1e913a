"""Files that only their owner can read, written atomically."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

TEMPORARY = ".new-"  # how the names of unfinished files begin


def private_folder(path: Path) -> None:
    """Make a folder that only its owner enters, and the missing ones above it."""
    for folder in (*reversed(path.parents), path):
        folder.mkdir(mode=0o700, exist_ok=True)  # parents=True would open the upper ones


def write_private(path: Path, *parts: bytes, replace: bool = True) -> None:
    """Write a file (0600) that is complete and on the disk, or not there.

    With `replace=False` an existing file is kept and raises FileExistsError.
    """
    temporary = path.parent / f"{TEMPORARY}{secrets.token_hex(8)}"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            temporary.replace(path)
        else:
            path.hardlink_to(temporary)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Put the names of a folder's files on the disk."""
    # The name is on the disk only when its folder is. Windows has no such call.
    with suppress(PermissionError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

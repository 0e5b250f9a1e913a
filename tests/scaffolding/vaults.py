"""A vault for each world of a test, all in one temporary folder of the process."""

from functools import cache
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

from nacre.adapters.files.vault import FileVault

_numbers = count()


def file_vault() -> FileVault:
    """Return a vault with a key of its own."""
    return FileVault(_folder() / f"{next(_numbers)}.key")


@cache
def _folder() -> Path:
    return Path(mkdtemp(prefix="nacre-vaults-"))

"""The folder where the laptop keeps everything, private to its owner."""

import os
from pathlib import Path

from nacre.core.errors import ConfigurationError

DATABASE = "nacre.db"
VAULT = "vault.key"
SECRETS = "secrets"
AUDIT = "audit"


def prepare_data_folder(path: str | Path, *, to_read: bool = False) -> Path:
    """Return the folder, made (0700) when it was not there.

    An existing folder keeps its permissions: it may be shared on purpose, and the files in
    it are private in any case. With `to_read`, a folder with a store that may only be read
    will do, as in a snapshot. Raises ConfigurationError when it cannot be used.
    """
    # What is left where HOME is empty: a folder at the root of the machine, which nobody asked for.
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
    will_do = to_read and can_be_read and os.access(folder / DATABASE, os.R_OK)
    if not will_do and not (can_be_read and os.access(folder, os.W_OK)):
        raise _unusable(folder, "it is not yours to write")
    return folder


def _unusable(folder: str | Path, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"{folder}: cannot be the data folder ({reason}); choose another one with --data-dir "
        "or NACRE_HOME"
    )

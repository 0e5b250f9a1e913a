"""Names of variables that make a program load code, before it can look at anything."""

import re
from collections.abc import Iterable

# The variables of Python that load code have no underscore; images name their release in others.
_LOADING = re.compile(r"(?:LD|DYLD|OPENSSL)_.*|PYTHON[A-Z0-9]+|GCONV_PATH|GLIBC_TUNABLES")
# They change how Python reads, writes and hashes, and name no code.
_HARMLESS = re.compile(
    "PYTHON(?:DONTWRITEBYTECODE|FAULTHANDLER|HASHSEED|IOENCODING|NOUSERSITE|UNBUFFERED|UTF8)"
)


def loading_variable(names: Iterable[str]) -> str:
    """Return the first name of a variable that acts on every program of Nacre, or ""."""
    for name in sorted(names):
        if _LOADING.fullmatch(name) and not _HARMLESS.fullmatch(name):
            return name
    return ""

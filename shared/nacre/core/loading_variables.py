"""Names of variables that make a program load code, before it can look at anything."""

from collections.abc import Iterable

_FAMILIES = ("DYLD_", "LD_", "OPENSSL_", "PYTHON")
_NAMES = frozenset({"GCONV_PATH", "GLIBC_TUNABLES"})
# They change how Python reads and writes, and name no file.
_HARMLESS = frozenset(
    {"PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONUTF8"}
)


def loading_variable(names: Iterable[str]) -> str:
    """Return the first name of a variable that acts on every program of Nacre, or ""."""
    for name in sorted(names):
        if name in _NAMES or (name.startswith(_FAMILIES) and name not in _HARMLESS):
            return name
    return ""

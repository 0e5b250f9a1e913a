"""Names of files as they come from strangers, made fit for one line of text."""

import re
import unicodedata

from nacre.core.limits import MAX_FILE_NAME

_SEPARATORS = re.compile(r"[/\\]")
# Controls, marks that turn text around, surrogates, private and unassigned characters,
# and the ends of lines and paragraphs.
_UNSHOWN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


def base_name(given: str) -> str:
    """Return the last part of a path as a plain name; empty when nothing is left of it."""
    last = _SEPARATORS.split(given[-4 * MAX_FILE_NAME :])[-1]
    shown = "".join(
        " " if mark.isspace() else mark
        for mark in last
        if mark in "\t\n\r" or unicodedata.category(mark) not in _UNSHOWN
    )
    name = " ".join(shown.split()).replace("`", "'")
    if not name.strip(". "):
        return ""
    return _shortened(name)


def _shortened(name: str) -> str:
    if len(name) <= MAX_FILE_NAME:
        return name
    stem, dot, extension = name.rpartition(".")
    if not dot or len(extension) > MAX_FILE_NAME // 4:
        return name[:MAX_FILE_NAME]
    return f"{stem[: MAX_FILE_NAME - len(extension) - 1]}.{extension}"

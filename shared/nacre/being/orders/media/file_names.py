"""File names from other people, as one short line of text."""

import re
import unicodedata

from nacre.core.limits import MAX_FILE_NAME

_SEPARATORS = re.compile(r"[/\\]")
# Controls, marks that change the direction of text, surrogates, private and unassigned
# characters, and the separators of lines and paragraphs.
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


def base_name(path: str) -> str:
    """Return the last part of a path as a plain name; empty if nothing of it can be shown."""
    last = _SEPARATORS.split(path[-4 * MAX_FILE_NAME :])[-1]
    visible = "".join(
        " " if character.isspace() else character
        for character in last
        if character in "\t\n\r" or unicodedata.category(character) not in _HIDDEN
    )
    name = " ".join(visible.split()).replace("`", "'")
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

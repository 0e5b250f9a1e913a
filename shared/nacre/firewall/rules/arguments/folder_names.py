"""Files of this machine that a server may open for another Unicode spelling of their path.

One name has several spellings: `é` is one character or two. A file system keeps them apart,
but a server that normalizes names may open a file that is stored under another spelling.
"""

import unicodedata
from pathlib import Path

_MAX_PATHS = 16  # no honest folder has more files with the same normalized name
_MAX_SEGMENTS = 256
UNREADABLE = "\0"  # matches no rule that allows


def stored_spellings(place: str) -> list[str]:
    """Return the other existing paths that an absolute path may stand for.

    An ASCII name that exists stands only for itself. If there are too many paths to check,
    the result is a text that no rule allows.
    """
    existing = _existing_part(place)
    names = place[len(existing) :].split("/")[1:]
    if len(names) > _MAX_SEGMENTS:
        return [] if place.isascii() else [UNREADABLE]
    paths = [existing]
    for name in names:
        paths = [path for parent in paths for path in _existing_in(parent, name)]
        if len(paths) > _MAX_PATHS:
            return [UNREADABLE]
    return [path for path in paths if path != place]


def _existing_part(place: str) -> str:
    """Return the longest prefix of a path that exists and has only ASCII names."""
    if not place.isascii():
        plain = next(at for at, letter in enumerate(place) if not letter.isascii())
        place = place[:plain].rpartition("/")[0]
    while place and not _exists(place):
        place = place.rpartition("/")[0]
    return place


def _existing_in(parent: str, name: str) -> list[str]:
    exact = f"{parent}/{name}"
    normalized = unicodedata.normalize("NFKC", name)
    try:
        stored = [entry.name for entry in Path(parent or "/").iterdir()]
    except (OSError, ValueError):
        return [exact]
    return [
        exact,
        *(
            f"{parent}/{entry_name}"
            for entry_name in stored
            if entry_name != name and unicodedata.normalize("NFKC", entry_name) == normalized
        ),
    ]


def _exists(place: str) -> bool:
    try:
        Path(place).lstat()
    except (OSError, ValueError):
        return False
    return True

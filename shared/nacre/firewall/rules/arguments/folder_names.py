"""The names in folders of this machine that a server may take for another spelling of a path.

One name has several spellings: `é` is one character or two. A file system keeps them apart,
and a server that compares names in one normal form opens a file that was stored in another.
"""

import unicodedata
from pathlib import Path

_MOST_PATHS = 16  # more files that are called alike than any honest folder has
_MOST_SEGMENTS = 256
UNREADABLE = "\0"  # matches no rule that allows


def stored_spellings(place: str) -> list[str]:
    """Return the other existing paths that an absolute path may stand for.

    A plain name that exists is taken to be itself. Where there are too many to look at,
    the result is a text that no rule allows.
    """
    existing = _existing_part(place)
    names = place[len(existing) :].split("/")[1:]
    if len(names) > _MOST_SEGMENTS:
        return [] if place.isascii() else [UNREADABLE]
    paths = [existing]
    for name in names:
        paths = [each for parent in paths for each in _below(parent, name)]
        if len(paths) > _MOST_PATHS:
            return [UNREADABLE]
    return [each for each in paths if each != place]


def _existing_part(place: str) -> str:
    """Return the longest beginning of a path that exists and has only plain names."""
    if not place.isascii():
        plain = next(at for at, letter in enumerate(place) if not letter.isascii())
        place = place[:plain].rpartition("/")[0]
    while place and not _exists(place):
        place = place.rpartition("/")[0]
    return place


def _below(parent: str, name: str) -> list[str]:
    exact = f"{parent}/{name}"
    wanted = unicodedata.normalize("NFKC", name)
    try:
        stored = [each.name for each in Path(parent or "/").iterdir()]
    except (OSError, ValueError):
        return [exact]
    return [
        exact,
        *(
            f"{parent}/{each}"
            for each in stored
            if each != name and unicodedata.normalize("NFKC", each) == wanted
        ),
    ]


def _exists(place: str) -> bool:
    try:
        Path(place).lstat()
    except (OSError, ValueError):
        return False
    return True

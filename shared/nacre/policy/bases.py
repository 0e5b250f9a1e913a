"""The folders from which a server resolves relative paths, as its owner declares them."""

from collections.abc import Iterable

from nacre.errors import InvalidInputError
from nacre.policy.readings import is_absolute, normal

MAX_BASES = 32  # every relative path is read once for each


def absolute_bases(folders: Iterable[str], source: str, home: str | None = None) -> tuple[str, ...]:
    """Return the declared folders in their normal form, `~` as `home` where that is known.

    Raise InvalidInputError for one that is not absolute: it would not say where it is.
    `source` names the place of the declaration in that error.
    """
    bases: dict[str, None] = {}
    for folder in folders:
        place = folder.replace("\\", "/")
        if home is not None and (place == "~" or place.startswith("~/")):
            place = home.replace("\\", "/") + place[1:]
        if not is_absolute(place) or "\0" in place:
            raise InvalidInputError(f"{source}: '{folder[:80]}' is not an absolute path")
        bases[normal(place)] = None
    if len(bases) > MAX_BASES:
        raise InvalidInputError(f"{source}: at most {MAX_BASES} folders are possible")
    return tuple(bases)

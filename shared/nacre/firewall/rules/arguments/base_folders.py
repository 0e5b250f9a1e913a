"""The base folders from which a server resolves relative paths, as its owner declares them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from nacre.core.errors import InvalidInputError
from nacre.firewall.rules.arguments.readings import is_absolute, normal
from nacre.firewall.rules.rule import Surroundings

MAX_BASES = 32  # each relative path is resolved once against each of them
NONE = "none"  # in place of a folder: the server opens no files

_FILE_URL = re.compile(r"file:(?://[^/]*)?", re.IGNORECASE)


def declared(where: Surroundings, folders: Iterable[str], source: str) -> Surroundings:
    """Return the facts about a server with the bases that its owner declares.

    Raise InvalidInputError for a folder that is not absolute.
    """
    folders = tuple(folders)
    if folders == (NONE,):
        return where._replace(opens_files=False)
    return where._replace(bases=absolute_bases(folders, source, where.home))


def absolute_bases(folders: Iterable[str], source: str, home: str | None = None) -> tuple[str, ...]:
    """Return the declared folders in their normal form, `~` as `home` where that is known.

    Raise InvalidInputError for a folder that is not absolute.
    `source` names the place of the declaration in that error.
    """
    bases: dict[str, None] = {}
    for folder in folders:
        if folder == NONE:
            raise InvalidInputError(f"{source}: '{NONE}' cannot be combined with folders")
        place = folder.replace("\\", "/")
        if home is not None and (place == "~" or place.startswith("~/")):
            place = home.replace("\\", "/") + place[1:]
        if not is_absolute(place) or "\0" in place:
            raise InvalidInputError(f"{source}: '{folder[:80]}' is not an absolute path")
        bases[normal(place)] = None
    if len(bases) > MAX_BASES:
        raise InvalidInputError(f"{source}: at most {MAX_BASES} folders are possible")
    return tuple(bases)


def roots_in(answer: Any) -> Iterator[str]:
    """Yield the folders that a client names in its answer to `roots/list`.

    Some servers resolve relative paths from these, instead of the folders they were started with.
    An answer to several requests at once is searched too.
    """
    if not isinstance(answer, Mapping):
        return
    roots = answer.get("roots")
    if not isinstance(roots, list):
        for reply in answer.values():
            if isinstance(reply, Mapping) and "roots" in reply:
                yield from roots_in(reply)
        return
    for root in roots:
        uri = root.get("uri") if isinstance(root, Mapping) else None
        if isinstance(uri, str):
            file = _FILE_URL.match(uri)
            yield uri if file is None else unquote(uri[file.end() :])


def with_roots(where: Surroundings, roots: Iterable[str]) -> Surroundings:
    """Return the facts about a server after a client gave it its roots.

    The roots join the declared bases. A root that cannot be read makes all bases unknown.
    """
    if not where.bases:
        return where
    try:
        return where._replace(bases=absolute_bases([*where.bases, *roots], "roots", where.home))
    except InvalidInputError:
        return where._replace(bases=())

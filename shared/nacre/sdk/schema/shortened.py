"""A large value that does not match its schema, shortened so that its error is found quickly.

The library describes an error with one entry for each item that does not match and for each form
of `anyOf`, and copies the value. For a megabyte of numbers that takes 17 seconds, with pauses of
seconds for every other thread. Whether a value matches at all is known in milliseconds.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any

_LARGE = 256  # values; with fewer, an error costs little
# Entries of what is halved no further. An object may be one that needs all of its entries.
_KEPT: dict[type, int] = {list: 8, dict: 64}
_TRIES = 300  # checks of a part; each one takes less time than the check of the whole value
_WHOLE = frozenset(
    {
        *("contains", "dependentRequired", "minItems", "minProperties", "required", "uniqueItems"),
        *("dependentSchemas", "unevaluatedItems", "unevaluatedProperties"),
    }
)
"""Keywords about all entries together: of a shortened value they may say what is not so."""

Path = tuple[str | int, ...]


def is_large(value: Any) -> bool:
    """Tell whether a value holds many others, beside each other rather than in each other."""
    waiting, count = [value], 0
    while waiting:
        inner = waiting.pop()
        if type(inner) in _KEPT:
            count += max(0, len(inner) - 1)
            if count > _LARGE:
                return True
            waiting.extend(inner.values() if type(inner) is dict else inner)
    return False


class Shortened:
    """Entries of a value that does not match; `value` does not match either."""

    def __init__(self, value: Any, matches: Callable[[Any], bool]) -> None:
        self._matches = matches
        self._original = value
        self._tries = _TRIES
        # Of each list and object that was shortened, by its path: the index of its first entry.
        self._starts: dict[Path, int] = {}
        self.value = value
        waiting: list[Path] = [()]
        while waiting and self._tries:
            path = waiting.pop()
            entries = self._shorten(path)
            if type(entries) in _KEPT and len(entries) <= _LARGE:
                names = entries if type(entries) is dict else range(len(entries))
                waiting.extend((*path, name) for name in names)

    def describes(self, path: Path, keyword: str) -> bool:
        """Tell whether an error of the shortened value is one of the original, too."""
        return not (path in self._starts and keyword in _WHOLE)

    def original(self, path: Path) -> tuple[list[str | int], Any]:
        """Return the path in the original value, and what is there."""
        place: list[str | int] = []
        value = self._original
        for depth, step in enumerate(path):
            start = self._starts.get(path[:depth], 0)
            place.append(step if isinstance(step, str) else start + step)
            value = value[place[-1]]
        return place, value

    def _shorten(self, path: Path) -> Any:
        """Halve the list or object at a path while one of its halves does not match."""
        entries = _at(self.value, path)
        if type(entries) not in _KEPT:
            return None
        while len(entries) > _KEPT[type(entries)] and self._tries:
            self._tries -= 1
            half = len(entries) // 2
            for start, end in ((0, half), (half, len(entries))):
                part = _part(entries, start, end)
                shortened = _replaced(self.value, path, part)
                if not self._matches(shortened):
                    break
            else:
                break  # only all of them together do not match
            self.value, entries = shortened, part
            self._starts[path] = self._starts.get(path, 0) + start
        return entries


def _part(entries: Any, start: int, end: int) -> Any:
    if type(entries) is list:
        return entries[start:end]
    return dict(islice(entries.items(), start, end))


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _replaced(value: Any, path: Path, part: Any) -> Any:
    """Return the value with something else at a path; the ancestors are short by now."""
    if not path:
        return part
    copy = value.copy()
    copy[path[0]] = _replaced(value[path[0]], path[1:], part)
    return copy

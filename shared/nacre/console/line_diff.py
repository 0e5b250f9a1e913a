"""The difference between two texts, line by line."""

from collections.abc import Iterator
from difflib import unified_diff
from typing import Literal

from nacre.core.lazy_dataclasses import dataclass

_LONGEST = 400
_MOST = 2_000


@dataclass(frozen=True, slots=True)
class Line:
    """One line: in both texts, in one of them, or a heading where a part begins."""

    kind: Literal["same", "added", "removed", "place"]
    text: str


def difference(before: str, after: str) -> tuple[Line, ...]:
    """Return the changed lines with three lines of context; empty if the texts are equal."""
    return tuple(_lines(before, after))


def _lines(before: str, after: str) -> Iterator[Line]:
    diff = unified_diff(before.splitlines(), after.splitlines(), lineterm="")
    for count, line in enumerate(diff):
        if count < 2:  # the names of two files
            continue
        if count > _MOST:
            yield Line("place", "more changes")
            return
        mark, text = line[:1], line[1 : _LONGEST + 1]
        if mark == "@":
            yield Line("place", line[:80])
        elif mark == "+":
            yield Line("added", text)
        else:
            yield Line("removed" if mark == "-" else "same", text)

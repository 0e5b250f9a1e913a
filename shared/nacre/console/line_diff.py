"""What has changed between two texts, line by line, as a page shows it."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from typing import Literal

_LONGEST = 400
_MOST = 2_000


@dataclass(frozen=True, slots=True)
class Line:
    """One line: of both texts, of one of them, or the place where more of them begins."""

    kind: Literal["same", "added", "removed", "place"]
    text: str


def difference(before: str, after: str) -> tuple[Line, ...]:
    """Return the changed lines with three of their neighbours; nothing where all is equal."""
    return tuple(_lines(before, after))


def _lines(before: str, after: str) -> Iterator[Line]:
    found = unified_diff(before.splitlines(), after.splitlines(), lineterm="")
    for count, line in enumerate(found):
        if count < 2:  # the names of two files
            continue
        if count > _MOST:
            yield Line("place", "and more")
            return
        mark, text = line[:1], line[1 : _LONGEST + 1]
        if mark == "@":
            yield Line("place", line[:80])
        elif mark == "+":
            yield Line("added", text)
        else:
            yield Line("removed" if mark == "-" else "same", text)

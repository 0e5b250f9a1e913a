"""Instructions and secrets that are split over several items of a result.

A client shows the items of a result in a row, so a model reads an instruction or a key whole even
if its halves are in two items.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import SEQUENCE_EDGE_CHARS

Path = tuple[str | int, ...]
Find = Callable[[str], Sequence[tuple[str, int, int]]]
"""From a text to its findings: the mark to put there, and the span."""


class _Part(NamedTuple):
    """A piece of one item's text, and its place in that text."""

    path: Path
    begin: int
    text: str


class _Edit(NamedTuple):
    start: int
    end: int
    mark: str


@dataclass(slots=True)
class SplitFindings:
    """The findings across items: their marks, and the edits of each text."""

    marks: list[str] = field(default_factory=list)
    edits: dict[Path, list[_Edit]] = field(default_factory=dict)

    def mask(self, value: Any) -> Any:
        """Return a copy of the value with a mark in place of each finding."""
        copies: dict[Path, Any] = {}
        for path, edits in self.edits.items():
            place = copies.setdefault((), copy(value))
            for depth, step in enumerate(path[:-1], 1):
                if path[:depth] not in copies:
                    copies[path[:depth]] = place[step] = copy(place[step])
                place = copies[path[:depth]]
            place[path[-1]] = _edited(place[path[-1]], edits)
        return copies.get((), value)


def find_split(
    value: Any, find: Find, *, glues: Sequence[str], in_context: bool = False
) -> SplitFindings:
    """Return the findings that are partly in one item and partly in the next ones.

    `glues` are the separators that clients put between two items. With `in_context` also those in
    one item that only the items around it reveal, such as a password after its name.
    """
    result = SplitFindings()
    for parts in _rows(value):
        for glue in glues:
            _find_across(parts, glue, find, result, in_context=in_context)
    return result


def joined_rows(value: Any) -> Iterator[str]:
    """Yield each row of items as a client shows it, without anything between the items."""
    for parts in _rows(value):
        yield "".join(part.text for part in parts)


def _find_across(
    parts: list[_Part], glue: str, find: Find, result: SplitFindings, *, in_context: bool
) -> None:
    ends, end = [], 0
    for part in parts:
        end += len(part.text)
        ends.append(end)
        end += len(glue)
    for mark, start, stop in find(glue.join(part.text for part in parts)):
        first = bisect_right(ends, start)
        last = first
        while last + 1 < len(parts) and ends[last + 1] - len(parts[last + 1].text) < stop:
            last += 1
        if first == last and not (in_context and _is_revealed(parts[first].text, find, mark)):
            continue
        result.marks.append(mark)
        for place in range(first, last + 1):
            part, begins = parts[place], ends[place] - len(parts[place].text)
            edit = _Edit(
                part.begin + max(start - begins, 0),
                part.begin + min(stop - begins, len(part.text)),
                mark if place == first else "",
            )
            result.edits.setdefault(part.path, []).append(edit)


def _is_revealed(text: str, find: Find, mark: str) -> bool:
    """Tell whether a finding in a text is none if the text stands alone."""
    return all(alone != mark for alone, _, _ in find(text))


def _rows(value: Any) -> Iterator[list[_Part]]:
    """Yield rows of neighbouring texts; long texts are represented by their ends."""
    waiting: list[tuple[Path, Any]] = [((), value)]
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, dict):
            waiting += [((*path, name), inner) for name, inner in part.items()]
        elif isinstance(part, list):
            texts = [
                text for place, item in enumerate(part) for text in _read((*path, place), item)
            ]
            if len(texts) > 1:
                yield from _chained(texts)
            waiting += [
                ((*path, place), item)
                for place, item in enumerate(part)
                if isinstance(item, dict | list)
            ]


def _read(path: Path, item: Any) -> Iterator[tuple[Path, str]]:
    """Yield the texts of an item in the order of reading."""
    if type(item) is str:
        if item:
            yield path, item
    elif isinstance(item, dict):
        for name in ("text", "description"):  # the second of a link to a resource
            text = item.get(name)
            if type(text) is str and text:
                yield (*path, name), text
        for name in ("resource", "content"):
            yield from _read((*path, name), item.get(name))
    elif isinstance(item, list):
        for place, inner in enumerate(item):
            yield from _read((*path, place), inner)


def _chained(texts: list[tuple[Path, str]]) -> Iterator[list[_Part]]:
    row: list[_Part] = []
    for path, text in texts:
        if len(text) <= 2 * SEQUENCE_EDGE_CHARS:
            row.append(_Part(path, 0, text))
            continue
        row.append(_Part(path, 0, text[:SEQUENCE_EDGE_CHARS]))
        if len(row) > 1:
            yield row
        row = [_Part(path, len(text) - SEQUENCE_EDGE_CHARS, text[-SEQUENCE_EDGE_CHARS:])]
    if len(row) > 1:
        yield row


def _edited(text: str, edits: list[_Edit]) -> str:
    parts: list[str] = []
    end = 0
    for edit in sorted(edits):
        if edit.end <= end:
            continue
        parts += (text[end : max(edit.start, end)], edit.mark)
        end = edit.end
    return "".join((*parts, text[end:]))

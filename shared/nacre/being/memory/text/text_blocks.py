"""Blocks of text with a budget: sections of whole entries, and what was left out by name."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a section; `brief` stands for it where the whole does not fit."""

    text: str
    brief: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Entries under a title; `rest` says how to read those that are left out."""

    title: str
    entries: tuple[Entry, ...]
    rest: str


def block(sections: Sequence[Section], budget: int) -> str:
    """Return the sections that have entries, within this many bytes of UTF-8.

    Entries are left out whole, from the end of a section, and counted; earlier sections come
    first. Briefs are placed before any of them gives way to its whole text. The same
    sections always give the same bytes.
    """
    filled = [section for section in sections if section.entries]
    shown = [_Shown(section) for section in filled]
    left = budget - sum(each.least for each in shown)
    for each in shown:
        left -= each.take(left)
    for each in shown:
        left -= each.unfold(left)
    return "\n\n".join(each.text() for each in shown)


def shortened(text: str, size: int) -> str:
    """Return the text cut to this many bytes of UTF-8, with an ellipsis where it was cut."""
    encoded = text.encode()
    if len(encoded) <= size:
        return text
    return encoded[: size - len("…".encode())].decode(errors="ignore").rstrip() + "…"


class _Shown:
    """A section on its way into a block."""

    def __init__(self, section: Section) -> None:
        self._section = section
        self._lines: list[str] = []
        # The title, the blank line before the next section, and the line about the rest.
        self.least = _size(self._title) + 1 + _size(self._left_out(len(section.entries)))

    @property
    def _title(self) -> str:
        return f"## {self._section.title}"

    def _left_out(self, count: int) -> str:
        return f"… {count} more, use {self._section.rest}"

    def take(self, room: int) -> int:
        """Add entries while they fit; return the bytes taken beyond what was set aside."""
        entries = self._section.entries
        set_aside = _size(self._left_out(len(entries)))
        taken = 0
        for place, entry in enumerate(entries):
            line = entry.text if entry.brief is None else entry.brief
            # With the last entry, nothing is left out that a line would have to name.
            spare = set_aside if place == len(entries) - 1 else 0
            if taken + _size(line) > room + spare:
                return taken
            taken += _size(line)
            self._lines.append(line)
        return taken - set_aside

    def unfold(self, room: int) -> int:
        """Show whole texts instead of briefs while they fit; return the bytes taken."""
        taken = 0
        for place, line in enumerate(self._lines):
            entry = self._section.entries[place]
            more = _size(entry.text) - _size(line)
            if taken + more > room:
                continue  # a shorter one further on may fit
            taken += more
            self._lines[place] = entry.text
        return taken

    def text(self) -> str:
        left_out = len(self._section.entries) - len(self._lines)
        rest = [self._left_out(left_out)] if left_out else []
        return "\n".join([self._title, *self._lines, *rest])


def _size(line: str) -> int:
    return len(line.encode()) + 1  # its newline

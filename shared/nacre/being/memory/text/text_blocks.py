"""Text with a budget of bytes: sections of whole entries, and a count of those left out."""

from collections.abc import Sequence

from nacre.core.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BlockEntry:
    """One entry of a section; `brief` is shown where the whole text does not fit."""

    text: str
    brief: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Entries under a title; `hint` says how to read those that are left out.

    `reserved` bytes of the budget are kept for it, however long the sections before it are.
    """

    title: str
    entries: tuple[BlockEntry, ...]
    hint: str
    reserved: int = 0


def block(sections: Sequence[Section], budget: int) -> str:
    """Return the sections that have entries, in at most `budget` bytes of UTF-8.

    Entries are left out whole, from the end of a section, and counted; earlier sections go
    first. All briefs are placed before the first of them is replaced by its whole text. The
    same sections always give the same bytes.
    """
    parts = [_SectionText(section) for section in sections if section.entries]
    room = budget - sum(part.least + part.reserved for part in parts)
    for part in parts:
        room += part.reserved
        room -= part.add_entries(room)
    for part in parts:
        room -= part.expand(room)
    return "\n\n".join(part.text() for part in parts)


def shortened(text: str, size: int) -> str:
    """Return the text cut to this many bytes of UTF-8, with an ellipsis where it was cut."""
    encoded = text.encode()
    if len(encoded) <= size:
        return text
    return encoded[: size - len("…".encode())].decode(errors="ignore").rstrip() + "…"


class _SectionText:
    """The text of a section while it is fitted into the budget."""

    def __init__(self, section: Section) -> None:
        self._section = section
        self._lines: list[str] = []
        brief = sum(
            _size(entry.text if entry.brief is None else entry.brief) for entry in section.entries
        )
        self.reserved = min(section.reserved, brief)
        # The title, the blank line before the next section, and the line about entries left out.
        self.least = _size(self._title) + 1 + _size(self._left_out(len(section.entries)))

    @property
    def _title(self) -> str:
        return f"## {self._section.title}"

    def _left_out(self, count: int) -> str:
        return f"… {count} more, use {self._section.hint}"

    def add_entries(self, room: int) -> int:
        """Add entries while they fit; return the bytes used beyond those in `least`."""
        entries = self._section.entries
        set_aside = _size(self._left_out(len(entries)))
        used = 0
        for place, entry in enumerate(entries):
            line = entry.text if entry.brief is None else entry.brief
            # After the last entry, no line about entries left out is needed.
            spare = set_aside if place == len(entries) - 1 else 0
            if used + _size(line) > room + spare:
                return used
            used += _size(line)
            self._lines.append(line)
        return used - set_aside

    def expand(self, room: int) -> int:
        """Replace briefs by whole texts while they fit; return the bytes used."""
        used = 0
        for place, line in enumerate(self._lines):
            entry = self._section.entries[place]
            more = _size(entry.text) - _size(line)
            if used + more > room:
                continue  # a shorter text may still fit
            used += more
            self._lines[place] = entry.text
        return used

    def text(self) -> str:
        left_out = len(self._section.entries) - len(self._lines)
        note = [self._left_out(left_out)] if left_out else []
        return "\n".join([self._title, *self._lines, *note])


def _size(line: str) -> int:
    return len(line.encode()) + 1  # its newline

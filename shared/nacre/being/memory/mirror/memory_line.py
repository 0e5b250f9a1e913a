"""A memory as a list item: `[2026-03-01] Mia planted roses ([[Mia]], [[Bern]])`."""

import re
import unicodedata
from collections.abc import Sequence
from datetime import date

from nacre.core.lazy_dataclasses import dataclass

_DAYS = re.compile(r"\[(\d{4}-\d\d-\d\d(?:[ ,]+\d{4}-\d\d-\d\d)*)\](?:\s+|$)", re.ASCII)
_LINKS = re.compile(r"(?:^|\s)\((\[\[[^\[\]\n]+\]\](?:, \[\[[^\[\]\n]+\]\])*)\)$")
_UNLINKED = re.compile(r"[\[\]|#^\n\\]")


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """The parts of a memory that its line shows."""

    action: str
    days: tuple[str, ...] = ()
    actors: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the line, which may have several lines of text."""
        days = f"[{', '.join(self.days)}] " if self.days else ""
        links = ", ".join(f"[[{actor}]]" for actor in self.actors if is_linkable(actor))
        return plain(f"{days}{self.action}{f' ({links})' if links else ''}")


def is_linkable(name: str) -> bool:
    """Return whether a name can be in a link of Obsidian."""
    return _UNLINKED.search(name) is None


def plain(text: str) -> str:
    """Return the form in which texts are compared: NFC, without ends of lines that editors cut."""
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join(line.rstrip() for line in text.split("\n")).strip()


def parsed_line(text: str) -> MemoryLine:
    """Return the parts of a line; days that do not exist stay part of the text."""
    text = plain(text)
    match = _DAYS.match(text)
    days = tuple(sorted({*re.split(r"[ ,]+", match[1])})) if match is not None else ()
    if match is not None and all(map(_is_day, days)):
        text = text[match.end() :]
    else:
        days = ()
    links = _LINKS.search(text)
    if links is None:
        return MemoryLine(text.strip(), days)
    actors = [name.partition("|")[0].strip() for name in links[1][2:-2].split("]], [[")]
    return MemoryLine(text[: links.start()].strip(), days, tuple(dict.fromkeys(actors)))


def completed(text: str, stored: MemoryLine) -> str:
    """Return an edited line with the days and people that it left out.

    A text alone changes neither; other days or people replace the stored ones.
    """
    line = parsed_line(text)
    unlinked = [actor for actor in stored.actors if not is_linkable(actor)]
    actors = (*line.actors, *unlinked) if line.actors else stored.actors
    return str(MemoryLine(line.action, line.days or stored.days, tuple(actors)))


def actors_of(line: MemoryLine, stored: Sequence[str]) -> tuple[str, ...]:
    """Return the people of an edited line, with those that cannot be linked."""
    unlinked = [actor for actor in stored if not is_linkable(actor)]
    return tuple(dict.fromkeys((*line.actors, *unlinked))) if line.actors else tuple(stored)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True

"""A page with one entry: knowledge, a person, a day of the diary, a note.

Its front matter has the entry's name; other properties belong to the page's owner.
"""

import json
import re

from nacre.being.memory.mirror.memory_line import plain
from nacre.core.lazy_dataclasses import dataclass

_PROPERTY = re.compile(r"^nacre:[ \t]*(.*?)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class EntryPage:
    """A page: its front matter with its marks, and its text."""

    head: str
    text: str

    @property
    def name(self) -> str | None:
        """Return the name in the front matter, such as `knowledge/Roses`."""
        match = _PROPERTY.search(self.head)
        if match is None:
            return None
        try:
            value = json.loads(match[1])
        except ValueError:
            value = match[1].strip("'\"")
        return value if isinstance(value, str) else None

    def named(self, name: str) -> "EntryPage":
        """Return the page with this name in its front matter."""
        if self.name == name:
            return self
        line = f"nacre: {json.dumps(name, ensure_ascii=False)}"
        if not self.head:
            return EntryPage(f"---\n{line}\n---\n", self.text)
        if _PROPERTY.search(self.head):
            return EntryPage(_PROPERTY.sub(lambda _: line, self.head, count=1), self.text)
        first, _, rest = self.head.partition("\n")
        return EntryPage(f"{first}\n{line}\n{rest}", self.text)

    def with_text(self, text: str) -> "EntryPage":
        """Return the page with another text."""
        return self if text == self.text else EntryPage(self.head, text)

    def __str__(self) -> str:
        """Return the content of the page."""
        return f"{self.head}{self.text}\n"


def parsed_entry(content: str) -> EntryPage:
    """Return the parts of a page."""
    if content.startswith("---\n"):
        end = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|$)", re.MULTILINE).search(content, 4)
        if end is not None:
            return EntryPage(content[: end.end()], plain(content[end.end() :]))
    return EntryPage("", plain(content))

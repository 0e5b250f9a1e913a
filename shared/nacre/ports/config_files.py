"""Other programs' configuration files, and what this one remembers of its changes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

Change = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class WrapRecord:
    """One server's entry as it was, and as it was left.

    `old` and `new` are the texts of the one place that differs, `before` is the old entry's
    value as JSON. All of them may hold keys.
    """

    client: str
    file: str
    path: tuple[str, ...]
    old: str = field(repr=False)
    new: str = field(repr=False)
    before: str = field(repr=False)
    at: str


class ConfigFiles(Protocol):
    """Files that belong to other programs, which may write them at any moment."""

    def find(self, patterns: Sequence[str]) -> list[str]:
        """Return the files that there are, without links, each once and in the order given."""
        ...

    def read(self, file: str) -> str:
        """Return a file's text; ConfigurationError for what cannot be a configuration."""
        ...

    def change(self, file: str, change: Change) -> bool:
        """Replace a file's text by what `change` makes of it, whole or not at all.

        `change` is asked anew when somebody else wrote the file meanwhile; with None it stays.
        Tells whether it was written. ConflictError when the file does not come to rest,
        UnavailableError when it cannot be written, ConfigurationError when it must not be.
        """
        ...


class WrapRecords(Protocol):
    """What was changed in which file."""

    def get(self, file: str, path: tuple[str, ...]) -> WrapRecord | None:
        """Return the record of one entry; None where there is none."""
        ...

    def put(self, record: WrapRecord) -> None:
        """Keep a record, in place of the entry's earlier one."""
        ...

    def drop(self, file: str, path: tuple[str, ...]) -> None:
        """Forget an entry's record; it need not be there."""
        ...

    def all(self) -> Iterator[WrapRecord]:
        """Yield every record that can be read."""
        ...

"""Other programs' configuration files, and records of our changes to them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from nacre.core.lazy_dataclasses import dataclass, field

Change = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class WrapRecord:
    """One server's entry as it was, and as it was left.

    `old` and `new` are the texts of the one place that differs, `before` is the old entry's
    value as JSON. All of them may hold keys. Nacre's own entry has no old text.
    """

    client: str
    file: str
    path: tuple[str, ...]
    old: str = field(repr=False)
    new: str = field(repr=False)
    before: str = field(repr=False)
    at: str


class ConfigFiles(Protocol):
    """Configuration files of other programs, which may write them at any time."""

    def find(self, patterns: Sequence[str]) -> list[str]:
        """Return the files that exist, without links, each once and in the given order."""
        ...

    def read(self, file: str) -> str:
        """Return a file's text; raise ConfigurationError if it cannot be a configuration."""
        ...

    def change(self, file: str, change: Change) -> bool:
        """Replace a file's text with the result of `change`, atomically.

        `change` is called again if somebody else has written the file since; None keeps the file.
        Returns whether it was written. Raises ConflictError if the file keeps changing,
        UnavailableError if it cannot be written, ConfigurationError if it must not be.
        """
        ...

    def create(self, file: str, text: str) -> None:
        """Write a new file, with the folders that lead to it.

        Raises ConflictError if it exists by now, UnavailableError if it cannot be written.
        """
        ...

    def delete(self, file: str, text: str) -> None:
        """Delete a file that still has this text; raise ConflictError if it has another."""
        ...

    def has_folder(self, folder: str) -> bool:
        """Return whether a folder exists."""
        ...


class WrapRecords(Protocol):
    """A changed file, and its change."""

    def get(self, file: str, path: tuple[str, ...]) -> WrapRecord | None:
        """Return the record of one entry, or None."""
        ...

    def put(self, record: WrapRecord) -> None:
        """Store a record; it replaces the entry's earlier one."""
        ...

    def drop(self, file: str, path: tuple[str, ...]) -> None:
        """Remove an entry's record, if there is one."""
        ...

    def all(self) -> Iterator[WrapRecord]:
        """Yield every record that can be read."""
        ...

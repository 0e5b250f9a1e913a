"""The remains of erased texts in the files and tables of a store."""

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from nacre.core.lazy_dataclasses import dataclass

_PARTITION = re.compile(r"B#([0-9a-f-]{36})(?:#|$)")


@dataclass(frozen=True, slots=True)
class Trace:
    """A place where something was found; it does not say what.

    `being_id` is whose it is, where that can be told.
    """

    place: str
    being_id: str | None = None


class Residue(Protocol):
    """Searches all data of a store, of all owners.

    It reads every row of every table, so it is for proofs and not for daily use. A store
    that cannot answer raises UnavailableError.
    """

    def find(self, needles: Sequence[str]) -> Iterator[Trace]:
        """Yield every place that contains one of these texts, in any attribute."""
        ...

    def drop_jobs(self, being_id: str) -> None:
        """Remove the waiting jobs of a Being, where a queue allows that."""
        ...

    def settle(self) -> None:
        """Overwrite the remains of deleted rows in the store's files, if it has any."""
        ...


def owner_of(partition: str) -> str | None:
    """Return the Being whose partition this is."""
    match = _PARTITION.match(partition)
    return None if match is None else match[1]

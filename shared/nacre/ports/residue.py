"""What is left of something erased, wherever a store keeps anything."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

_PARTITION = re.compile(r"B#([0-9a-f-]{36})(?:#|$)")


@dataclass(frozen=True, slots=True)
class Trace:
    """A place where something was found; it does not say what.

    `being_id` is whose it is, where that can be told.
    """

    place: str
    being_id: str | None = None


class Residue(Protocol):
    """Looks through everything that a store holds, whoever it belongs to.

    It reads every row of every table, so it is for proofs and not for every day. A store
    that cannot answer raises UnavailableError.
    """

    def find(self, needles: Sequence[str]) -> Iterator[Trace]:
        """Give every place that holds one of these texts, in whatever attribute."""
        ...

    def drop_jobs(self, being_id: str) -> None:
        """Remove the jobs of a Being that nobody has taken, where a queue allows that."""
        ...

    def settle(self) -> None:
        """Overwrite what deleted rows left in files, where the store has files of its own."""
        ...


def owner_of(partition: str) -> str | None:
    """Return the Being whose partition this is."""
    found = _PARTITION.match(partition)
    return None if found is None else found[1]

"""The record of changes of memories, from which a past state is put together."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from nacre.core.errors import InvalidInputError
from nacre.ports.items.table import Item


class NotRecordedError(InvalidInputError):
    """The state of a memory at this time was not recorded, or is no longer."""

    def __init__(self, since: datetime | None) -> None:
        if since is None:
            reason = "no change of this memory was recorded yet; the record begins with the next"
        else:
            first = since.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            reason = f"changes of this memory before {first} are not recorded; give a later time"
        super().__init__(reason)
        self.since = since


class MemoryChanges(Protocol):
    """Keeps the past states of all items that a recall reads; the item store adds to it.

    An erased memory is erased from the record in the same transaction.
    """

    def items_at(self, being_id: str, time: datetime) -> list[Item]:
        """Return the items that a recall reads, as they were; raise NotRecordedError."""
        ...

    def scrub(self, being_id: str, needles: Sequence[str]) -> None:
        """Remove recorded changes that contain one of these ids or texts."""
        ...

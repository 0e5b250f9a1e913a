"""Where the audit goes: lines in chains, each chain of one writer, with its head kept apart."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

GENESIS = "0" * 64


class Head(NamedTuple):
    """The last record of a writer's chain: its number from 1, and its hash."""

    writer: str
    sequence: int
    hash: str


@dataclass(frozen=True, slots=True)
class Chain:
    """All that is kept of one writer: its lines in order, and the heads that were noted apart.

    `may_begin_late`: the oldest records have expired, as they should.
    """

    writer: str
    lines: Iterable[bytes]
    heads: tuple[Head, ...]
    may_begin_late: bool = False


class AuditLog(Protocol):
    """Takes the records of one writer: one process, or one execution environment."""

    def open(self) -> Head:
        """Return the head that the next record follows, of a chain that is ours alone.

        Called before the first record, and again after an append that failed. Raises
        UnavailableError when nothing can be written.
        """
        ...

    def append(self, line: bytes, *, before: Head, after: Head, at: str) -> None:
        """Keep one record, which moves the head; raises UnavailableError when it is not kept."""
        ...

    def close(self) -> None:
        """Let the chain go, so that another process may continue it."""
        ...


class AuditRecords(Protocol):
    """Reads what was kept, of every writer."""

    def chains(self) -> Iterator[Chain]:
        """Return the chains, also those of which only a head is left."""
        ...

    def newest(self, before: str = "") -> Iterator[bytes]:
        """Yield the lines of all chains, the newest first: before this moment, or all."""
        ...

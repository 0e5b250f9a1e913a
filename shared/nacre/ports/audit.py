"""The audit: lines in chains, each written by one writer, with its head stored apart."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from nacre.core.lazy_dataclasses import dataclass

GENESIS = "0" * 64


class Head(NamedTuple):
    """The last record of a writer's chain: its number from 1, and its hash."""

    writer: str
    sequence: int
    hash: str


@dataclass(frozen=True, slots=True)
class Chain:
    """The stored records of one writer: its lines in order, and the heads that were noted apart.

    `may_begin_late`: the oldest records have expired, as they should.
    """

    writer: str
    lines: Iterable[bytes]
    heads: tuple[Head, ...]
    may_begin_late: bool = False


class AuditLog(Protocol):
    """Takes the records of one writer: one process, or one execution environment."""

    def open(self) -> Head:
        """Return the head that the next record follows; no other process writes this chain.

        Called before the first record, and again after an append that failed. Raises
        UnavailableError when nothing can be written.
        """
        ...

    def append(self, line: bytes, *, before: Head, after: Head, at: str) -> None:
        """Store one record and move the head; raises UnavailableError if it was not stored."""
        ...

    def close(self) -> None:
        """Release the chain, so that another process may continue it."""
        ...


class AuditRecords(Protocol):
    """Reads the records of every writer."""

    def chains(self) -> Iterator[Chain]:
        """Return all chains, including those of which only the head is left."""
        ...

    def newest(self, before: str = "") -> Iterator[bytes]:
        """Yield the lines of all chains, newest first: those before this moment, or all."""
        ...

    def record(self, writer: str, sequence: int) -> bytes | None:
        """Return the line of one record, or None if there is none of this writer and number."""
        ...

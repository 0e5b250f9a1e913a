"""The vector index: which of a Being's memories are nearest to a question."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from nacre.core.lazy_dataclasses import dataclass, field
from nacre.ports.items.table import Write
from nacre.ports.vectors.embedder import Vector

Kind = Literal["node", "scene"]

is_day = re.compile(r"\d{4}-\d{2}-\d{2}").fullmatch
"""Whether a text has the form of an ISO date, such as 2026-07-28."""


@dataclass(frozen=True, slots=True)
class Point:
    """One memory as an index holds it; everything in it can be rebuilt from the items."""

    id: str
    kind: Kind
    state: str  # a node's or a scene's status, such as "active" or "pending"
    cluster_id: str | None
    days: tuple[str, ...]  # ISO dates, as in 2026-07-28
    vector: Vector | None  # None: found by its words only
    terms: tuple[str, ...]  # with repetitions
    text_sha: str  # a digest of the text and all else the point says: another one is out of date
    summary: str | None = None
    """The fields that a search ranks the memory by, as text in the form of the memory."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The conditions on points; a condition that is not set lets every point pass."""

    kinds: frozenset[Kind] | None = None
    states: frozenset[str] | None = None
    cluster_id: str | None = None
    day_from: str | None = None  # ISO dates, both inclusive: one of the point's days must fit
    day_to: str | None = None

    def __post_init__(self) -> None:
        for day in (self.day_from, self.day_to):
            if day is not None and not is_day(day):
                raise ValueError(f"{day!r} is not an ISO date such as 2026-07-28")


@dataclass(frozen=True, slots=True)
class Question:
    """A search by a vector and by terms, for up to `limit` hits each.

    No vector and no terms leave their list empty. A term that is repeated counts once.
    """

    dense: Vector | None
    sparse: Sequence[str]
    where: Filter
    limit: int


class Hit(NamedTuple):
    """A point that was found, and how well it fits: more is better."""

    id: str
    kind: Kind
    score: float
    days: tuple[str, ...] = ()
    cluster_id: str | None = None


Summaries = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns the summaries of some points by id, without those that an index does not have.

It may be called once the search is over, and raises UnavailableError if the store cannot answer.
"""


def no_summaries(_ids: Sequence[str]) -> Mapping[str, str]:
    """Return the summaries of an index that keeps none."""
    return {}


@dataclass(frozen=True, slots=True)
class Candidates:
    """The best by meaning and the best by words, each best first.

    Dense scores are cosines. Sparse scores are BM25's, always above 0, and compare within
    one answer only. `rarity` says how rare each term of the question is: the factor of BM25
    that makes rare terms count more, largest for a term that no point has. It is empty if no
    point was found by its terms. `summaries` returns those of the points that were found.
    """

    dense: tuple[Hit, ...]
    sparse: tuple[Hit, ...]
    truncated: bool = False  # the store looked at its newest points only
    rarity: Mapping[str, float] = field(default_factory=dict)
    summaries: Summaries = field(default=no_summaries, compare=False)


@dataclass(frozen=True, slots=True)
class Listing:
    """Points in order of time, without scores."""

    hits: tuple[Hit, ...]
    truncated: bool = False  # the store did not look at all of its points


class VectorIndex(Protocol):
    """The points of one embedding, `emb_id`; no Being ever sees another's.

    A point that was upserted is found by the next search of any process. Scores are rounded
    to six decimals and hits of one score stand in the order of their ids. A store that
    cannot answer raises UnavailableError within seconds. Any number of threads may call.
    """

    emb_id: str
    is_derived: bool
    """False if the index reads the vector items themselves, so that writing those is enough."""
    is_told_in_transaction: bool
    """Whether `changes` is enough for a search to find what a transaction has written."""

    def changes(self, being_id: str, ids: Sequence[str]) -> list[Write]:
        """Return the writes, at most one, of the transaction that changes the items of points.

        An index that is told in transactions needs no `upsert` and no `delete` afterwards. These
        are for points that were changed without it.
        """
        ...

    def settle(self, being_id: str, *, more_follow: bool = False) -> None:
        """Do what may follow after changes: nothing depends on it but the cost of later calls.

        `more_follow` says that the caller changes many more points at once.
        """
        ...

    def upsert(self, being_id: str, points: Sequence[Point]) -> None:
        """Write points, replacing those with the same ids.

        Raises InvalidInputError for a vector of another length than the index has.
        """
        ...

    def delete(self, being_id: str, ids: Sequence[str]) -> None:
        """Remove points; ids that are not there do no harm."""
        ...

    def search(self, being_id: str, question: Question) -> Candidates:
        """Return up to `limit` hits for the vector and as many for the terms."""
        ...

    def list_days(self, being_id: str, where: Filter, *, limit: int) -> Listing:
        """Return the first `limit` points that pass the filter, in order of time.

        The day of a point is its first day within the filter; points of one day are in the order
        of their ids. The listing is truncated if more points pass.
        """
        ...

    def scan(self, being_id: str, *, after: str | None, limit: int) -> list[tuple[str, str]]:
        """Return the next points as (id, text_sha), in an order of the store's own.

        `after` is the last id of the answer before; an empty answer is the end.
        """
        ...

    def erase(self, being_id: str) -> None:
        """Remove all points of a Being."""
        ...


class HeldPoints(Protocol):
    """The points of one Being as they were, with the changes that its holder tells."""

    def upsert(self, points: Sequence[Point]) -> None:
        """Add points, replacing those with the same ids."""
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Remove points; ids that are not there do no harm."""
        ...

    def search(self, question: Question) -> Candidates:
        """Return up to `limit` hits for the vector and as many for the terms."""
        ...


@runtime_checkable
class HoldsPoints(Protocol):
    """An index that reads all points for each search, unless somebody holds them."""

    def hold(self, being_id: str) -> HeldPoints:
        """Return the points of a Being for work that searches them many times."""
        ...


def dimension_of(emb_id: str) -> int:
    """Return how long an embedding's vectors are; 0 for one without vectors.

    An `emb_id` reads "provider:model:dimension:prefix-version".
    """
    parts = emb_id.rsplit(":", 2)
    return int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() else 0

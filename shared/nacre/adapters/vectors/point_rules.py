"""Rules that all vector indexes share: checks of arguments, and numbers for terms and days."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

from nacre.core.errors import InvalidInputError
from nacre.ports.vectors.embedder import Vector
from nacre.ports.vectors.vector_index import Filter, Hit, Point, Question, is_day

VALUE_BYTES = 4  # a float32
_CACHED_TERMS = 20_000  # a few megabytes: the words that a Being uses


def check_names(*names: str) -> None:
    """Raise InvalidInputError if an id is empty or cannot be stored as text."""
    for name in names:
        if not name:
            raise InvalidInputError("a Being's or a point's id must not be empty")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InvalidInputError("a Being's or a point's id must be text in Unicode") from None


def check_points(being_id: str, points: Sequence[Point], dimension: int) -> None:
    """Raise InvalidInputError if an index of this dimension cannot store the points."""
    check_names(being_id, *(point.id for point in points))
    for point in points:
        if point.vector is not None:
            check_vector(point.vector, dimension)
        for day in point.days:
            if not is_day(day):
                raise InvalidInputError(f"{day[:40]!r} is not an ISO date such as 2026-07-28")


def check_vector(vector: Vector, dimension: int) -> None:
    """Raise InvalidInputError for a vector of another length, which is from another model."""
    if len(vector) != dimension * VALUE_BYTES:
        raise InvalidInputError(
            f"a vector of {len(vector) // VALUE_BYTES} numbers does not belong to an index of"
            f" {dimension}; run 'nacre reindex' after changing the embedding model"
        )


def check_question(being_id: str, question: Question, dimension: int) -> None:
    """Raise InvalidInputError for a search that no index can answer."""
    check_names(being_id)
    if question.limit < 1:
        raise InvalidInputError("a search asks for at least one hit")
    if question.dense is not None:
        check_vector(question.dense, dimension)


def day_number(day: str) -> int:
    """Return an ISO date as a number with the same order."""
    return int(day.replace("-", ""))


def in_order_of_time(hits: Iterable[Hit], where: Filter) -> list[Hit]:
    """Return hits in the order of their first day within the filter, then of their ids."""
    low, high = where.day_from or "", where.day_to or "9999-12-31"

    def place(hit: Hit) -> tuple[str, str]:
        return min((day for day in hit.days if low <= day <= high), default="9999-12-31"), hit.id

    return sorted(hits, key=place)


def iso_day(number: int) -> str:
    """Return the ISO date of a number."""
    digits = f"{number:08}"
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"


@lru_cache(_CACHED_TERMS)
def term_hash(term: str) -> int:
    """Return a 64-bit hash of a term; among a million terms a collision is very unlikely."""
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little")


def term_counts(terms: Iterable[str], *, bits: int = 64) -> dict[int, int]:
    """Return the number of times that each term occurs, by a part of its hash.

    Terms with the same `bits` bits are counted as one.
    """
    mask = (1 << bits) - 1
    counts: dict[int, int] = {}
    for term, count in Counter(terms).items():
        number = term_hash(term) & mask
        counts[number] = counts.get(number, 0) + count
    return counts

"""Terms as numbers that are the same in every process and version."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

_REMEMBERED = 20_000  # a few megabytes: the words that a Being uses


@lru_cache(_REMEMBERED)
def term_hash(term: str) -> int:
    """Return 64 bits of a term; two of a million terms share them once in 37 million tries."""
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little")


def term_counts(terms: Iterable[str], *, bits: int = 64) -> dict[int, int]:
    """Return how often each term occurs, by so many bits of its hash.

    Terms that share those bits are counted as one.
    """
    mask = (1 << bits) - 1
    counts: dict[int, int] = {}
    for term, count in Counter(terms).items():
        number = term_hash(term) & mask
        counts[number] = counts.get(number, 0) + count
    return counts

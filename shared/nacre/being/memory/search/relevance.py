"""Rules that tell hits that relate to their query from those that are only the best there is."""

WEAK_COVERAGE = 0.5
"""A hit with less of the query's words, by their rarity, and a low cosine is a weak one."""


def is_weak(dense: float | None, coverage: float, floor: float) -> bool:
    """Return whether neither the cosine nor the words show that a hit relates to its query.

    `floor` is the cosine above which unrelated texts rarely are.
    """
    return (dense is None or dense < floor) and coverage < WEAK_COVERAGE

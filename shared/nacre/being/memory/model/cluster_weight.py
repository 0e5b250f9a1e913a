"""The weight of a cluster: how much its subject matters now, beside other clusters."""

import math
from collections.abc import Iterable
from datetime import date

from nacre.being.memory.model.types import Node

_HALF_LIFE = 60  # days after which a memory counts half
_STEPS = 1000  # steps of a weight for each doubling
_LEAST = 0.01  # a memory without importance counts a little too


def cluster_weight(members: Iterable[Node]) -> int:
    """Return the weight of a cluster with these members: important and new ones add most.

    It is the logarithm of the sum of squared importances, each doubled for every 60 days by which
    a memory is newer. So weights of clusters that were computed on different days can be compared.
    """
    marks = [
        2 * math.log2(node.importance + _LEAST) + _day(node.noted_at) / _HALF_LIFE
        for node in members
    ]
    if not marks:
        return 0
    highest = max(marks)
    total = highest + math.log2(math.fsum(math.exp2(mark - highest) for mark in marks))
    return max(0, round(total * _STEPS))


def _day(moment: str) -> int:
    return date.fromisoformat(moment[:10]).toordinal()

"""How a memory fades: the curve since it was last strengthened, and what is to come."""

from dataclasses import dataclass

from nacre.being.memory.model.forgetting_curve import (
    DEAD_BELOW,
    DYING_BELOW,
    clock_below,
    retention,
)
from nacre.being.memory.model.types import UNDONE, Node

_POINTS = 64


@dataclass(frozen=True, slots=True)
class Fading:
    """A curve over a Being's active days; each point is a day and what is left, 1 to 0."""

    past: tuple[tuple[float, float], ...]
    coming: tuple[tuple[float, float], ...]
    now: int
    left: float  # at `now`
    fades: int  # the day below which it is dying, and the one on which it is forgotten
    dies: int

    @property
    def first(self) -> float:
        """Return the day on which the curve begins."""
        return self.past[0][0]

    @property
    def last(self) -> float:
        """Return the day on which it ends."""
        return self.coming[-1][0]


def fading(node: Node, clock: int) -> Fading | None:
    """Return the curve of a memory that lives; a pinned one stays as it is, and has none."""
    if not node.is_living or node.pinned or node.reason == UNDONE or node.stability <= 0:
        return None
    now = max(clock, node.clock0)
    fades = clock_below(node.clock0, node.stability, DYING_BELOW)
    dies = clock_below(node.clock0, node.stability, DEAD_BELOW)
    end = max(dies, now) + max(2, (max(dies, now) - node.clock0) // 8)
    return Fading(
        past=_curve(node, node.clock0, now),
        coming=_curve(node, now, end),
        now=now,
        left=retention(now - node.clock0, node.stability),
        fades=fades,
        dies=dies,
    )


def _curve(node: Node, first: int, last: int) -> tuple[tuple[float, float], ...]:
    steps = min(_POINTS, max(1, last - first))
    days = [first + (last - first) * step / steps for step in range(steps + 1)]
    # Between whole days the same law holds.
    return tuple((day, _left(day - node.clock0, node.stability)) for day in days)


def _left(elapsed: float, stability: float) -> float:
    below, share = int(elapsed), elapsed - int(elapsed)
    one, two = retention(below, stability), retention(below + 1, stability)
    return one + (two - one) * share

"""The forgetting curve of a memory, since it was last strengthened and into the future."""

from nacre.being.memory.model.forgetting_curve import (
    DEAD_BELOW,
    DYING_BELOW,
    clock_below,
    retention,
)
from nacre.being.memory.model.types import UNDONE, Node
from nacre.core.lazy_dataclasses import dataclass

_POINTS = 64


@dataclass(frozen=True, slots=True)
class Fading:
    """A curve over a Being's active days; each point is a day and the retention, 1 to 0."""

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
        """Return the day on which the curve ends."""
        return self.coming[-1][0]


def fading(node: Node, clock: int) -> Fading | None:
    """Return the curve of a living memory; None for a pinned one, which does not fade."""
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
    # Between whole days the curve is linear.
    return tuple((day, _retained(day - node.clock0, node.stability)) for day in days)


def _retained(elapsed: float, stability: float) -> float:
    below, share = int(elapsed), elapsed - int(elapsed)
    before, after = retention(below, stability), retention(below + 1, stability)
    return before + (after - before) * share

"""The curve of a fading memory as lines in a picture, 640 wide and 220 high."""

from collections.abc import Sequence

from nacre.being.memory.model.forgetting_curve import DEAD_BELOW, DYING_BELOW
from nacre.console.memories.strength import Fading
from nacre.core.lazy_dataclasses import dataclass

WIDTH, HEIGHT = 640, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 626.0, 12.0, 184.0
_LOWEST = 0.4  # the value at the lower edge; below a half everything is forgotten


@dataclass(frozen=True, slots=True)
class Plot:
    """Lines as SVG paths, and the positions of marks and labels."""

    past: str
    coming: str
    now: tuple[float, float]
    fades_at: float
    dies_at: float
    fades_on: float | None  # `*_at` are heights of limits, `*_on` are days within the picture
    dies_on: float | None
    levels: tuple[tuple[float, str], ...]
    days: tuple[tuple[float, str], ...]


def plotted(fading: Fading) -> Plot:
    """Return the curve as it is drawn."""

    def across(day: float) -> float:
        share = (day - fading.first) / (fading.last - fading.first)
        return round(_LEFT + share * (_RIGHT - _LEFT), 1)

    def line(points: Sequence[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{across(day):g} {_height(retained):g}" for day, retained in points)

    return Plot(
        past=line(fading.past),
        coming=line(fading.coming),
        now=(across(fading.now), _height(fading.left)),
        fades_at=_height(DYING_BELOW),
        dies_at=_height(DEAD_BELOW),
        fades_on=across(fading.fades) if fading.now < fading.fades else None,
        dies_on=across(fading.dies) if fading.now < fading.dies else None,
        levels=tuple((_height(level / 100), f"{level} %") for level in (40, 60, 80, 100)),
        days=tuple((across(day), str(day)) for day in _days(fading)),
    )


def _days(fading: Fading) -> list[int]:
    """Return a few days at even, round intervals."""
    span = fading.last - fading.first
    step = next(days for days in _STEPS if span / days <= 7)
    first = int(-(-fading.first // step) * step)
    return list(range(first, int(fading.last) + 1, step))


_STEPS = tuple(unit * 10**power for power in range(7) for unit in (1, 2, 5))


def _height(retained: float) -> float:
    share = (max(_LOWEST, retained) - _LOWEST) / (1 - _LOWEST)
    return round(_BOTTOM - share * (_BOTTOM - _TOP), 1)

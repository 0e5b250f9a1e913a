"""The names of the groups on the map, each where it hides neither another name nor a group."""

from collections.abc import Iterator
from typing import NamedTuple
from unicodedata import east_asian_width

from nacre.console.map.chart import Chart, Island

_NAMED = 60  # of the largest groups; more names would fill the map
_LONGEST_NAME = 28
_LETTER = 0.6  # the width of a letter, relative to the font size
_WIDE_LETTER = 1.05  # of a Chinese or Japanese character
_LINE = 1.15  # the distance of two lines, relative to the font size
_SMALLER = 0.8


class Caption(NamedTuple):
    """A text on the map, with its centre and base line."""

    text: str
    x: float
    y: float
    size: float

    def overlaps(self, caption: "Caption") -> bool:
        """Tell whether two texts overlap."""
        height = max(self.size, caption.size) * _LINE
        return (
            abs(self.x - caption.x) < self.half + caption.half and abs(self.y - caption.y) < height
        )

    def covers(self, island: Island) -> bool:
        """Tell whether the text lies over a group."""
        middle = self.y - self.size * 0.3
        across = max(0.0, abs(island.x - self.x) - self.half)
        down = max(0.0, abs(island.y - middle) - self.size * 0.5)
        return across**2 + down**2 < island.radius**2

    @property
    def half(self) -> float:
        """Return half the width of the text."""
        letters = sum(
            _WIDE_LETTER if east_asian_width(letter) in "WF" else _LETTER for letter in self.text
        )
        return letters * self.size / 2


def captions(drawing: Chart) -> list[Caption]:
    """Return a name for each of the largest groups: the longest form for which there is room.

    A group without room for any form has its number alone.
    """
    size = round(drawing.width / 62, 1)
    placed: list[Caption] = []
    for island in drawing.islands[:_NAMED]:
        near = _level(drawing, island, size)
        clear = (
            caption
            for caption in _choices(drawing, island, size)
            if not any(map(caption.overlaps, placed)) and not any(map(caption.covers, near))
        )
        numbers = _spots(drawing, island, str(island.number), size)
        beside = (caption for caption in numbers if not any(map(caption.overlaps, placed)))
        placed.append(next(clear, None) or next(beside, numbers[0]))
    return placed


def _choices(drawing: Chart, island: Island, size: float) -> Iterator[Caption]:
    """Yield every place for every form of a name, the best first."""
    forms = _forms(island.label)
    for height in (size, round(size * _SMALLER, 1)):
        for form in forms:
            yield from _spots(drawing, island, f"{island.number} {form}", height)
    yield from _spots(drawing, island, str(island.number), size)


def _forms(label: str) -> list[str]:
    """Return a name and its shorter forms, which have fewer of its phrases."""
    phrases = label.split(", ")
    whole = [", ".join(phrases[:count]) for count in range(len(phrases), 0, -1)]
    forms = (
        form if len(form) <= _LONGEST_NAME else f"{form[: _LONGEST_NAME - 1].rstrip()}…"
        for form in whole
    )
    return list(dict.fromkeys(forms))


def _level(drawing: Chart, island: Island, size: float) -> list[Island]:
    """Return the groups that a text beside this one could overlap."""
    return [
        neighbour
        for neighbour in drawing.islands
        if abs(neighbour.y - island.y) < neighbour.radius + island.radius + 2 * size
    ]


def _spots(drawing: Chart, island: Island, text: str, size: float) -> list[Caption]:
    """Return the places of a text within the map: above, below, beside, and at the corners."""
    half = Caption(text, 0.0, 0.0, size).half
    aside, level = island.radius + size * 0.4 + half, island.y + size * 0.3
    above, below = island.y - island.radius - size * 0.4, island.y + island.radius + size
    corner = island.radius * 0.6 + half
    spots = (
        (island.x, above),
        (island.x, below),
        (island.x + aside, level),
        (island.x - aside, level),
        (island.x + corner, above),
        (island.x - corner, above),
        (island.x + corner, below),
        (island.x - corner, below),
    )
    # With a margin, because places are rounded.
    low, high = drawing.left + half + 0.1, drawing.left + drawing.width - half - 0.1
    top, bottom = drawing.top + size, drawing.top + drawing.height - size * 0.3
    return [
        Caption(text, round(min(max(x, low), high), 1), round(min(max(y, top), bottom), 1), size)
        for x, y in spots
    ]

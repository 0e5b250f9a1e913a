"""Finds the expressions of time in a query by the rules, which all languages share."""

from collections.abc import Iterator, Sequence
from typing import Any

from nacre.core.lazy_dataclasses import dataclass
from nacre.text.time_expressions.days import Days
from nacre.text.time_expressions.moment import Moment
from nacre.text.time_expressions.rules import RULES, SILENT, TIME, Item
from nacre.text.time_expressions.tokens import Token


@dataclass(frozen=True, slots=True)
class Match:
    """The days that the tokens from `start` to `end` mean."""

    start: int
    end: int
    days: Days


class Grammar:
    """Finds the expressions of time in tokens, counted from a moment."""

    def __init__(self, tokens: Sequence[Token], moment: Moment, *, spaced: bool) -> None:
        self._tokens = tokens
        self._moment = moment
        self._spaced = spaced
        self._readings: dict[tuple[str, int], list[tuple[int, Any]]] = {}

    def matches(self) -> Iterator[Match]:
        """Yield the longest expression at each place, from left to right, without overlaps."""
        place = 0
        while place < len(self._tokens):
            match = self._longest(place) if self._tokens[place].kinds else None
            if match is None:
                place += 1
            else:
                yield match
                place = match.end

    def _longest(self, place: int) -> Match | None:
        best: Match | None = None
        for end, days in self._symbol(TIME, place):
            if best is None or end > best.end:
                best = Match(place, end, days)
        return best

    def _symbol(self, name: str, place: int) -> list[tuple[int, Any]]:
        readings = self._readings.get((name, place))
        if readings is None:
            readings = self._readings[name, place] = list(self._read(name, place))
        return readings

    def _read(self, name: str, place: int) -> Iterator[tuple[int, Any]]:
        for items, action in RULES[name]:
            for end, values in self._sequence(items, place, ()):
                try:
                    value = action(self._moment, *values)
                except (ValueError, OverflowError):  # the calendar has no such day
                    continue
                yield end, value

    def _sequence(
        self, items: Sequence[Item], place: int, values: tuple[Any, ...]
    ) -> Iterator[tuple[int, tuple[Any, ...]]]:
        if not items:
            yield place, values
            return
        first, *rest = items
        for kind in first.kinds:
            for end, value in self._kind(kind, place):
                more = values if kind in SILENT else (*values, value)
                yield from self._sequence(rest, end, more)
        if first.is_optional:
            yield from self._sequence(rest, place, values)

    def _kind(self, kind: str, place: int) -> Iterator[tuple[int, Any]]:
        if kind == "EDGE":
            if self._is_edge(place):
                yield place, None
        elif kind == "FREE":
            if self._is_edge(place) or "plain" in self._tokens[place].kinds or not self._spaced:
                yield place, None
        elif kind in RULES:
            yield from self._symbol(kind, place)
        elif place < len(self._tokens) and kind in self._tokens[place].kinds:
            yield place + 1, self._tokens[place].kinds[kind]

    def _is_edge(self, place: int) -> bool:
        """Return whether a clause begins or ends before a token."""
        if place in (0, len(self._tokens)):
            return True
        return not any(char.isalnum() for char in self._tokens[place].text)

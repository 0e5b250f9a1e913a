"""The rules that may decide about one tool, and of those the ones its arguments point to."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from nacre.firewall.rules.arguments.call_values import Values
from nacre.firewall.rules.condition import Condition
from nacre.firewall.rules.globs.prefix_index import PrefixIndex
from nacre.firewall.rules.rule import Surroundings

Conditions = Sequence[tuple[Condition, ...]]
Keys = tuple[str, ...]
_Aspect = tuple[Keys, bool]  # a place of arguments, read as paths or as words

_WORTH_AN_INDEX = 8  # rules with a test at one place; fewer are looked at one by one
_MOST_INDEXES = 4


class Seen:
    """The values of one call, found once for each place that rules ask for."""

    __slots__ = ("_arguments", "_found", "_where")

    def __init__(self, arguments: Mapping[str, Any], where: Surroundings) -> None:
        self._arguments = arguments
        self._where = where
        self._found: dict[Keys, Values] = {}

    def at(self, keys: Keys) -> Values:
        """Return what the call has there."""
        values = self._found.get(keys)
        if values is None:
            values = self._found[keys] = Values(self._arguments, keys, self._where)
        return values


class Candidates:
    """The rules about one tool, in their order, indexed by their paths where it pays.

    `named` are the arguments that rules about paths name.
    """

    __slots__ = ("_always", "_indexes", "has_indexes", "named", "places")

    def __init__(self, places: Sequence[int], conditions: Conditions) -> None:
        self.places = tuple(places)
        self.named = frozenset(
            condition.keys[-1]
            for place in places
            for condition in conditions[place]
            if condition.is_about_paths and condition.keys[-1] != "*"
        )
        indexed = {place: _indexable(conditions[place]) for place in places}
        counts = Counter(aspect for found in indexed.values() for aspect in found)
        chosen = [
            aspect
            for aspect, count in counts.most_common(_MOST_INDEXES)
            if count >= _WORTH_AN_INDEX
        ]
        entries: dict[_Aspect, list[tuple[int, Sequence[str]]]] = {each: [] for each in chosen}
        always = []
        for place in places:
            aspect = next((each for each in chosen if each in indexed[place]), None)
            if aspect is None:
                always.append(place)
            else:
                entries[aspect].append((place, indexed[place][aspect]))
        self._always = tuple(always)
        self._indexes = [(*aspect, PrefixIndex(rows)) for aspect, rows in entries.items() if rows]
        self.has_indexes = bool(self._indexes)

    def pointed_to(self, seen: Seen) -> Sequence[int]:
        """Return the places of the rules that may hold for these arguments, in order."""
        found: set[int] = set()
        for keys, as_place, index in self._indexes:
            for value in seen.at(keys).every:
                read = value.read(as_place=as_place)
                if not read.complete or read.relative:
                    return self.places
                found |= index.find(read.possible)
        if not found:
            return self._always
        found.update(self._always)
        return sorted(found)


def _indexable(conditions: tuple[Condition, ...]) -> dict[_Aspect, Sequence[str]]:
    """Return where the rule can be found by a text, with the globs to find it under."""
    return {
        (condition.keys, condition.as_place): condition.forms
        for condition in conditions
        if condition.has_only_globs and condition.forms
    }

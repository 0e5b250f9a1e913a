"""The values of one call at one place, with their readings, found once."""

from collections.abc import Mapping
from typing import Any

from nacre.firewall.rules.arguments.argument_names import meaning_of
from nacre.firewall.rules.arguments.arguments import (
    JsonNumber,
    is_left_out,
    number,
    reach,
    spellings,
)
from nacre.firewall.rules.arguments.readings import Readings, readings, words
from nacre.firewall.rules.rule import Surroundings


class Value:
    """A scalar of a call; its readings are found when a rule first asks."""

    __slots__ = ("_place", "_word", "is_text", "name", "value", "where")

    def __init__(self, value: Any, where: Surroundings, name: str = "") -> None:
        self.name = name
        self.value = value
        self.where = where
        self.is_text = type(value) is str or (
            isinstance(value, str) and not isinstance(value, JsonNumber)
        )
        self._place: Readings | None = None
        self._word: Readings | None = None

    def read(self, *, as_place: bool) -> Readings:
        """Return what the value may mean: as a path or URL, or as words."""
        if as_place:
            if self._place is None:
                self._place = readings(self.value, self.where) if self.is_text else self._scalar()
            return self._place
        if self._word is None:
            self._word = words(self.value, self.where) if self.is_text else self._scalar()
        return self._word

    def has_unknown_base(self, named: frozenset[str]) -> bool:
        """Tell whether this is a path of which nobody knows where it begins.

        `named` are the arguments that rules about paths name. Other values are paths when
        their name says so, or when they are written like one and their name says nothing.
        """
        if not self.is_text:
            return False
        read = self.read(as_place=True)
        if not read.has_unknown_base:
            return False
        if self.name in named:
            return True
        meaning = meaning_of(self.name)
        return meaning == "path" or (read.has_separator and meaning == "")

    def equals(self, wanted: float, *, exactly: bool) -> bool:
        """Compare with a number or a truth value, which are never equal to each other.

        `exactly` tells whole numbers from others as well: 5 from 5.0.
        """
        if isinstance(wanted, bool) or isinstance(self.value, bool):
            return self.value is wanted
        found = number(self.value)
        return (
            found is not None and found == wanted and (not exactly or type(found) is type(wanted))
        )

    def _scalar(self) -> Readings:
        texts = spellings(self.value)
        return Readings(texts, texts)


class Values:
    """What a call has at one place of its arguments: what an allow takes, and all."""

    __slots__ = ("_arguments", "_keys", "accepted", "every")

    def __init__(
        self, arguments: Mapping[str, Any], keys: tuple[str, ...], where: Surroundings
    ) -> None:
        self._arguments = arguments
        self._keys = keys
        text = arguments.get(keys[0]) if len(keys) == 1 else None
        if type(text) is str:  # as nearly always; what follows would say the same
            self.accepted = self.every = [Value(text, where, keys[0])]
            return
        accepted, every = reach(arguments, keys)
        known = {
            (name, id(value)): Value(value, where, name) for name, value in (*accepted, *every)
        }
        self.accepted = [known[name, id(value)] for name, value in accepted]
        self.every = [known[name, id(value)] for name, value in every]

    @property
    def are_missing(self) -> bool:
        """Whether the call leaves the argument out, or gives null or an empty list for it."""
        return not self.every and is_left_out(self._arguments, self._keys)

    @property
    def are_listed(self) -> bool:
        """Whether the argument is a list."""
        place: Any = self._arguments
        for key in self._keys:
            place = place.get(key) if isinstance(place, Mapping) else None
        return isinstance(place, (list, tuple))

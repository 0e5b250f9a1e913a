"""The values of one call at one place of its arguments, with their readings."""

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
    """A scalar of a call. Its readings are computed when a rule first asks for them."""

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

    def read(self, *, as_path: bool) -> Readings:
        """Return the readings of the value: as a path or URL, or as words."""
        if as_path:
            if self._place is None:
                self._place = readings(self.value, self.where) if self.is_text else self._scalar()
            return self._place
        if self._word is None:
            self._word = words(self.value, self.where) if self.is_text else self._scalar()
        return self._word

    def has_unknown_base(self, named: frozenset[str]) -> bool:
        """Tell whether this is a relative path whose base folder is not known.

        `named` are the arguments that rules about paths name. Other values are paths if
        their name means a path, or if they contain a `/` and their name has no known meaning.
        """
        if not self.is_text:
            return False
        read = self.read(as_path=True)
        if not read.has_unknown_base:
            return False
        if self.name in named:
            return True
        meaning = meaning_of(self.name)
        return meaning == "path" or (read.has_separator and meaning == "")

    def equals(self, expected: float, *, exactly: bool) -> bool:
        """Compare with a number or a truth value; the two are never equal to each other.

        With `exactly`, a whole number does not equal a fraction either: 5 is not 5.0.
        """
        if isinstance(expected, bool) or isinstance(self.value, bool):
            return self.value is expected
        received = number(self.value)
        return (
            received is not None
            and received == expected
            and (not exactly or type(received) is type(expected))
        )

    def _scalar(self) -> Readings:
        texts = spellings(self.value)
        return Readings(texts, texts)


class Values:
    """The values at one place of a call's arguments: those that an allow accepts, and all."""

    __slots__ = ("_arguments", "_keys", "accepted", "every")

    def __init__(
        self, arguments: Mapping[str, Any], keys: tuple[str, ...], where: Surroundings
    ) -> None:
        self._arguments = arguments
        self._keys = keys
        text = arguments.get(keys[0]) if len(keys) == 1 else None
        if type(text) is str:  # the common case; the general code below gives the same result
            self.accepted = self.every = [Value(text, where, keys[0])]
            return
        accepted, every = reach(arguments, keys)
        values = {
            (name, id(value)): Value(value, where, name) for name, value in (*accepted, *every)
        }
        self.accepted = [values[name, id(value)] for name, value in accepted]
        self.every = [values[name, id(value)] for name, value in every]

    @property
    def are_missing(self) -> bool:
        """True if the argument is absent, null or an empty list."""
        return not self.every and is_left_out(self._arguments, self._keys)

    @property
    def are_listed(self) -> bool:
        """True if the argument is a list."""
        place: Any = self._arguments
        for key in self._keys:
            place = place.get(key) if isinstance(place, Mapping) else None
        return isinstance(place, (list, tuple))

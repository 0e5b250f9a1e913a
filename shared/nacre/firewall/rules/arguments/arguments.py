"""The arguments of a call: the values that a rule looks at, and the spellings of scalars."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from nacre.firewall.rules.arguments.argument_names import meaning_of

Named = tuple[str, Any]


class JsonNumber(str):
    """A JSON number as the text that was received.

    Pass it to a JSON parser as `parse_int` and `parse_float`, so that a rule sees
    `1e3` and `1000000000000000000000` as the server will.
    """

    __slots__ = ()


def reach(arguments: Any, keys: tuple[str, ...]) -> tuple[list[Named], list[Named]]:
    """Return the values at a place: those that an allow accepts, and all of them.

    An allow walks through objects only and accepts one value, or each of a list. A deny
    also looks at every value below the place, and through lists on the way to it. The
    first list is empty if there is a value that an allow cannot accept. Each value comes
    with its name.
    """
    places: list[Any] = [arguments]
    name = ""
    straight = True
    for key in keys:
        if key == "*":
            leaves = [leaf for place in places for leaf in leaves_of(place, name)]
            return (leaves if straight else [], leaves)
        name = key
        members = []
        for place in places:
            for holder in holders_of(place):
                straight &= holder is place
                value = holder.get(key)
                if value is not None:
                    members.append(value)
        places = members
    every = [leaf for place in places for leaf in leaves_of(place, name)]
    if not straight or len(places) != 1:
        return [], every
    value = places[0]
    if isinstance(value, (list, tuple)):
        return ([(name, item) for item in value] if all(map(is_scalar, value)) else []), every
    return ([(name, value)] if is_scalar(value) else []), every


def is_left_out(arguments: Any, keys: tuple[str, ...]) -> bool:
    """Tell whether there is nothing at a place: no such name, null, or an empty list."""
    place = arguments
    for key in keys:
        if not isinstance(place, Mapping):
            return False
        place = place.get(key)
        if place is None:
            return True
    return isinstance(place, (list, tuple)) and not place


def holders_of(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the object, or the objects of a list."""
    if isinstance(value, Mapping):
        yield value
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from holders_of(element)


def leaves_of(value: Any, name: str = "") -> Iterator[Named]:
    """Yield every scalar in a value except null, with the name that describes it best.

    That is the nearest key, or the key above it if the nearest one has no known meaning.
    """
    if isinstance(value, Mapping):
        for key, element in value.items():
            yield from leaves_of(element, key if meaning_of(key) or not name else name)
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from leaves_of(element, name)
    elif value is not None:
        yield name, value


def is_scalar(value: Any) -> bool:
    """Tell whether this is a text, a number or a truth value."""
    return isinstance(value, (str, int, float))


def spellings(value: Any) -> tuple[str, ...]:
    """Return the JSON texts of a number or a truth value, the received text first."""
    if isinstance(value, JsonNumber):
        return tuple(dict.fromkeys([str(value), *_canonical(str(value))]))
    if isinstance(value, bool):
        return ("true" if value else "false",)
    try:
        text = json.dumps(value, default=str)
    except ValueError:  # a whole number of more digits than Python writes
        return (hex(value),)
    return tuple(dict.fromkeys([text, *_canonical(text)]))


def number(value: Any) -> int | float | None:
    """Return a value as a number, or None if it is not a number."""
    if isinstance(value, JsonNumber):
        try:
            return float(value) if _is_fraction(value) else int(value)
        except ValueError:  # more digits than Python reads
            return None
    if isinstance(value, bool):
        return None
    return value if isinstance(value, (int, float)) else None


def _is_fraction(text: str) -> bool:
    return "." in text or "e" in text or "E" in text


def _canonical(text: str) -> Iterator[str]:
    if not _is_fraction(text):
        return
    value = float(text)
    yield repr(value)
    if value.is_integer() and abs(value) < 1e21:  # as JavaScript prints it
        yield str(int(value))

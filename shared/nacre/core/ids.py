"""Identifiers, made from a source of chance that the caller gives."""

from datetime import datetime
from random import Random

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_uuid(rng: Random) -> str:
    """Return a random UUID (version 4), in lower case."""
    import uuid  # noqa: PLC0415 - loads `platform`, and few starts make an id

    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def short_id(rng: Random) -> str:
    """Return 16 letters and digits (95 bits), for ids that a person may have to type."""
    return "".join(rng.choices(_DIGITS, k=16))


def long_secret(rng: Random) -> str:
    """Return 43 letters and digits (256 bits), for secrets that must never be guessed."""
    return "".join(rng.choices(_DIGITS, k=43))


def ulid(milliseconds: int, chance: int) -> str:
    """Return the ULID of a moment: 26 letters and digits that sort by time, then by `chance`.

    `chance` is a number of 80 bits.
    """
    number = milliseconds << 80 | chance
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -5, -5))


def ulids(moment: datetime, rng: Random, count: int) -> list[str]:
    """Return so many new ULIDs of one moment, in ascending order."""
    milliseconds = int(moment.timestamp() * 1000)
    first = rng.getrandbits(79)  # the highest bit stays free, so that counting up never overflows
    return [ulid(milliseconds, first + number) for number in range(count)]


def ulid_milliseconds(text: str) -> int | None:
    """Return the moment in a ULID, or None for text that is none."""
    if len(text) != 26 or text[0] > "7" or any(letter not in _CROCKFORD for letter in text):
        return None
    number = 0
    for letter in text[:10]:
        number = number << 5 | _CROCKFORD.index(letter)
    return number

"""Identifiers, made from a source of chance that the caller gives."""

import uuid
from random import Random

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def new_uuid(rng: Random) -> str:
    """Return a random UUID (version 4), in lower case."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def short_id(rng: Random) -> str:
    """Return 16 letters and digits (95 bits), for what a person may have to type."""
    return "".join(rng.choices(_DIGITS, k=16))

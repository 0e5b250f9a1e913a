"""The form of a token: a prefix, 256 random bits and a checksum, 53 characters in all.

The authorizer loads this module on every cold start, so it imports very little.
"""

import hashlib
import zlib

from nacre.core.token_prefixes import CHECKSUM_LENGTH, KINDS, RANDOM_LENGTH

TYPE_CHECKING = False  # importing `typing` would slow the authorizer most of all
if TYPE_CHECKING:
    from random import Random

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ALPHABET = frozenset(_DIGITS)
_PREFIX_LENGTH = 4
LENGTH = _PREFIX_LENGTH + RANDOM_LENGTH + CHECKSUM_LENGTH


def mint(kind: str, rng: "Random") -> str:
    """Return a new token of the kind; `rng` must be a SystemRandom outside tests."""
    if kind not in KINDS:
        raise ValueError(f"unknown kind of token: {kind!r}")
    return form(kind, rng.getrandbits(256))


def form(kind: str, bits: int) -> str:
    """Return the token of a kind that encodes these 256 bits."""
    body = f"{kind}_{_base62(bits, RANDOM_LENGTH)}"
    return body + _checksum(body)


def kind_of(token: str) -> str | None:
    """Return the kind of a well-formed token with a correct checksum, else None."""
    if len(token) != LENGTH or token[3] != "_" or token[:3] not in KINDS:
        return None
    if not _ALPHABET.issuperset(token[_PREFIX_LENGTH:]):
        return None
    body, checksum = token[:-CHECKSUM_LENGTH], token[-CHECKSUM_LENGTH:]
    return token[:3] if _checksum(body) == checksum else None


def digest(token: str) -> str:
    """Return the SHA-256 under which a token or another secret is stored, in hexadecimal."""
    # A header or a form may send text that is not valid Unicode.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def hint(token: str) -> str:
    """Return the prefix and the last four characters, enough to tell tokens apart."""
    return f"{token[:_PREFIX_LENGTH]}…{token[-4:]}"


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))

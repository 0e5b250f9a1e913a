"""The form of a token: a prefix, 256 random bits and a checksum, 53 characters in all.

The authorizer loads this module on every cold start, so it imports next to nothing.
"""

import hashlib
import zlib
from collections.abc import Mapping

TYPE_CHECKING = False  # `typing` itself would be the dearest import of the authorizer
if TYPE_CHECKING:
    from random import Random

API = "brt"
OAUTH_ACCESS = "bto"
OAUTH_REFRESH = "btr"
OAUTH_CODE = "btc"
OWNER_SECRET = "bos"  # noqa: S105  a prefix, not a secret
KINDS: Mapping[str, str] = {
    API: "API token",
    OAUTH_ACCESS: "OAuth access token",
    OAUTH_REFRESH: "OAuth refresh token",
    OAUTH_CODE: "OAuth code",
    OWNER_SECRET: "owner secret",
}

SCANNER_PATTERN = r"\bb(?:to|tr|rt|tc|os)_[0-9A-Za-z]{49}\b"
"""For secret scanners and log filters; `kind_of` then tells real tokens from look-alikes."""

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ALPHABET = frozenset(_DIGITS)
_PREFIX_LENGTH = 4
_RANDOM_LENGTH = 43  # 62**43 > 2**256
_CHECKSUM_LENGTH = 6  # 62**6 > 2**32
LENGTH = _PREFIX_LENGTH + _RANDOM_LENGTH + _CHECKSUM_LENGTH


def mint(kind: str, rng: "Random") -> str:
    """Return a new token of the kind; `rng` must be a SystemRandom outside tests."""
    if kind not in KINDS:
        raise ValueError(f"unknown kind of token: {kind!r}")
    return form(kind, rng.getrandbits(256))


def form(kind: str, bits: int) -> str:
    """Return the token that holds these 256 bits."""
    body = f"{kind}_{_base62(bits, _RANDOM_LENGTH)}"
    return body + _checksum(body)


def kind_of(token: str) -> str | None:
    """Return the kind of a well-formed token whose checksum holds, else None."""
    if len(token) != LENGTH or token[3] != "_" or token[:3] not in KINDS:
        return None
    if not _ALPHABET.issuperset(token[_PREFIX_LENGTH:]):
        return None
    body, checksum = token[:-_CHECKSUM_LENGTH], token[-_CHECKSUM_LENGTH:]
    return token[:3] if _checksum(body) == checksum else None


def digest(token: str) -> str:
    """Return the SHA-256 under which a token is stored, in hexadecimal."""
    return hashlib.sha256(token.encode()).hexdigest()


def hint(token: str) -> str:
    """Return the prefix and the last four characters, enough to tell tokens apart."""
    return f"{token[:_PREFIX_LENGTH]}…{token[-4:]}"


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _CHECKSUM_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))

"""What every vault refuses to seal."""

from collections.abc import Mapping

from nacre.core.errors import BrokenSealError, InvalidInputError
from nacre.core.limits import MAX_SECRET_BYTES


def check_secret(plaintext: bytes, context: Mapping[str, str]) -> None:
    """Refuse a secret that is empty or too large, and a context that names nothing."""
    if not 1 <= len(plaintext) <= MAX_SECRET_BYTES:
        raise InvalidInputError(f"a secret has 1 to {MAX_SECRET_BYTES} bytes")
    if not context or not all(name and value for name, value in context.items()):
        raise InvalidInputError("a secret's context names what it belongs to")


def broken_seal() -> BrokenSealError:
    """Return the error for a sealed value that does not open."""
    return BrokenSealError(
        "a sealed value does not open: it was changed, or sealed for something else or by"
        " another key; set the secret again"
    )

"""Strict base64: one spelling for each content, measured before it is decoded."""

import binascii
import re
from collections.abc import Iterator

from nacre.core.errors import InvalidInputError

_PIECE = 64 * 1024  # characters that are decoded at once; a multiple of four
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")
_WHITE_SPACE = re.compile(r"\s")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def decoded_size(text: str) -> int:
    """Return the size of the content, from the length and the last characters of its base64.

    Raises InvalidInputError if base64 cannot have this length.
    """
    if len(text) % 4:
        raise InvalidInputError(_complaint(text))
    return len(text) // 4 * 3 - _padding(text)


def decoded_pieces(text: str) -> Iterator[bytes]:
    """Yield the content in pieces, so that it is never in memory as a whole.

    Raises InvalidInputError, perhaps after some pieces, unless the text is strict base64 in its
    canonical spelling.
    """
    padding = _padding(text)
    if len(text) % 4 or text.find("=", 0, len(text) - padding) != -1:
        raise InvalidInputError(_complaint(text))
    data = b""
    for start in range(0, len(text), _PIECE):
        try:
            data = binascii.a2b_base64(text[start : start + _PIECE], strict_mode=True)
        except ValueError:
            raise InvalidInputError(_complaint(text)) from None
        yield data
    # The decoder accepts several last characters for the same bytes; only one is canonical.
    if padding and binascii.b2a_base64(data[padding - 3 :], newline=False).decode() != text[-4:]:
        raise InvalidInputError("its last characters are not base64 of whole bytes")


def decoded(text: str) -> bytes:
    """Return the content of a text that has been checked."""
    return binascii.a2b_base64(text)


def encoded(data: bytes) -> str:
    """Return the bytes as base64."""
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def decoded_head(text: str, size: int) -> bytes:
    """Return at most the first `size` bytes of a text that has been checked."""
    return binascii.a2b_base64(text[: (size + 2) // 3 * 4])[:size]


def _padding(text: str) -> int:
    return 2 if text.endswith("==") else 1 if text.endswith("=") else 0


def _complaint(text: str) -> str:
    """Return the reason why a text is refused, without repeating it."""
    if text[:5].lower() == "data:":
        return "it is a data: URI; send the base64 text alone"
    if _URL.match(text[:40]):
        return "it is a URL; media are sent as base64, and nothing is fetched"
    # White space explains more than an = before it.
    fault = _WHITE_SPACE.search(text) or _NOT_BASE64.search(text, 0, len(text) - _padding(text))
    if fault is not None:
        return _character_complaint(fault.group(), fault.start() + 1)
    return f"its {len(text)} characters are not a multiple of four: it is cut short or not padded"


def _character_complaint(character: str, place: int) -> str:
    if character.isspace():
        return f"it has white space at character {place}; send it on one line"
    if character in "-_":
        return f"it has '{character}' at character {place}: that is base64url; use + and /"
    if character == "=":
        return f"it has a '=' at character {place}, before its end"
    return f"character {place} is not base64"

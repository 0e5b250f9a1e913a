"""Base64 as it has to be: one spelling for every content, measured before it is decoded."""

import binascii
import re
from collections.abc import Iterator

from nacre.core.errors import InvalidInputError

_PIECE = 64 * 1024  # characters that are decoded at once; a multiple of four
_FOREIGN = re.compile(r"[^A-Za-z0-9+/]")
_BLANK = re.compile(r"\s")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def decoded_size(text: str) -> int:
    """Return how many bytes a base64 text stands for, by its length and its last characters.

    Raises InvalidInputError for a length that no base64 has.
    """
    if len(text) % 4:
        raise InvalidInputError(_complaint(text))
    return len(text) // 4 * 3 - _padding(text)


def pieces(text: str) -> Iterator[bytes]:
    """Yield the bytes in pieces, so that they are never all in memory.

    Raises InvalidInputError, perhaps after some of them, for anything but strict base64 in
    its one canonical spelling.
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
    # The decoder takes several last characters for one content; only one of them is right.
    if padding and binascii.b2a_base64(data[padding - 3 :], newline=False).decode() != text[-4:]:
        raise InvalidInputError("its last characters are not base64 of whole bytes")


def decoded(text: str) -> bytes:
    """Return the bytes of a text that has been found right."""
    return binascii.a2b_base64(text)


def encoded(data: bytes) -> str:
    """Return the bytes as base64."""
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def beginning(text: str, size: int) -> bytes:
    """Return at most the first `size` bytes of a text that has been found right."""
    return binascii.a2b_base64(text[: (size + 2) // 3 * 4])[:size]


def _padding(text: str) -> int:
    return 2 if text.endswith("==") else 1 if text.endswith("=") else 0


def _complaint(text: str) -> str:
    """Say what is wrong, without repeating the content."""
    if text[:5].lower() == "data:":
        return "it is a data: URI; send the base64 text alone"
    if _URL.match(text[:40]):
        return "it is a URL; media are sent as base64, and nothing is fetched"
    # A blank says more than the = before it.
    foreign = _BLANK.search(text) or _FOREIGN.search(text, 0, len(text) - _padding(text))
    if foreign is not None:
        return _about(foreign.group(), foreign.start() + 1)
    return f"its {len(text)} characters are no multiple of four: it is cut short or not padded"


def _about(mark: str, place: int) -> str:
    if mark.isspace():
        return f"it has white space at character {place}; send it on one line"
    if mark in "-_":
        return f"it has '{mark}' at character {place}: that is base64url; use + and /"
    if mark == "=":
        return f"it has a '=' at character {place}, before its end"
    return f"character {place} is no base64"

"""The names that people may give to things, and the texts that show them."""

import re
import unicodedata

from nacre.core.errors import InvalidInputError
from nacre.core.limits import MAX_NAME_LENGTH, MAX_ORDER_NAME

BEING_NAMES = ("Pearl", "Coral", "Juniper", "Wren", "Iris", "Marlow", "Sable", "Linnet")
"""Names for a first Being whose owner gives it none; the first is the one that it gets."""
_SECRET_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


def checked_name(text: str, *, kind: str) -> str:
    """Return the name without blanks around it, or raise InvalidInputError with the problem."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"a {kind} must be valid text") from None
    name = unicodedata.normalize("NFC", text).strip()
    if not name or len(name) > MAX_NAME_LENGTH:
        raise InvalidInputError(f"a {kind} has 1 to {MAX_NAME_LENGTH} characters")
    if not name.isprintable():
        raise InvalidInputError(f"a {kind} is one line of printable characters")
    return name


def name_key(name: str) -> str:
    """Return the form under which two spellings of one name meet."""
    return unicodedata.normalize("NFC", name.casefold())


def checked_secret_name(name: str) -> str:
    """Return the name as it is, or raise InvalidInputError with the rules for names of secrets."""
    if not _SECRET_NAME.fullmatch(name):
        raise InvalidInputError(
            "a secret's name has 1 to 64 of A-Z, a-z, 0-9, '_', '-' and '.', and starts with "
            "a letter, such as OPENAI_API_KEY"
        )
    return name


def one_line(text: str, length: int) -> str:
    """Return a stranger's name for something as one line: cut to the length, nothing invisible."""
    visible = "".join(letter for letter in text[: length * 4] if letter.isprintable())
    normal = unicodedata.normalize("NFC", visible).strip()
    return normal if len(normal) <= length else f"{normal[: length - 1]}…"


_ORDER_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 _-]*[A-Za-z0-9])?")


def checked_order_name(text: str) -> str:
    """Return the name as it is shown, or raise InvalidInputError with the expected form."""
    name = " ".join(text.split())
    if not _ORDER_NAME.fullmatch(name) or len(name) > MAX_ORDER_NAME:
        raise InvalidInputError(
            f"an order's name has 1 to {MAX_ORDER_NAME} of A-Z, a-z, 0-9, blank, '_' and '-', and "
            "begins and ends with a letter or digit, such as Clawdbot"
        )
    return name


def order_slug(name: str) -> str:
    """Return the part after `order_` in the name of the tool: `clawdbot` for Clawdbot."""
    return name.lower().replace(" ", "_")

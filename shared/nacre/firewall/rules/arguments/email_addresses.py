"""E-mail addresses in a header, if every program reads the same addresses in it."""

import re
import unicodedata

_MAX_LENGTH = 100_000
# Percent signs and exclamation marks are left out: old mail servers route by them.
_LOCAL = r"[A-Za-z0-9_+'=~&#/-]+(?:\.[A-Za-z0-9_+'=~&#/-]+)*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"({_LOCAL})@({_LABEL}(?:\.{_LABEL})*)")
_QUOTED = re.compile(r'"([^"\\<>@]*)"')
_WORDS = re.compile(r"[^\s\"\\<>@,;:()\[\]]+(?: +[^\s\"\\<>@,;:()\[\]]+)*")
_ENCODED = "=?"
_SPECIAL = frozenset('"\\<>@,;:()[]')


def addresses(text: str) -> tuple[str, ...] | None:
    """Return the addresses of `To`, `Cc` or `Bcc`, or None if programs might read others.

    Commas or semicolons separate them, and each may have a name before it:
    `Ann <ann@example.org>, "Doe, Joe" <joe@example.org>`. Programs differ about comments,
    groups, routes, quoted local parts, names with an `@` and encoded names, so these give
    None. Domains are returned in lower case.
    """
    if len(text) > _MAX_LENGTH or _ENCODED in text or not _is_plain(text):
        return None
    result: list[str] = []
    place = _blank(text, 0)
    while place < len(text):
        address, place = _mailbox(text, place)
        if address is None or len(address) > 254:
            return None
        result.append(address)
        if place == len(text):
            return tuple(result)
        if text[place] not in ",;":
            return None
        place = _blank(text, place + 1)
        if place == len(text):
            return None  # a separator at the end
    return tuple(result)


def _mailbox(text: str, place: int) -> tuple[str | None, int]:
    plain = _ADDRESS.match(text, place)
    if plain is not None:
        return _spelled(plain), _blank(text, plain.end())
    name = _QUOTED.match(text, place) or _WORDS.match(text, place)
    if name is not None:
        place = _blank(text, name.end())
    if text[place : place + 1] != "<":
        return None, place
    inner = _ADDRESS.match(text, place + 1)
    if inner is None or text[inner.end() : inner.end() + 1] != ">":
        return None, place
    return _spelled(inner), _blank(text, inner.end() + 1)


def _spelled(address: re.Match[str]) -> str:
    return f"{address[1]}@{address[2].lower()}"


def _blank(text: str, place: int) -> int:
    while place < len(text) and text[place] == " ":
        place += 1
    return place


def _is_plain(text: str) -> bool:
    """Tell whether the text has no invisible characters and no lookalikes of special ones."""
    if text.isascii():
        return text.isprintable()
    return text.isprintable() and not any(
        not character.isascii() and _SPECIAL.intersection(unicodedata.normalize("NFKC", character))
        for character in text
    )

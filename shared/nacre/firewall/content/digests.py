"""What stands for a value that must not be kept: its digest, and its shape."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from nacre.core.limits import AUDITED_NAMES
from nacre.firewall.content.json_writer import writer
from nacre.firewall.rules.arguments.arguments import JsonNumber, number

_canonical = writer(sort_keys=True, ensure_ascii=False)
_NAME_LENGTH = 64
_NO_SECRET = 16  # characters, which no key or token is as short as
# Ids of Beings, tokens and most requests need no search for secrets.
_PLAIN_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|tok_[0-9A-Za-z]{16}")
_LONGEST = 512  # of what is kept of a name
_LOOKED_AT = 4096  # of a name, before it is cut: what is cut in the middle is not recognised
_text = json.encoder.encode_basestring_ascii
_PIECE = 64 * 1024
_SHORT = 20  # digits
_EMPTY = hashlib.sha256(b"{}").hexdigest()


def canonical(value: Any) -> bytes:
    """Return the one spelling of a JSON value: keys in order, no blanks, UTF-8."""
    return _canonical(_plain(value)).encode("utf-8", "surrogatepass")


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical spelling, in hexadecimal."""
    if not _holds_large(value):
        return hashlib.sha256(canonical(value)).hexdigest()
    # Images and files of a call: their spelling would be in memory three times.
    hashed = hashlib.sha256()
    for piece in _pieces(value):
        hashed.update(piece)
    return hashed.hexdigest()


def arguments_sha256(arguments: Mapping[str, Any]) -> str:
    """Return the digest of a call's arguments."""
    if not arguments:
        return _EMPTY
    plain = plain_arguments(arguments)
    return digest(arguments) if plain is None else plain[0]


def plain_arguments(arguments: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the digest of few short texts and numbers, and their shape as JSON.

    That is what most calls have; None for others.
    """
    if len(arguments) > AUDITED_NAMES:
        return None
    plain: dict[str, str | int] = {}
    shapes = []
    for name, value in arguments.items():
        if len(name) > _NO_SECRET and (len(name) > _NAME_LENGTH or shown_name(name) != name):
            return None
        if type(value) is str and len(value) <= _PIECE:
            plain[name] = value
            shapes.append(f'{_text(name)}:"text {len(value)}"')
        elif type(value) is JsonNumber and len(value) <= _SHORT and value.isdecimal():
            plain[name] = int(value)
            shapes.append(f'{_text(name)}:"number"')
        else:
            return None
    spelled = _canonical(plain).encode("utf-8", "surrogatepass")
    return hashlib.sha256(spelled).hexdigest(), f"{{{','.join(shapes)}}}"


def shown_name(name: str) -> str:
    """Return the name of a tool or an argument, with a mark in place of a secret.

    Names are what a record is about, and whoever makes a call chooses them. A caller may cut the
    answer, but must not cut the name before.
    """
    if len(name) <= _NO_SECRET or _PLAIN_ID.fullmatch(name):
        return name
    return _without_secrets(name) if len(name) <= _LONGEST else _beginning_of(name)


@lru_cache(maxsize=1024)  # few names come, and again and again
def _without_secrets(name: str) -> str:
    # What knows secrets takes a while to load, and most names are short.
    from nacre.firewall.content.secrets import redact_text  # noqa: PLC0415
    from nacre.firewall.rules.sections import SecretsSection  # noqa: PLC0415

    return redact_text(name, SecretsSection())[0]


def _beginning_of(name: str) -> str:
    """Return the beginning of a long name; a secret that begins in it is a mark as a whole."""
    from nacre.firewall.content.secrets import find_secrets, masked  # noqa: PLC0415 - as above
    from nacre.firewall.rules.sections import SecretsSection  # noqa: PLC0415

    secrets = find_secrets(name[:_LOOKED_AT], SecretsSection())
    kept = [secret for secret in secrets if secret.start < _LONGEST]
    return masked(name[: max(_LONGEST, *(secret.end for secret in kept), 0)], kept)


def shape(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of arguments with the kind and size of each value, never the value."""
    if len(arguments) <= AUDITED_NAMES:
        return {
            shown_name(name)[:_NAME_LENGTH]: (
                f"text {len(value)}" if type(value) is str else _kind(value)
            )
            for name, value in arguments.items()
        }
    shown = shape(dict(islice(arguments.items(), AUDITED_NAMES)))
    shown["…"] = f"{len(arguments) - AUDITED_NAMES} more"
    return shown


def _holds_large(value: Any) -> bool:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        kind = type(each)
        if kind is dict:
            waiting += each.values()
        elif kind is list:
            waiting += each
        elif kind is str and len(each) > _PIECE:
            return True
    return False


def _pieces(value: Any) -> Iterator[bytes]:
    """Yield the canonical spelling in pieces."""
    kind = type(value)
    if kind is dict:
        mark = b"{"
        for name in sorted(value):
            yield mark + canonical(name) + b":"
            yield from _pieces(value[name])
            mark = b","
        yield b"}" if value else b"{}"
    elif kind is list:
        mark = b"["
        for each in value:
            yield mark
            yield from _pieces(each)
            mark = b","
        yield b"]" if value else b"[]"
    elif kind is str:
        yield b'"'
        for start in range(0, len(value), _PIECE):
            yield canonical(value[start : start + _PIECE])[1:-1]
        yield b'"'
    else:
        yield canonical(value)


def _plain(value: Any) -> Any:
    """Return the value with numbers that were kept as text as the numbers they are."""
    kind = type(value)
    if kind is str:
        return value
    if kind is JsonNumber:
        found = number(value)
        return str(value) if found is None else found
    if kind is dict:
        return {name: _plain(each) for name, each in value.items()}
    if kind is list:
        return [_plain(each) for each in value]
    return value


def _kind(value: Any) -> str:
    match value:
        case JsonNumber():
            return "number"
        case str():
            return f"text {len(value)}"
        case None:
            return "null"
        case bool():
            return "truth"
        case dict():
            return f"object {len(value)}"
        case list() | tuple():
            return f"list {len(value)}"
        case _:
            return "number"

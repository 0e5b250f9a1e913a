"""What stands for a value that must not be kept: its digest, and its shape."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from nacre.limits import AUDITED_NAMES
from nacre.policy.arguments import JsonNumber, number

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_NAME_LENGTH = 64
_EMPTY = hashlib.sha256(b"{}").hexdigest()


def canonical(value: Any) -> bytes:
    """Return the one spelling of a JSON value: keys in order, no blanks, UTF-8."""
    return _CANONICAL.encode(_plain(value)).encode("utf-8", "surrogatepass")


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical spelling, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def arguments_sha256(arguments: Mapping[str, Any]) -> str:
    """Return the digest of a call's arguments."""
    return digest(arguments) if arguments else _EMPTY


def shape(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of arguments with the kind and size of each value, never the value."""
    shown = {
        name[:_NAME_LENGTH]: _kind(value) for name, value in list(arguments.items())[:AUDITED_NAMES]
    }
    if len(arguments) > AUDITED_NAMES:
        shown["…"] = f"{len(arguments) - AUDITED_NAMES} more"
    return shown


def _plain(value: Any) -> Any:
    """Return the value with numbers that were kept as text as the numbers they are."""
    kind = type(value)
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

"""Digests and shapes, which the audit keeps in place of values."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from nacre.core.limits import AUDITED_NAMES
from nacre.firewall.rules.arguments.arguments import JsonNumber, number
from nacre.protocol.large_calls import LargeArguments


def json_writer(*, sort_keys: bool, ensure_ascii: bool) -> Callable[[Any], str]:
    """Return a function that writes JSON values without blanks.

    `JSONEncoder.encode` makes a new C encoder for each value, which takes longer than
    a small value does. Interpreters without that encoder use `encode`.
    """
    encoder = json.JSONEncoder(
        sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=ensure_ascii
    )
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    text = json.encoder.encode_basestring_ascii if ensure_ascii else json.encoder.encode_basestring
    chunks: Callable[[Any, int], Iterable[str]] = make(
        None, encoder.default, text, None, ":", ",", sort_keys, False, True
    )
    return lambda value: "".join(chunks(value, 0))


_canonical = json_writer(sort_keys=True, ensure_ascii=False)
_NAME_LENGTH = 64
_NO_SECRET = 16  # characters, which no key or token is as short as
# Ids of Beings, tokens and most requests need no search for secrets.
_PLAIN_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|tok_[0-9A-Za-z]{16}")
_MAX_NAME = 512  # characters of a name that are kept
_SEARCHED = 4096  # characters of a name searched before it is cut, so that no secret is cut first
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
    # Images and files: their JSON would be in memory three times.
    hashed = hashlib.sha256()
    for piece in _pieces(value):
        hashed.update(piece)
    return hashed.hexdigest()


def arguments_sha256(arguments: Mapping[str, Any]) -> str:
    """Return the digest of a call's arguments."""
    if type(arguments) is LargeArguments:
        return arguments.summary.sha256
    if not arguments:
        return _EMPTY
    plain = plain_arguments(arguments)
    return digest(arguments) if plain is None else plain[0]


def plain_arguments(arguments: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the digest of a few short texts and numbers, and their shape as JSON.

    Most calls have such arguments; None for others.
    """
    if len(arguments) > AUDITED_NAMES:
        return None
    plain: dict[str, str | int] = {}
    shapes = []
    for name, value in arguments.items():
        if len(name) > _NO_SECRET and (len(name) > _NAME_LENGTH or masked_name(name) != name):
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


def masked_name(name: str) -> str:
    """Return the name of a tool or an argument, with a mark in place of a secret.

    Callers choose the names of tools and arguments. You may cut the result, but not the name
    before.
    """
    if len(name) <= _NO_SECRET or _PLAIN_ID.fullmatch(name):
        return name
    return _without_secrets(name) if len(name) <= _MAX_NAME else _beginning_of(name)


@lru_cache(maxsize=1024)  # few names come, and again and again
def _without_secrets(name: str) -> str:
    # The rules for secrets take a while to load, and most names are short.
    from nacre.firewall.content.secrets import redact_text  # noqa: PLC0415
    from nacre.firewall.rules.sections import SecretsSection  # noqa: PLC0415

    return redact_text(name, SecretsSection())[0]


def _beginning_of(name: str) -> str:
    """Return the beginning of a long name; a secret that begins in it is replaced as a whole."""
    from nacre.firewall.content.secrets import find_secrets, masked  # noqa: PLC0415 - as above
    from nacre.firewall.rules.sections import SecretsSection  # noqa: PLC0415

    secrets = find_secrets(name[:_SEARCHED], SecretsSection())
    inside = [secret for secret in secrets if secret.start < _MAX_NAME]
    return masked(name[: max(_MAX_NAME, *(secret.end for secret in inside), 0)], inside)


def shape(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of arguments with the kind and size of each value, never the value."""
    if type(arguments) is LargeArguments:
        return arguments.summary.shape
    if len(arguments) <= AUDITED_NAMES:
        return {
            masked_name(name)[:_NAME_LENGTH]: (
                f"text {len(value)}" if type(value) is str else _kind(value)
            )
            for name, value in arguments.items()
        }
    shapes = shape(dict(islice(arguments.items(), AUDITED_NAMES)))
    shapes["…"] = f"{len(arguments) - AUDITED_NAMES} more"
    return shapes


def _holds_large(value: Any) -> bool:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        kind = type(part)
        if kind is dict:
            waiting += part.values()
        elif kind is list:
            waiting += part
        elif kind is str and len(part) > _PIECE:
            return True
    return False


def _pieces(value: Any) -> Iterator[bytes]:
    """Yield the canonical JSON in pieces."""
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
        for item in value:
            yield mark
            yield from _pieces(item)
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
    """Return the value with numbers in place of JsonNumber texts."""
    kind = type(value)
    if kind is str:
        return value
    if kind is JsonNumber:
        plain = number(value)
        return str(value) if plain is None else plain
    if kind is dict:
        return {name: _plain(inner) for name, inner in value.items()}
    if kind is list:
        return [_plain(inner) for inner in value]
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

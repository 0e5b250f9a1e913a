"""Reads a secret from a hidden prompt or from standard input, never from the command line."""

import sys

import click

from nacre.core.errors import InvalidInputError
from nacre.core.limits import MAX_SECRET_BYTES


def read_secret(prompt: str) -> str:
    """Return a secret that is typed at the terminal or piped in."""
    value = click.prompt(prompt, hide_input=True, err=True) if sys.stdin.isatty() else _piped()
    if not value:
        raise InvalidInputError("the value is empty; pipe it in or type it")
    if len(value.encode()) > MAX_SECRET_BYTES:
        raise InvalidInputError(f"a secret has at most {MAX_SECRET_BYTES} bytes")
    return value


def _piped() -> str:
    try:
        text = sys.stdin.buffer.read(MAX_SECRET_BYTES + 3).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInputError("the value is not text in UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")

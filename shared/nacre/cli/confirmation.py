"""The question that a command asks before it goes on."""

import sys

import click

from nacre.core.errors import InvalidInputError


def is_confirmed(question: str) -> bool:
    """Ask at the terminal; raises InvalidInputError if there is none."""
    if not sys.stdin.isatty():
        raise InvalidInputError("there is no terminal for a confirmation; give --yes")
    return click.confirm(question, err=True)

"""Answers on standard output: a table for people, JSON for programs; never colour."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])

# What a terminal acts on, but for the ends of lines and tabs.
_ACTED_ON = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

json_option = click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")


def show_json(value: object) -> None:
    """Write a value as JSON."""
    click.echo(json.dumps(value, indent=2))


def show_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, err: bool = False) -> None:
    """Write rows under a head, in columns as wide as they need to be; `err` to standard error."""
    lines = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip(), err=err)


def harmless(text: str) -> str:
    """Return what a stranger wrote as a person's terminal may have it: it moves and hides nothing.

    Models repeat what they read, so an answer is a stranger's text too.
    """
    return _ACTED_ON.sub("?", text.replace("\r\n", "\n"))


def moment(when: datetime) -> str:
    """Return a moment as ISO 8601 in UTC."""
    return when.isoformat(timespec="seconds").replace("+00:00", "Z")

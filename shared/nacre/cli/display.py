"""Output: tables for people and JSON for programs, without colour."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])

# Control characters, except tabs and line feeds, and those that turn the order of a text around.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

json_option = click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")


def show_json(value: object) -> None:
    """Write a value as JSON."""
    click.echo(json.dumps(value, indent=2))


def show_list(
    facts: Sequence[object],
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    as_json: bool,
    empty: str,
) -> None:
    """Write facts as JSON, or rows as a table; `empty` goes to standard error without rows."""
    if as_json:
        show_json(facts)
    elif facts:
        show_table(head, rows)
    else:
        click.echo(empty, err=True)


def show_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, err: bool = False) -> None:
    """Write rows under a head, in aligned columns; with `err` to standard error."""
    lines = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip(), err=err)


def without_controls(text: str) -> str:
    """Return an untrusted text without control characters, which a terminal would obey.

    A model's answer is untrusted too, because models repeat texts that they read.
    """
    return _CONTROL.sub("?", text.replace("\r\n", "\n"))


def iso_time(when: datetime) -> str:
    """Return a time as ISO 8601 in UTC."""
    return when.isoformat(timespec="seconds").replace("+00:00", "Z")

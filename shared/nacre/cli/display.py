"""Answers on standard output: a table for people, JSON for programs; never colour."""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")


def show_json(value: object) -> None:
    """Write a value as JSON."""
    click.echo(json.dumps(value, indent=2))


def show_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write rows under a head, in columns as wide as they need to be."""
    lines = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def moment(when: datetime) -> str:
    """Return a moment as ISO 8601 in UTC."""
    return when.isoformat(timespec="seconds").replace("+00:00", "Z")

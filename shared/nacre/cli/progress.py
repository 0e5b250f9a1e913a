"""Progress of a long command: a line on standard error, at most once a second."""

import time
from collections.abc import Callable

import click

_EVERY_SECONDS = 1.0


def progress_lines(unit: str, now: Callable[[], float] = time.monotonic) -> Callable[..., None]:
    """Return a function that prints progress; it takes the count and, if known, the total."""
    printed_at = now()

    def show(count: int, total: int | None = None) -> None:
        nonlocal printed_at
        # The end is no progress any more: the command itself says what it did.
        if count != total and (time_now := now()) - printed_at >= _EVERY_SECONDS:
            printed_at = time_now
            click.echo(f"{count}{'' if total is None else f' of {total}'} {unit}", err=True)

    return show

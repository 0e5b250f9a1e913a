"""How far a long command is: a line on standard error, now and then."""

import time
from collections.abc import Callable

import click

_EVERY_SECONDS = 1.0


def telling(what: str, now: Callable[[], float] = time.monotonic) -> Callable[..., None]:
    """Return what is called with how many are done, and with how many there are if known."""
    said = now()

    def say(done: int, total: int | None = None) -> None:
        nonlocal said
        if now() - said >= _EVERY_SECONDS:
            said = now()
            click.echo(f"{done}{'' if total is None else f' of {total}'} {what}", err=True)

    return say

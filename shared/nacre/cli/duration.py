"""Lifetimes as people write them: 90d, 12h, 30m."""

import re
from datetime import timedelta

import click

_FORM = re.compile(r"([0-9]{1,9})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Duration(click.ParamType[timedelta]):
    """A whole number and a unit."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Return the time that a text such as 90d stands for."""
        if isinstance(value, timedelta):
            return value
        found = _FORM.fullmatch(str(value))
        if found is None:
            self.fail(f"{value!r} is not a time such as 90d, 12h or 30m", param, ctx)
        try:
            return timedelta(**{_UNITS[found[2]]: int(found[1])})
        except OverflowError:
            self.fail(f"{value!r} is too long", param, ctx)

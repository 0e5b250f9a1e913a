"""The moment that expressions of time count from, and the values of their words."""

from datetime import date, datetime

from nacre.core.lazy_dataclasses import dataclass

Amount = tuple[int, int]
"""A number; "a few" is from 2 to 5."""

Period = tuple[str, int]
"""A unit of the calendar, and how many of it from now: last week is ("week", -1)."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The caller's clock, and whether 5/3 is a day in May, as Americans write."""

    now: datetime
    month_first: bool = True

    @property
    def today(self) -> date:
        """Return the day."""
        return self.now.date()

"""Ranges of days, and the calendar that expressions of time count on."""

from calendar import monthrange
from datetime import date, timedelta
from typing import Literal

from nacre.core.lazy_dataclasses import dataclass

Unit = Literal["minute", "hour", "day", "week", "month", "quarter", "year"]
Cycle = Literal["week", "year"]

_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}
_DAYS_IN = {"day": 1, "week": 7}
_ABOUT = {"week": 3, "month": 15, "quarter": 45}  # "two weeks ago" is rarely meant to the day
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}  # the month that each begins in


@dataclass(frozen=True, slots=True)
class Days:
    """A range of days, both inclusive; an end that is None is open.

    `cycle` is how often a day without a year or a date comes back, such as "Monday" or "3 May".
    """

    first: date | None
    last: date | None
    cycle: Cycle | None = None

    def __post_init__(self) -> None:
        if self.first is not None and self.last is not None and self.first > self.last:
            raise ValueError(f"{self.first} is after {self.last}")


def one_day(day: date, cycle: Cycle | None = None) -> Days:
    """Return the range of one day."""
    return Days(day, day, cycle)


def months_later(day: date, months: int) -> date:
    """Return the same day of a later month, or the last day of a month that is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def month_of(year: int, month: int) -> Days:
    """Return the days of a month."""
    return Days(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def year_of(year: int) -> Days:
    """Return the days of a year."""
    return Days(date(year, 1, 1), date(year, 12, 31))


def season_of(year: int, season: str) -> Days:
    """Return three whole months of the north; a winter belongs to the year that it begins in."""
    first = date(year, _SEASONS[season], 1)
    return Days(first, months_later(first, 3) - timedelta(days=1))


def unit_of(today: date, unit: str, shift: int) -> Days:
    """Return the calendar day, week (from Monday), month, quarter or year `shift` from now."""
    if unit == "year":
        return year_of(today.year + shift)
    if unit == "month":
        day = months_later(today.replace(day=1), shift)
        return month_of(day.year, day.month)
    if unit == "quarter":
        first = today.replace(day=1, month=(today.month - 1) // 3 * 3 + 1)
        first = months_later(first, 3 * shift)
        return Days(first, months_later(first, 3) - timedelta(days=1))
    if unit == "week":
        monday = today + timedelta(days=7 * shift - today.weekday())
        return Days(monday, monday + timedelta(days=6))
    return one_day(today + timedelta(days=shift))


def weekend_of(today: date, shift: int) -> Days:
    """Return the Saturday and Sunday of a week; a weekend that has not begun is never the last."""
    saturday = today + timedelta(days=5 - today.weekday() + 7 * shift)
    return Days(saturday, saturday + timedelta(days=1))


def later(day: date, amount: int, unit: str) -> date:
    """Return the day that is an amount of units later, or earlier for a negative amount."""
    if unit in _MONTHS_IN:
        return months_later(day, amount * _MONTHS_IN[unit])
    return day + timedelta(days=amount * _DAYS_IN[unit])


def around(today: date, low: int, high: int, unit: str) -> Days:
    """Return the days that lie from `low` to `high` units away, with the margin of the unit."""
    if unit == "year":
        return Days(date(today.year + low, 1, 1), date(today.year + high, 12, 31))
    margin = timedelta(days=_ABOUT.get(unit, 0))
    return Days(later(today, low, unit) - margin, later(today, high, unit) + margin)


def returning(days: Days, cycle: Cycle, today: date) -> Days:
    """Return the last of the yearly or weekly returns of a range that has begun by today."""
    days = Days(days.first, days.last, cycle)
    while days.first is not None and days.first > today:
        days = earlier(days)
    return days


def earlier(days: Days) -> Days:
    """Return the range one cycle before."""
    return _moved(days, -1)


def following(days: Days) -> Days:
    """Return the range one cycle after."""
    return _moved(days, 1)


def _moved(days: Days, cycles: int) -> Days:
    assert days.first is not None
    assert days.last is not None
    if days.cycle == "week":
        by = timedelta(days=7 * cycles)
        return Days(days.first + by, days.last + by, "week")
    last = months_later(days.last + timedelta(days=1), 12 * cycles) - timedelta(days=1)
    return Days(months_later(days.first, 12 * cycles), last, days.cycle)

"""Dates of the calendar as queries write them: 3 May, 2026-05-03, the first Monday of March.

Each function is the meaning of a rule: it takes the moment and the values of the rule's words.
"""

import re
from datetime import date, timedelta

from nacre.text.time_expressions.days import Days, month_of, one_day, returning, unit_of
from nacre.text.time_expressions.moment import Moment, Period
from nacre.text.time_expressions.named_periods import named_month

_INTEGERS = re.compile(r"\d+")


def iso_date(_moment: Moment, text: str) -> Days:
    """Return the days of "2026-05-03"."""
    year, month, day = _integers(text)
    return one_day(date(year, month, day))


def iso_month(_moment: Moment, text: str) -> Days:
    """Return the days of "2026-05"."""
    year, month = _integers(text)
    return month_of(year, month)


def dotted_date(moment: Moment, text: str) -> Days:
    """Return the days of "3.5.2026"."""
    day, month, *years = _integers(text)
    return calendar_date(moment, day, month, *(year + 2000 * (year < 100) for year in years))


def slashed_date(moment: Moment, text: str) -> Days:
    """Return the days of "5/3/2026"."""
    first, second, *years = _integers(text)
    if first > 12 or (second <= 12 and not moment.month_first):
        first, second = second, first
    return calendar_date(moment, second, first, *(year + 2000 * (year < 100) for year in years))


def calendar_date(moment: Moment, day: int, month: int, year: int | None = None) -> Days:
    """Return the days of "3 May"; without a year it is the last one that has begun."""
    if year is not None:
        return one_day(date(year, month, day))
    if (month, day) == (2, 29):  # the last one there was
        year = next(year for year in range(moment.today.year, 0, -1) if _has_leap(moment, year))
        return one_day(date(year, 2, 29))
    return returning(one_day(date(moment.today.year, month, day)), "year", moment.today)


def _has_leap(moment: Moment, year: int) -> bool:
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return is_leap and date(year, 2, 29) <= moment.today


def date_of_weekday(_moment: Moment, _named: int, days: Days) -> Days:
    """Return the days of "Sunday, 3 May"; the date decides."""
    return days


def month_day(moment: Moment, month: int, day: int, year: int | None = None) -> Days:
    """Return the days of "May 3"."""
    return calendar_date(moment, day, month, year)


def year_month_day(moment: Moment, year: int, month: int, day: int) -> Days:
    """Return the days of 2026年5月3日."""
    return calendar_date(moment, day, month, year)


def nth_weekday(
    moment: Moment, number: int, weekday: int, month: int, year: int | None = None
) -> Days:
    """Return the days of "the first Monday of March", or the last one for -1."""
    days = named_month(moment, month, year)
    assert days.first is not None
    assert days.last is not None
    if number < 0:
        return one_day(days.last - timedelta(days=(days.last.weekday() - weekday) % 7))
    day = days.first + timedelta(days=(weekday - days.first.weekday()) % 7 + 7 * (number - 1))
    return Days(day, min(day, days.last))  # no fifth Monday is an error


def nth_weekday_of_period(moment: Moment, number: int, weekday: int, period: Period) -> Days:
    """Return the days of "the first Monday of last month"."""
    if period[0] != "month":
        raise ValueError("a year has many Mondays")
    month = unit_of(moment.today, *period).first
    assert month is not None
    return nth_weekday(moment, number, weekday, month.month, month.year)


def nth_week(moment: Moment, number: int, unit: str, month: int, year: int | None = None) -> Days:
    """Return the days of "the first week of March": seven days from the first."""
    if unit != "week":
        raise ValueError("only weeks are counted within a month")
    days = named_month(moment, month, year)
    assert days.first is not None
    assert days.last is not None
    if number < 0:
        return Days(days.last - timedelta(days=6), days.last)
    first = days.first + timedelta(days=7 * (number - 1))
    return Days(first, min(first + timedelta(days=6), days.last))


def week_around(_moment: Moment, unit: str, days: Days) -> Days:
    """Return the days of "the week of 3 May"."""
    if unit != "week" or days.first is None:
        raise ValueError("only a week is named by one of its days")
    return unit_of(days.first, "week", 0)


def day_of_month(moment: Moment, number: int) -> Days:
    """Return the days of "on the 5th": the last one."""
    day = moment.today
    while day.day != number:
        day -= timedelta(days=1)
    return one_day(day)


def _integers(text: str) -> list[int]:
    return [int(number) for number in _INTEGERS.findall(text)]

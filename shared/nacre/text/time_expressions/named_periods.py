"""Months, seasons, quarters and years by their names: last March, winter 2025, late August.

Each function is the meaning of a rule: it takes the moment and the values of the rule's words.
"""

from datetime import date

from nacre.core.lazy_dataclasses import replace
from nacre.text.time_expressions.days import (
    Days,
    earlier,
    following,
    month_of,
    one_day,
    returning,
    season_of,
    unit_of,
    year_of,
)
from nacre.text.time_expressions.moment import Moment, Period

_ENDS = {"early": (1, 10), "middle": (11, 20), "late": (21, 31)}
_PARTS_OF_YEAR = {"early": (1, 4), "middle": (5, 8), "late": (9, 12)}


def named_month(moment: Moment, month: int, year: int | None = None) -> Days:
    """Return the days of "in March"; without a year it is the last one that has begun."""
    if year is not None:
        return month_of(year, month)
    return returning(month_of(moment.today.year, month), "year", moment.today)


def year_month(_moment: Moment, year: int, month: int) -> Days:
    """Return the days of 2026年3月."""
    return month_of(year, month)


def rel_month(moment: Moment, rel: str, month: int) -> Days:
    """Return the days of "last March"."""
    return _nth_return(moment, month_of(moment.today.year, month), int(rel))


def month_rel(moment: Moment, month: int, rel: str) -> Days:
    """Return the days of "mars dernier" (last March)."""
    return rel_month(moment, rel, month)


def period_month(moment: Moment, period: Period, month: int, day: int | None = None) -> Days:
    """Return the days of "last year in March"."""
    year = year_in(moment, period)
    return month_of(year, month) if day is None else one_day(date(year, month, day))


def month_period(moment: Moment, month: int, period: Period) -> Days:
    """Return the days of "March of last year"."""
    return period_month(moment, period, month)


def part_of_month(moment: Moment, part: str, month: int, year: int | None = None) -> Days:
    """Return the days of "early March"."""
    return _cut(named_month(moment, month, year), part)


def month_part(moment: Moment, month: int, part: str) -> Days:
    """Return the days of 3月上旬 (early March)."""
    return part_of_month(moment, part, month)


def year_month_part(moment: Moment, year: int, month: int, part: str) -> Days:
    """Return the days of 2025年8月下旬 (late August 2025)."""
    return part_of_month(moment, part, month, year)


def part_of_period(moment: Moment, part: str, period: Period) -> Days:
    """Return the days of "late last month"."""
    if period[0] != "month":
        raise ValueError("only months have parts of ten days")
    return _cut(unit_of(moment.today, *period), part)


def part_of_unit(moment: Moment, part: str, unit: str) -> Days:
    """Return the days of "the end of the month"."""
    if unit == "year":
        return part_of_year(moment, part, moment.today.year)
    return part_of_period(moment, part, (unit, 0))


def part_of_unit_month(
    moment: Moment, part: str, unit: str, month: int, year: int | None = None
) -> Days:
    """Return the days of "début du mois de mars" (early March)."""
    if unit != "month":
        raise ValueError("a month is no part of a week")
    return part_of_month(moment, part, month, year)


def part_of_year(_moment: Moment, part: str, year: int) -> Days:
    """Return the days of "the beginning of 2026"."""
    first, last = _PARTS_OF_YEAR[part]
    return Days(month_of(year, first).first, month_of(year, last).last)


def last_of(_moment: Moment, rel: str) -> int:
    """Return -1 for "last"; no other word counts from the end."""
    if rel != "-1":
        raise ValueError("the next Monday of March is none of March's")
    return -1


def unit_of_year(_moment: Moment, number: int, unit: str, year: int) -> Days:
    """Return the days of "the last month of 2026"."""
    if unit == "quarter":
        return quarter_year(_moment, number if number > 0 else 4, year)
    if unit != "month":
        raise ValueError("the weeks of a year are counted in more than one way")
    return month_of(year, number if number > 0 else 12)


def era_year(_moment: Moment, before: str, year: int) -> int:
    """Return the year of an era: 令和8年 is 2026."""
    return int(before) + year


def numbered_quarter(moment: Moment, number: int, unit: str, year: int | None = None) -> Days:
    """Return the days of "the third quarter"."""
    if unit != "quarter":
        raise ValueError("only quarters have a number")
    return quarter_year(moment, number, year)


def quarter_number(_moment: Moment, text: str) -> int:
    """Return the number of a quarter that is written Q3."""
    return int(text[1])


def quarter_year(moment: Moment, number: int, year: int | None = None) -> Days:
    """Return the days of "Q3 2026"; without a year it is the last one that has begun."""
    first = date(moment.today.year if year is None else year, 3 * number - 2, 1)
    days = Days(first, month_of(first.year, 3 * number).last)
    return days if year is not None else returning(days, "year", moment.today)


def year_quarter(moment: Moment, year: int, number: int) -> Days:
    """Return the days of "2026 Q3"."""
    return quarter_year(moment, number, year)


def period_part(moment: Moment, period: Period, part: str) -> Days:
    """Return the days of 先月末 (late last month)."""
    return part_of_period(moment, part, period)


def _cut(month: Days, part: str) -> Days:
    assert month.first is not None
    assert month.last is not None
    first, last = _ENDS[part]
    last = min(last, month.last.day)
    return Days(month.first.replace(day=first), month.last.replace(day=last), month.cycle)


def whole_year(_moment: Moment, year: int) -> Days:
    """Return the days of "in 2026"."""
    return year_of(year)


def unit_year(_moment: Moment, unit: str, year: int) -> Days:
    """Return the days of "in the year 2026"."""
    if unit != "year":
        raise ValueError("a week has another number")
    return year_of(year)


def named_season(moment: Moment, season: str) -> Days:
    """Return the days of "in the summer": the last one that has begun."""
    return returning(season_of(moment.today.year, season), "year", moment.today)


def season_year(_moment: Moment, season: str, year: int) -> Days:
    """Return the days of "summer 2026"."""
    return season_of(year, season)


def year_season(_moment: Moment, year: int, season: str) -> Days:
    """Return the days of 2026年の夏."""
    return season_of(year, season)


def rel_season(moment: Moment, rel: str, season: str) -> Days:
    """Return the days of "last summer"."""
    year = moment.today.year
    if season == "winter" and moment.today.month <= 2:
        year -= 1
    return _nth_return(moment, season_of(year, season), int(rel))


def season_rel(moment: Moment, season: str, rel: str) -> Days:
    """Return the days of "verano pasado" (last summer)."""
    return rel_season(moment, rel, season)


def period_season(moment: Moment, period: Period, season: str) -> Days:
    """Return the days of 去年の夏 (summer of last year)."""
    return season_of(year_in(moment, period), season)


def season_period(moment: Moment, season: str, period: Period) -> Days:
    """Return the days of "summer of last year"."""
    return period_season(moment, period, season)


def _nth_return(moment: Moment, this_year: Days, rel: int) -> Days:
    """Return the return of this year (0), the last one that has ended (-1), or the next one (1)."""
    days = replace(this_year, cycle="year")
    if rel == 0:
        return days
    if rel not in (-1, 1):
        raise ValueError("nobody says the March before last")
    days = following(days)
    while rel < 0 and days.last is not None and days.last >= moment.today:
        days = earlier(days)
    if rel > 0:
        before = earlier(days)
        days = before if before.first is not None and before.first > moment.today else days
    return days


def year_in(moment: Moment, period: Period) -> int:
    """Return the year of a period; raise ValueError if it is no year."""
    if period[0] != "year":
        raise ValueError("a week has no months")
    return moment.today.year + period[1]

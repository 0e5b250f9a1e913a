"""Days counted from now: last week, three days ago, on Monday, the past two months.

Each function is the meaning of a rule: it takes the moment and the values of the rule's words.
"""

from datetime import timedelta

from nacre.text.time_expressions.days import (
    Days,
    around,
    later,
    one_day,
    returning,
    unit_of,
    weekend_of,
)
from nacre.text.time_expressions.moment import Amount, Moment, Period

_LONGEST = {"day": 3650, "week": 520, "month": 240, "quarter": 80, "year": 100}


def amount_of(_moment: Moment, text: str) -> Amount:
    """Return the least and the most that a number word means: "a few" is from 2 to 5."""
    low, _, high = text.partition("-")
    return int(low), int(high or low)


def named_period(_moment: Moment, text: str) -> Period:
    """Return the period in a value such as "week -1"."""
    unit, shift = text.split()
    return unit, int(shift)


def rel_unit(_moment: Moment, rel: str, unit: str) -> Period:
    """Return the period of "last week"; "the last day" is of something else, not of time."""
    if unit in ("minute", "hour", "day"):
        raise ValueError("the last day of something else")
    return unit, int(rel)


def unit_rel(moment: Moment, unit: str, rel: str) -> Period:
    """Return the period of "semana pasada" (last week)."""
    return rel_unit(moment, rel, unit)


def rel_month_mark(_moment: Moment, rel: str) -> Period:
    """Return the period of a month that is written like the months of a date (上月)."""
    return "month", int(rel)


def in_period(moment: Moment, period: Period) -> Days:
    """Return the days of a period."""
    return unit_of(moment.today, *period)


def shifted_day(moment: Moment, shift: str) -> Days:
    """Return the days of "yesterday"."""
    return one_day(moment.today + timedelta(days=int(shift)))


def latest_weekday(moment: Moment, weekday: int) -> Days:
    """Return the days of "on Monday": today or the last one."""
    return one_day(moment.today - timedelta(days=(moment.today.weekday() - weekday) % 7), "week")


def rel_weekday(moment: Moment, rel: str, weekday: int) -> Days:
    """Return the days of "last Friday", "this Friday" or "next Friday"."""
    today, shift = moment.today, int(rel)
    if shift == 0:
        return one_day(today + timedelta(days=weekday - today.weekday()))
    if shift > 0:
        day = today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1 + 7 * (shift - 1))
    else:
        day = today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1 - 7 * (shift + 1))
    return one_day(day)


def weekday_rel(moment: Moment, weekday: int, rel: str) -> Days:
    """Return the days of "viernes pasado" (last Friday)."""
    return rel_weekday(moment, rel, weekday)


def weekday_of_week(moment: Moment, rel: str, weekday: int) -> Days:
    """Return the days of 上周五 (Friday of last week)."""
    return period_weekday(moment, ("week", int(rel)), weekday)


def period_weekday(moment: Moment, period: Period, weekday: int) -> Days:
    """Return the days of "last week on Friday"."""
    if period[0] != "week":
        raise ValueError("a month has more than one Monday")
    week = unit_of(moment.today, *period)
    assert week.first is not None
    return one_day(week.first + timedelta(days=weekday))


def weekday_period(moment: Moment, weekday: int, period: Period) -> Days:
    """Return the days of "Friday of last week"."""
    return period_weekday(moment, period, weekday)


def rel_weekend(moment: Moment, rel: str) -> Days:
    """Return the days of "last weekend"."""
    return weekend_of(moment.today, int(rel))


def latest_weekend(moment: Moment) -> Days:
    """Return the days of "on the weekend": the last one that has begun."""
    return returning(weekend_of(moment.today, 0), "week", moment.today)


def ago(moment: Moment, amount: Amount, unit: str) -> Days:
    """Return the days of "two weeks ago"."""
    low, high = amount
    if unit in ("minute", "hour"):
        first, last = (moment.now - timedelta(**{f"{unit}s": number}) for number in (high, low))
        return Days(first.date(), last.date())
    return around(moment.today, -_bounded(high, unit), -low, unit)


def ahead(moment: Moment, amount: Amount, unit: str) -> Days:
    """Return the days of "in two weeks"."""
    low, high = amount
    if unit in ("minute", "hour"):
        return one_day((moment.now + timedelta(**{f"{unit}s": low})).date())
    return around(moment.today, low, _bounded(high, unit), unit)


def rolling(moment: Moment, rel: str, amount: Amount, unit: str) -> Days:
    """Return the days of "the last two weeks": those until today."""
    if unit in ("minute", "hour"):
        return ago(moment, (0, amount[1]), unit)
    size = _bounded(amount[1], unit)
    if int(rel) == 0:
        raise ValueError("these three days are not counted from now")
    if int(rel) > 0:
        return Days(moment.today, later(moment.today, size, unit))
    return Days(later(moment.today, -size, unit), moment.today)


def number_rel(moment: Moment, amount: Amount, rel: str, unit: str) -> Days:
    """Return the days of "trois derniers mois" (the last three months)."""
    return rolling(moment, rel, amount, unit)


def rel_rel(moment: Moment, _this: str, rel: str, amount: Amount, unit: str) -> Days:
    """Return the days of "estos últimos dos meses" (these last two months)."""
    return rolling(moment, rel, amount, unit)


def rel_number_rel(moment: Moment, _this: str, amount: Amount, rel: str, unit: str) -> Days:
    """Return the days of "ces trois derniers mois" (these last three months)."""
    return rolling(moment, rel, amount, unit)


def number_unit_rel(moment: Moment, amount: Amount, unit: str, rel: str) -> Days:
    """Return the days of "deux semaines passées" (the last two weeks)."""
    return rolling(moment, rel, amount, unit)


def past_amount(moment: Moment, amount: Amount, unit: str) -> Days:
    """Return the days of この3日間 (these three days)."""
    return rolling(moment, "-1", amount, unit)


def past_unit(moment: Moment, unit: str) -> Days:
    """Return the days of "the past week"."""
    return rolling(moment, "-1", (1, 1), unit)


def rolling_unit(moment: Moment, rel: str, unit: str) -> Days:
    """Return the days of "in the last week"."""
    return rolling(moment, rel, (1, 1), unit)


def _bounded(number: int, unit: str) -> int:
    if number > _LONGEST[unit]:
        raise ValueError("longer than anybody remembers")
    return number

"""Ranges with an end or two: since Monday, before June, from 3 to 10 May.

Each function is the meaning of a rule: it takes the moment and the values of the rule's words.
"""

from datetime import timedelta

from nacre.text.time_expressions.counted_days import latest_weekday, rolling
from nacre.text.time_expressions.dates import calendar_date
from nacre.text.time_expressions.days import Days, earlier, following, year_of
from nacre.text.time_expressions.moment import Amount, Moment
from nacre.text.time_expressions.named_periods import named_month


def day_to_date(_moment: Moment, day: int, last: Days) -> Days:
    """Return the days of "3. - 10.5."."""
    assert last.first is not None
    return Days(last.first.replace(day=day), last.last)


def since(_moment: Moment, days: Days) -> Days:
    """Return the days of "since Monday"."""
    return Days(days.first, None)


def since_amount(moment: Moment, amount: Amount, unit: str) -> Days:
    """Return the days of "seit drei Tagen" (for three days)."""
    return since(moment, rolling(moment, "-1", amount, unit))


def until(_moment: Moment, days: Days) -> Days:
    """Return the days of "until June"."""
    return Days(None, days.last)


def before(_moment: Moment, days: Days) -> Days:
    """Return the days of "before June"."""
    assert days.first is not None
    return Days(None, days.first - timedelta(days=1))


def after(_moment: Moment, days: Days) -> Days:
    """Return the days of "after 3 May"."""
    assert days.last is not None
    return Days(days.last + timedelta(days=1), None)


def between(_moment: Moment, low: Days, high: Days) -> Days:
    """Return the days of "between 3 May and 2 June"."""
    if low.cycle is None and high.cycle is not None:  # "from June 2021 to July"
        high = _first_after(high, low)
    while low.cycle is not None and _is_reversed(low, high):  # "from June to July 2021"
        low = earlier(low)
    return Days(low.first, high.last)


def _first_after(days: Days, start: Days) -> Days:
    while not _is_reversed(start, earlier(days)):
        days = earlier(days)
    while _is_reversed(start, days):
        days = following(days)
    return days


def _is_reversed(low: Days, high: Days) -> bool:
    return low.first is not None and high.last is not None and low.first > high.last


def between_months(moment: Moment, low: int, high: int) -> Days:
    """Return the days of "June to August"."""
    return between(moment, named_month(moment, low), named_month(moment, high))


def between_weekdays(moment: Moment, low: int, high: int) -> Days:
    """Return the days of "Monday to Wednesday"."""
    return between(moment, latest_weekday(moment, low), latest_weekday(moment, high))


def between_years(moment: Moment, low: int, high: int) -> Days:
    """Return the days of "in 2021 and 2022"."""
    return between(moment, year_of(low), year_of(high))


def days_of_month(
    moment: Moment, first: int, last: int, month: int, year: int | None = None
) -> Days:
    """Return the days of "from 3 to 10 May"."""
    return between(
        moment, calendar_date(moment, first, month, year), calendar_date(moment, last, month, year)
    )


def month_days(moment: Moment, month: int, first: int, last: int, year: int | None = None) -> Days:
    """Return the days of "May 3 to 10"."""
    return days_of_month(moment, first, last, month, year)

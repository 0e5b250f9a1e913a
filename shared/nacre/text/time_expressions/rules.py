"""The rules of expressions of time.

A rule names kinds of word in their order. `?` marks one that may be absent, `|` parts alternatives,
and a name in capitals is a symbol with rules of its own. EDGE is the beginning or the end of a
clause; FREE is its end, or a word that is no noun. Words of the kinds in `SILENT` only have to be
there; the values of all others are the arguments of the rule's function, after the moment that the
expression counts from.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nacre.core.lazy_dataclasses import dataclass
from nacre.text.time_expressions import bounds, counted_days, dates, named_periods
from nacre.text.time_expressions.moment import Moment

TIME = "TIME"
"""The symbol of a whole expression."""

_SILENT_KINDS = """
    after after_last ago ago_first and before before_last between comma dash day_mark dot from in
    later later_first month_mark of on on_last part_of_day past recent since since_last the to
    to_last until until_last weekend window year_mark EDGE FREE
    """

SILENT = frozenset(_SILENT_KINDS.split())
"""The kinds of word that a rule's function does not get."""


@dataclass(frozen=True, slots=True)
class Item:
    """A place of a rule: the kinds of word that fit, and whether it may be empty."""

    kinds: tuple[str, ...]
    is_optional: bool


Rule = tuple[Sequence[Item], Callable[..., Any]]


def _same(_moment: Moment, value: Any) -> Any:
    return value


def _integer(_moment: Moment, text: str) -> int:
    return int(text)


def _rule(pattern: str, meaning: Callable[..., Any]) -> Rule:
    items = [
        Item(tuple(place.removesuffix("?").split("|")), place.endswith("?"))
        for place in pattern.split()
    ]
    return items, meaning


_TABLE: Mapping[str, Sequence[tuple[str, Callable[..., Any]]]] = {
    TIME: [
        ("window the? rel unit", counted_days.rolling_unit),
        ("on|in? the? MOMENT part_of_day? on_last?", _same),
        ("BOUND", _same),
        ("on the? SURE_WEEKDAY part_of_day?", counted_days.latest_weekday),
        ("on the? WEEKDAY part_of_day? FREE", counted_days.latest_weekday),
        ("SURE_WEEKDAY part_of_day? FREE on_last?", counted_days.latest_weekday),
        ("on of? the? SURE_MONTH", named_periods.named_month),
        ("in the? MONTH", named_periods.named_month),
        ("EDGE SURE_MONTH", named_periods.named_month),
        ("SURE_MONTH EDGE", named_periods.named_month),
        ("CJK_MONTH on_last?", named_periods.named_month),
        ("in the? season", named_periods.named_season),
        ("in the? YEAR FREE", named_periods.whole_year),
        ("in|on|from the? unit of? YEAR", named_periods.unit_year),
        ("from YEAR FREE", named_periods.whole_year),
        ("on YEAR EDGE", named_periods.whole_year),
        ("EDGE YEAR EDGE", named_periods.whole_year),
        ("YEAR year_mark on_last?", named_periods.whole_year),
        ("on the? day_only", dates.slashed_date),
        ("on the? SUFFIXED FREE", dates.day_of_month),
        ("on DIGITS dot EDGE", dates.day_of_month),
        ("on|in the? weekend", counted_days.latest_weekend),
        ("EDGE the? weekend EDGE", counted_days.latest_weekend),
        ("weekend on_last", counted_days.latest_weekend),
    ],
    "BOUND": [
        ("since the? BARE", bounds.since),
        ("BARE since_last on_last?", bounds.since),
        ("since the? BARE since_last on_last?", bounds.since),
        ("since AMOUNT unit", bounds.since_amount),
        ("before the? BARE", bounds.before),
        ("BARE before_last on_last?", bounds.before),
        ("until the? BARE", bounds.until),
        ("BARE until_last on_last?", bounds.until),
        ("after the? BARE", bounds.after),
        ("BARE after_last on_last?", bounds.after),
        ("between the? BARE and|to the? BARE to_last? on_last?", bounds.between),
        ("from the? BARE to|dash the? BARE to_last? on_last?", bounds.between),
        ("on? the? MOMENT to|dash the? BARE to_last? on_last?", bounds.between),
        ("BARE to BARE to_last on_last?", bounds.between),
        ("YEAR year_mark? to|dash YEAR year_mark on_last?", bounds.between_years),
        ("on? SURE_MONTH to|dash the? MONTH", bounds.between_months),
        ("in MONTH to|and|dash MONTH", bounds.between_months),
        ("on? SURE_WEEKDAY to|dash WEEKDAY", bounds.between_weekdays),
        ("in YEAR to|and|dash YEAR", bounds.between_years),
        ("CJK_MONTH to|dash CJK_MONTH to_last? on_last?", bounds.between_months),
        (
            "from|between|on? the? DIGITS dot? to|and|dash the? DIGITS dot? of? MONTH YEAR?",
            bounds.days_of_month,
        ),
        ("on? DIGITS dot? to|dash the? DOTTED", bounds.day_to_date),
        ("on? MONTH the? DIGITS to|dash DIGITS comma? YEAR?", bounds.month_days),
    ],
    "BARE": [
        ("MOMENT", _same),
        ("WEEKDAY part_of_day?", counted_days.latest_weekday),
        ("MONTH", named_periods.named_month),
        ("YEAR year_mark?", named_periods.whole_year),
        ("season", named_periods.named_season),
        ("day_only", dates.slashed_date),
    ],
    "MOMENT": [
        ("DATE", _same),
        ("day", counted_days.shifted_day),
        ("tomorrow", counted_days.shifted_day),
        ("past unit", counted_days.past_unit),
        ("PERIOD", counted_days.in_period),
        ("PERIOD of? WEEKDAY", counted_days.period_weekday),
        ("PERIOD on? WEEKDAY", counted_days.period_weekday),
        ("WEEKDAY of? the? PERIOD", counted_days.weekday_period),
        ("PERIOD of? season", named_periods.period_season),
        ("season of? the? PERIOD", named_periods.season_period),
        ("PERIOD of? MONTH", named_periods.period_month),
        ("MONTH of? the? PERIOD", named_periods.month_period),
        ("part of? the? PERIOD", named_periods.part_of_period),
        ("part of? the? unit", named_periods.part_of_unit),
        ("part of? the? unit of MONTH of? YEAR?", named_periods.part_of_unit_month),
        ("part of? the? YEAR", named_periods.part_of_year),
        ("PERIOD of? part_last", named_periods.period_part),
        ("rel|rel_week weekend", counted_days.rel_weekend),
        ("weekend rel", counted_days.rel_weekend),
        ("period_weekend", counted_days.rel_weekend),
        ("rel WEEKDAY", counted_days.rel_weekday),
        ("WEEKDAY rel", counted_days.weekday_rel),
        ("rel_week WEEKDAY", counted_days.weekday_of_week),
        ("rel MONTH", named_periods.rel_month),
        ("MONTH rel", named_periods.month_rel),
        ("ANY_MONTH of? comma? YEAR", named_periods.named_month),
        ("YEAR year_mark CJK_MONTH", named_periods.year_month),
        ("YEAR of? MONTH", named_periods.year_month),
        ("part of? the? MONTH of? YEAR?", named_periods.part_of_month),
        ("CJK_MONTH of? part_last", named_periods.month_part),
        ("YEAR year_mark CJK_MONTH of? part_last", named_periods.year_month_part),
        ("NTH|LAST SURE_WEEKDAY of|in the? MONTH of? YEAR?", dates.nth_weekday),
        ("NTH|LAST SURE_WEEKDAY of? the? PERIOD", dates.nth_weekday_of_period),
        ("NTH|LAST unit of|in the? MONTH of? YEAR?", dates.nth_week),
        ("NTH|LAST unit of? the? YEAR", named_periods.unit_of_year),
        ("unit of the? DATE", dates.week_around),
        ("NTH unit of? YEAR?", named_periods.numbered_quarter),
        ("QUARTER of? YEAR?", named_periods.quarter_year),
        ("YEAR QUARTER", named_periods.year_quarter),
        ("rel season", named_periods.rel_season),
        ("season rel", named_periods.season_rel),
        ("season of? comma? YEAR", named_periods.season_year),
        ("YEAR year_mark? of? season", named_periods.year_season),
        ("AMOUNT unit ago", counted_days.ago),
        ("ago_first AMOUNT unit ago?", counted_days.ago),
        ("later_first AMOUNT unit", counted_days.ahead),
        ("AMOUNT unit later", counted_days.ahead),
        ("rel AMOUNT unit", counted_days.rolling),
        ("rel rel AMOUNT unit", counted_days.rel_rel),
        ("AMOUNT rel unit", counted_days.number_rel),
        ("rel AMOUNT rel unit", counted_days.rel_number_rel),
        ("AMOUNT unit rel", counted_days.number_unit_rel),
        ("rel_week AMOUNT unit", counted_days.rolling),
        ("recent AMOUNT unit", counted_days.past_amount),
    ],
    "PERIOD": [
        ("period", counted_days.named_period),
        ("rel|rel_week unit", counted_days.rel_unit),
        ("unit rel", counted_days.unit_rel),
        ("rel_week month_mark", counted_days.rel_month_mark),
        ("the? unit after_rel", counted_days.unit_rel),
    ],
    "DATE": [
        ("iso", dates.iso_date),
        ("iso_month", dates.iso_month),
        ("dotted", dates.dotted_date),
        ("slashed", dates.slashed_date),
        ("DIGITS dot? of? the? ANY_MONTH of? comma? YEAR?", dates.calendar_date),
        ("NTH of? SURE_MONTH of? YEAR?", dates.calendar_date),
        ("NUMBER of SURE_MONTH of? YEAR?", dates.calendar_date),
        ("NTH of ANY_MONTH of? YEAR?", dates.calendar_date),
        ("ANY_MONTH the? DIGITS comma? of? YEAR?", dates.month_day),
        ("WEEKDAY comma? the? DATE", dates.date_of_weekday),
        ("CJK_MONTH DIGITS day_mark", dates.month_day),
        ("YEAR year_mark CJK_MONTH DIGITS day_mark", dates.year_month_day),
        ("PERIOD of? CJK_MONTH DIGITS day_mark", named_periods.period_month),
    ],
    "QUARTER": [("quarter", named_periods.quarter_number)],
    "DOTTED": [("dotted", dates.dotted_date)],
    "LAST": [("rel", named_periods.last_of)],
    "AMOUNT": [("number", counted_days.amount_of)],
    "NUMBER": [("number", _integer)],
    "MONTH": [("month|weak_month", _integer), ("CJK_MONTH", _same)],
    "ANY_MONTH": [("month|weak_month|short_month", _integer)],
    "CJK_MONTH": [("digits month_mark", _integer)],
    "SURE_MONTH": [("month", _integer)],
    "SURE_WEEKDAY": [("weekday", _integer)],
    "WEEKDAY": [("weekday|weak_weekday", _integer)],
    "SUFFIXED": [("suffixed", _integer)],
    "NTH": [("nth", _integer)],
    "DIGITS": [("digits", _integer)],
    "YEAR": [("year", _integer), ("era DIGITS", named_periods.era_year)],
}

RULES: Mapping[str, Sequence[Rule]] = {
    symbol: [_rule(pattern, meaning) for pattern, meaning in rules]
    for symbol, rules in _TABLE.items()
}
"""The rules of each symbol."""

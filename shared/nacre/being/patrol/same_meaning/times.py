"""Times in an English sentence: days, months, hours, ranges, and the words beside them."""

from collections.abc import Sequence

from nacre.being.patrol.same_meaning import english_words as en
from nacre.being.patrol.same_meaning import event_words as ev
from nacre.being.patrol.same_meaning.phrases import is_amount
from nacre.being.patrol.same_meaning.sentences import Sentence


def duration(words: Sequence[str], place: int) -> int:
    """Return the end of a duration such as "for 5 minutes"."""
    match words[place : place + 3]:
        case ("for", number, unit) if is_amount(number) and unit in ev.SPANS:
            return place + 3
        case _:
            return 0


def time(words: Sequence[str], place: int) -> int:
    """Return the end of the longest time at a place."""
    for size in range(min(7, len(words) - place), 0, -1):
        if is_time(tuple(words[place : place + size])):
            return place + size
    return 0


def is_time(words: Sentence) -> bool:
    """Return whether these words together are one time."""
    return (
        _is_relative(words) or _is_repeated(words) or _is_fixed(words) or _is_beside_an_event(words)
    )


def _is_relative(words: Sentence) -> bool:
    """Return whether this is a time such as "yesterday evening", "next week" or "3 days ago"."""
    match words:
        case ("yesterday" | "today" | "tomorrow" | "tonight",):
            return True
        case ("yesterday" | "tomorrow", part):
            return part in ev.DAY_PARTS
        case ("this" | "last" | "next", unit):
            return _is_unit(unit) or unit in ev.DAY_PARTS
        case ("next" | "last", day, part):
            return day in en.WEEKDAYS and part in ev.DAY_PARTS
        case (number, unit, "ago"):
            return is_amount(number) and unit.removesuffix("s") in en.UNITS
        case _:
            return False


def _is_repeated(words: Sentence) -> bool:
    match words:
        case ("every", unit):
            return _is_unit(unit) or unit in ev.DAY_PARTS
        case ("every", day, part) if part in ev.DAY_PARTS:
            return day in en.WEEKDAYS
        case ("every", *unit, "at", hour):
            return _is_repeated(("every", *unit)) and _is_hour(hour)
        case _:
            return False


def _is_fixed(words: Sentence) -> bool:
    """Return whether this is a day, a month or an hour with its preposition, or a range."""
    match words:
        case ("on", *day):
            return _is_day(tuple(day))
        case ("until" | "since" | "by", *day):
            return _is_point(tuple(day))
        case ("in", *month):
            return _is_month(tuple(month)) or words in ev.IN_PARTS
        case ("at", *hour):
            return _is_clock(tuple(hour))
        case ("from", first, "to" | "until", last) | ("between", first, "and", last):
            return _is_point((first,)) and _is_point((last,))
        case _:
            return False


def _is_beside_an_event(words: Sentence) -> bool:
    match words:
        case ("during" | "throughout", "the", noun):
            return noun in ev.DAY_PARTS or noun in en.SEASONS or noun in en.EVENTS
        case ("after" | "within", number, unit) if is_amount(number):
            return unit in ev.SPANS
        case ("after" | "before", meal):
            return meal in ev.MEALS
        case ("after" | "before", "the", noun):
            return noun in en.EVENTS
        case _:
            return False


def _is_unit(word: str) -> bool:
    return word in en.UNITS or word in en.WEEKDAYS or word in en.SEASONS or word in en.MONTHS


def _is_point(words: Sentence) -> bool:
    return _is_day(words) or _is_month(words) or _is_clock(words)


def _is_day(words: Sentence) -> bool:
    match words:
        case (day,):
            return day.removesuffix("s") in en.WEEKDAYS
        case (day, part) if day in en.WEEKDAYS:
            return part in ev.DAY_PARTS or part.removesuffix("s") in ev.DAY_PARTS
        case (number, month):
            return (month in en.MONTHS and _is_day_number(number)) or (
                number in en.MONTHS and _is_day_number(month)
            )
        case (number, month, year):
            return month in en.MONTHS and _is_day_number(number) and _is_year(year)
        case (first, "and", second):
            return first in ev.DAYS and second in ev.DAYS
        case _:
            return False


def _is_day_number(word: str) -> bool:
    return word.isdecimal() and len(word) < 3


def _is_month(words: Sentence) -> bool:
    match words:
        case (month,):
            return month in en.MONTHS or month in en.SEASONS or _is_year(month)
        case ("the", season):
            return season in en.SEASONS
        case (month, year) | ("the", month, "of", year):
            return (month in en.MONTHS or month in en.SEASONS) and _is_year(year)
        case _:
            return False


def _is_year(word: str) -> bool:
    return word.isdecimal() and len(word) == 4


def _is_clock(words: Sentence) -> bool:
    match words:
        case (hour,):
            return _is_hour(hour) or hour in ("noon", "midnight", "night", "dawn", "bedtime")
        case (hour, "am" | "pm"):
            return _is_hour(hour)
        case _:
            return False


def _is_hour(word: str) -> bool:
    hour = word.partition(":")[0]
    return word.replace(":", "").isdecimal() and len(hour) < 3

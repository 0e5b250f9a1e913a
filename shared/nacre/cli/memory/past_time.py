"""A time in the past, as a person writes it on a command line."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from nacre.core.errors import InvalidInputError
from nacre.text.time_expressions.time_expression import find_time

_HOUR = re.compile(r"(?:at )?(?P<hour>\d{1,2}):(?P<minute>\d\d)", re.IGNORECASE)
_AGO = re.compile(r"(?P<count>\d{1,5}) ?(?P<unit>min(?:ute)?s?|h(?:our)?s?) ago", re.IGNORECASE)
_FORMS = "such as 2026-07-01, 2026-07-01T18:30, yesterday, or 2 hours ago"


def past_time(text: str, option: str, *, now: datetime, zone: tzinfo | None = None) -> datetime:
    """Return the time in UTC that a text means; raise InvalidInputError for one that is not past.

    A day means its end. Without an offset the text is in `zone`, else in this machine's.
    """
    moment = _parsed(text.strip(), now, zone)
    if moment is None:
        raise InvalidInputError(f"{option}: {text[:80]!r} is not a time; give one {_FORMS}")
    if moment <= now:
        return moment
    if moment.astimezone(zone).date() == now.astimezone(zone).date():
        raise InvalidInputError(
            f"{option}: {text[:80]!r} has not ended yet; add the time of day, such as 09:00"
        )
    raise InvalidInputError(f"{option}: {text[:80]!r} is in the future; give a time that is past")


def _parsed(text: str, now: datetime, zone: tzinfo | None) -> datetime | None:
    if text.lower() == "now":
        return now
    ago = _AGO.fullmatch(text)
    if ago is not None:
        unit = timedelta(minutes=1) if ago["unit"].lower().startswith("m") else timedelta(hours=1)
        return now - int(ago["count"]) * unit
    with suppress(ValueError, OverflowError, OSError):
        return _end_of(date.fromisoformat(text), zone)
    with suppress(ValueError, OverflowError, OSError):
        written = datetime.fromisoformat(text)
        return _in_zone(written, zone) if written.tzinfo is None else written.astimezone(UTC)
    expression = find_time(text, now.astimezone(zone))
    if expression is None or expression.days.last is None:
        return None
    rest = expression.rest.strip()
    with suppress(ValueError, OverflowError, OSError):
        if not rest:
            return _end_of(expression.days.last, zone)
        hour = _HOUR.fullmatch(rest)
        if hour is not None and expression.days.first == expression.days.last:
            of_day = time(int(hour["hour"]), int(hour["minute"]))
            return _in_zone(datetime.combine(expression.days.last, of_day), zone)
    return None


def _end_of(day: date, zone: tzinfo | None) -> datetime:
    return _in_zone(datetime.combine(day, time(23, 59, 59, 999_000)), zone)


def _in_zone(written: datetime, zone: tzinfo | None) -> datetime:
    return (written if zone is None else written.replace(tzinfo=zone)).astimezone(UTC)

"""Times as transcripts state them: ISO 8601, RFC 2822, and seconds or fractions since 1970."""

import math
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = 1990, 2100  # years; anything else is not the time of a conversation
_NUMBER = re.compile(r"-?\d{9,19}(?:\.\d+)?", re.ASCII)
# From this many on, a number counts smaller units: 10^11 seconds are the year 5138.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


def time_of(value: object) -> datetime | None:
    """Return the time that a value states, in UTC, or None; one without a zone is in UTC."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _since_1970(float(value))
    if not isinstance(value, str) or len(value) > 64:
        return None
    text = value.strip()
    if _NUMBER.fullmatch(text):
        return _since_1970(float(text))
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        try:
            time = parsedate_to_datetime(text)
        except ValueError:
            return None
    return _plausible(time)


def first_time(*values: object) -> datetime | None:
    """Return the first of the values that states a time."""
    return next((time for value in values if (time := time_of(value)) is not None), None)


def _since_1970(number: float) -> datetime | None:
    if not math.isfinite(number) or number <= 0:
        return None
    seconds = next((number / unit for least, unit in _UNITS if number >= least), number)
    try:
        return _plausible(_EPOCH + timedelta(seconds=seconds))
    except OverflowError:
        return None


def _plausible(time: datetime) -> datetime | None:
    if not _FIRST <= time.year < _LAST:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)

"""A past time as people write it."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.cli.memory.past_time import past_time
from nacre.core.errors import InvalidInputError

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)  # a Friday
TOKYO = ZoneInfo("Asia/Tokyo")  # where the day is the 21st
GREENWICH = ZoneInfo("UTC")
DAY_END = timedelta(hours=23, minutes=59, seconds=59, milliseconds=999)


def at(text: str, zone: ZoneInfo = GREENWICH) -> datetime:
    return past_time(text, "--as-of", now=NOW, zone=zone)


def day(year: int, month: int, number: int) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-07-01", day(2026, 7, 1) + DAY_END),
        ("1 July 2026", day(2026, 7, 1) + DAY_END),
        ("yesterday", day(2026, 11, 19) + DAY_END),
        ("gestern", day(2026, 11, 19) + DAY_END),
        ("3 days ago", day(2026, 11, 17) + DAY_END),
        ("last week", day(2026, 11, 15) + DAY_END),
        ("yesterday 18:30", day(2026, 11, 19) + timedelta(hours=18, minutes=30)),
        ("last Tuesday at 9:05", day(2026, 11, 17) + timedelta(hours=9, minutes=5)),
        ("2026-07-01T18:30", day(2026, 7, 1) + timedelta(hours=18, minutes=30)),
        ("2026-07-01 18:30:01.5", day(2026, 7, 1) + timedelta(hours=18, minutes=30, seconds=1.5)),
        ("2026-07-01T18:30+02:00", day(2026, 7, 1) + timedelta(hours=16, minutes=30)),
        ("2026-07-01T18:30Z", day(2026, 7, 1) + timedelta(hours=18, minutes=30)),
        ("2 hours ago", NOW - timedelta(hours=2)),
        ("90 minutes ago", NOW - timedelta(minutes=90)),
        ("now", NOW),
    ],
)
def test_everyday_forms_are_understood(text: str, meant: datetime) -> None:
    assert at(text) == meant


def test_days_and_times_are_of_the_zone() -> None:
    assert at("yesterday", TOKYO) == day(2026, 11, 20) + DAY_END - timedelta(hours=9)
    assert at("2026-07-01T18:30", TOKYO) == day(2026, 7, 1) + timedelta(hours=9, minutes=30)


def test_without_a_zone_it_is_this_machines() -> None:
    local = datetime(2026, 7, 1, 18, 30).astimezone()
    assert past_time("2026-07-01T18:30", "--as-of", now=NOW) == local


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "'' is not a time"),
        ("when I was young", "is not a time"),
        ("since Monday", "is not a time"),
        ("yesterday in the afternoon of my life", "is not a time"),
        ("yesterday 25:00", "is not a time"),
        ("two hours ago", "has not ended yet; add the time of day"),
        ("today", "has not ended yet; add the time of day"),
        ("tomorrow", "is in the future"),
        ("0001-01-01T00:00+09:00", "is not a time"),
        ("2026-11-20T15:01", "has not ended yet|is in the future"),
        ("2027-01-01", "is in the future"),
    ],
)
def test_other_texts_are_refused_with_a_reason(text: str, error: str) -> None:
    with pytest.raises(InvalidInputError, match=error):
        at(text)


@given(st.text(max_size=40))
def test_any_text_is_a_past_time_or_refused(text: str) -> None:
    with suppress(InvalidInputError):
        assert at(text) <= NOW

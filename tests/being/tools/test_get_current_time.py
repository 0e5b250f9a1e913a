"""The tool `get_current_time`."""

import asyncio
import json
import string
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.being.tools.get_current_time import describe, get_current_time
from nacre.core.errors import InvalidInputError
from nacre.protocol.context import Context
from nacre.sdk.tool_server import ToolServer

MOMENT = datetime(2026, 4, 14, 7, 30, 0, 123_999, tzinfo=UTC)


def call(arguments: dict[str, Any]) -> dict[str, Any]:
    server = ToolServer("test", "1")
    server.register_tool(get_current_time(lambda: MOMENT))
    assert server.check_arguments("get_current_time", arguments) is None
    return asyncio.run(server.call_tool("get_current_time", arguments, Context.detached()))


@pytest.mark.requirement("003.get_current_time.shape")
def test_it_tells_the_time_in_a_zone_with_a_japanese_weekday() -> None:
    result = call({"timezone": "Asia/Tokyo"})

    assert json.loads(result["content"][0]["text"]) == {
        "datetime": "2026/04/14(火) 16:30:00",
        "iso": "2026-04-14T07:30:00.123Z",
        "timezone": "Asia/Tokyo",
    }


def test_the_weekday_is_readable_in_the_text() -> None:
    assert "(火)" in call({"timezone": "Asia/Tokyo"})["content"][0]["text"]


@pytest.mark.requirement("003.get_current_time.default")
def test_the_zone_is_utc_unless_given() -> None:
    assert json.loads(call({})["content"][0]["text"])["timezone"] == "UTC"


@pytest.mark.parametrize(
    ("day", "weekday"), list(zip(range(13, 20), "月火水木金土日", strict=True))
)
def test_every_weekday_has_its_character(day: int, weekday: str) -> None:
    moment = datetime(2026, 4, day, tzinfo=UTC)

    assert describe(moment, "UTC")["datetime"] == f"2026/04/{day}({weekday}) 00:00:00"


def test_the_day_is_that_of_the_zone() -> None:
    late = datetime(2026, 12, 31, 23, 0, tzinfo=UTC)

    assert describe(late, "Asia/Tokyo")["datetime"] == "2027/01/01(金) 08:00:00"
    assert describe(late, "America/New_York")["datetime"] == "2026/12/31(木) 18:00:00"


@pytest.mark.parametrize(
    "name", ["localtime", "posixrules", "posix/Asia/Tokyo", "right/Asia/Tokyo"]
)
def test_what_a_system_keeps_beside_the_zones_is_unknown(name: str) -> None:
    with pytest.raises(InvalidInputError, match="unknown time zone"):
        describe(MOMENT, name)


@pytest.mark.parametrize(
    "name",
    ["Mars/Olympus", "", "../../etc/passwd", "/etc/passwd", "America", "UTC\0", "a" * 300, "ü"],
)
def test_an_unknown_zone_is_named(name: str) -> None:
    with pytest.raises(InvalidInputError, match="unknown time zone") as caught:
        describe(MOMENT, name)

    assert name[:80] in str(caught.value)


def test_a_zone_that_is_no_text_is_named_before_the_tool_runs() -> None:
    server = ToolServer("test", "1")
    server.register_tool(get_current_time(lambda: MOMENT))

    assert "timezone" in (server.check_arguments("get_current_time", {"timezone": 9}) or "")


@given(
    st.integers(0, 4_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
    st.sampled_from(["UTC", "Asia/Kolkata", "Europe/Berlin", "Pacific/Chatham"]),
)
def test_both_forms_are_the_same_moment(moment: datetime, zone: str) -> None:
    told = describe(moment, zone)
    iso = datetime.fromisoformat(told["iso"])
    local = told["datetime"].translate({ord(c): None for c in "月火水木金土日()"})
    offset = datetime.strptime(local, "%Y/%m/%d %H:%M:%S").replace(tzinfo=UTC) - iso

    assert abs(iso - moment) < timedelta(milliseconds=1)
    assert timedelta(hours=-12) <= offset <= timedelta(hours=15)


@given(st.text(string.printable, max_size=40))
def test_any_text_is_a_zone_or_a_clear_error(name: str) -> None:
    try:
        told = describe(MOMENT, name)
    except InvalidInputError as error:
        told = {"timezone": str(error)}

    assert name[:80] in told["timezone"]

"""The tool `get_current_time`."""

from datetime import UTC, datetime
from typing import Annotated

from nacre.core.clock import Clock
from nacre.core.time_zones import time_zone
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.schema.field import Field
from nacre.sdk.tool import Tool

_WEEKDAYS = "月火水木金土日"  # Monday first, as datetime counts


def get_current_time(clock: Clock) -> Tool:
    """Return the tool that tells the current time."""

    @tool(name="get_current_time", read_only=True, idempotent=True, blocking=True)
    async def current_time(
        timezone: Annotated[str, Field(description="IANA name, e.g. Asia/Tokyo")] = "UTC",
    ) -> ToolResult:
        """Return the current date and time in a time zone."""
        return ToolResult.structured(describe(clock(), timezone))

    return current_time


def describe(moment: datetime, timezone: str) -> dict[str, str]:
    """Return the fields of the tool's answer."""
    local = moment.astimezone(time_zone(timezone))
    utc = moment.astimezone(UTC)
    return {
        "datetime": f"{local:%Y/%m/%d}({_WEEKDAYS[local.weekday()]}) {local:%H:%M:%S}",
        "iso": f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z",
        "timezone": timezone,
    }

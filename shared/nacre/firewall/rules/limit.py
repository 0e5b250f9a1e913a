"""The values of a limit: the calls that it is about, and how much of something they may use."""

from typing import Literal

from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.rules.rule import Rule

Period = Literal["minute", "hour", "day"]
Share = Literal["tool", "server", "caller", "being"]
Measure = Literal["calls", "bytes", "concurrency", "result_bytes"]

SECONDS: dict[Period, int] = {"minute": 60, "hour": 3600, "day": 86400}
SHARES: tuple[Share, ...] = ("tool", "server", "caller", "being")
MEASURES: tuple[Measure, ...] = ("calls", "bytes", "concurrency", "result_bytes")


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit. `matching` matches the calls that it is about; its action is for those above it.

    Calls that differ in one of `by` are counted apart. Without `per`, the limit is about each call.
    """

    number: int
    matching: Rule
    amount: int
    per: Period | None
    by: tuple[Share, ...] = ()
    measure: Measure = "calls"

    @property
    def seconds(self) -> int:
        """The length of its period."""
        assert self.per is not None
        return SECONDS[self.per]

    @property
    def rate(self) -> str:
        """The limit in words."""
        groups = f" for each {' and '.join(self.by)}" if self.by else ""
        return f"{self._amount}{groups}"

    @property
    def _amount(self) -> str:
        if self.measure == "result_bytes":
            return f"{self.amount:,} bytes a result"
        period = "an hour" if self.per == "hour" else f"a {self.per}"
        if self.measure == "bytes":
            return f"{self.amount:,} bytes {period}"
        counted = "1 call" if self.amount == 1 else f"{self.amount:,} calls"
        if self.measure == "concurrency":
            return f"{counted} at a time"
        return f"{counted} {period}"

"""The values of a limit: which calls it counts, and how many of them may be made."""

from typing import Literal

from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.rules.rule import Rule

Period = Literal["minute", "hour", "day"]
Share = Literal["tool", "server", "caller", "being"]

SECONDS: dict[Period, int] = {"minute": 60, "hour": 3600, "day": 86400}
SHARES: tuple[Share, ...] = ("tool", "server", "caller", "being")


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit. `matching` matches the calls that it counts; its action is for those above it.

    Calls that differ in one of `by` are counted apart.
    """

    number: int
    matching: Rule
    calls: int
    per: Period
    by: tuple[Share, ...] = ()

    @property
    def rate(self) -> str:
        """The limit in words."""
        counted = "1 call" if self.calls == 1 else f"{self.calls:,} calls"
        period = "an hour" if self.per == "hour" else f"a {self.per}"
        groups = f" for each {' and '.join(self.by)}" if self.by else ""
        return f"{counted} {period}{groups}"

"""The result of one check of doctor."""

from collections.abc import Callable, Iterable
from typing import Literal

from nacre.core.errors import NacreError
from nacre.core.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of doctor: `fail` is a problem, `warn` may be one."""

    check: str
    state: Literal["ok", "warn", "fail"]
    found: str
    advice: str = ""


def attempt(check: str, run: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Return the findings of a check; an expected error is a finding too."""
    try:
        return list(run())
    except NacreError as error:
        problem, _, advice = str(error).rpartition("; ")
        return [Finding(check, "fail", problem or str(error), advice if problem else "")]

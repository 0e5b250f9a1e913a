"""What one check of doctor found."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from nacre.core.errors import NacreError


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of doctor: `fail` is broken, `warn` is worth a look."""

    check: str
    state: Literal["ok", "warn", "fail"]
    found: str
    advice: str = ""


def attempt(check: str, look: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Return what a look found; an expected error is a finding, too."""
    try:
        return list(look())
    except NacreError as error:
        found, _, advice = str(error).rpartition("; ")
        return [Finding(check, "fail", found or str(error), advice if found else "")]

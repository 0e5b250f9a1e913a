"""How a deployment does: its alarms, and what it counted lately."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

State = Literal["ok", "alarm", "no data"]


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm, by the name that it has in the runbook."""

    name: str
    state: State
    since: datetime
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was counted in the last hours; None is what nobody has counted."""

    hours: int
    calls: float | None = None
    refusals: float | None = None
    faults: float | None = None
    policy_denials: float | None = None
    latency_p50_ms: float | None = None
    latency_p99_ms: float | None = None
    crashes: float | None = None
    waiting_jobs: float | None = None
    dead_jobs: float | None = None
    job_failures: float | None = None
    patrol_lag_seconds: float | None = None
    patrol_backlog: float | None = None
    index_drift: float | None = None
    llm_tokens: float | None = None
    llm_dollars: float | None = None
    spend_caps: float | None = None


class Health(Protocol):
    """Whoever watches a deployment; raises UnavailableError, and ForbiddenError for strangers."""

    def alarms(self) -> Sequence[Alarm]:
        """Return every alarm, those that are on first."""
        ...

    def figures(self, hours: int) -> Figures:
        """Return what was counted in the last hours, at most 24."""
        ...

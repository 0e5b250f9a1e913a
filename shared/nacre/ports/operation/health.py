"""The health of a deployment: its alarms and recent counts."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol

from nacre.core.lazy_dataclasses import dataclass

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
    """The counts of the last hours; None if nothing was counted."""

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
    spend_caps: float | None = None  # questions over budget


class Health(Protocol):
    """Reads the alarms and counts of a deployment.

    Raises ForbiddenError without access, UnavailableError if the service does not answer.
    """

    def alarms(self) -> Sequence[Alarm]:
        """Return every alarm, firing ones first."""
        ...

    def figures(self, hours: int) -> Figures:
        """Return the counts of the last hours, at most 24."""
        ...

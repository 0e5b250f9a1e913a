"""The health of a stack as text: active alarms, and the counts of a day."""

from collections.abc import Iterator, Mapping
from typing import Any

from nacre.cli.display import iso_time
from nacre.core.errors import NacreError
from nacre.core.lazy_dataclasses import asdict
from nacre.ports.operation.health import Health

HOURS = 24


def health_of(health: Health) -> dict[str, Any]:
    """Return the health of a stack for JSON, or the problem if it cannot be read."""
    try:
        alarms = [{**asdict(alarm), "since": iso_time(alarm.since)} for alarm in health.alarms()]
        return {"alarms": alarms, "figures": asdict(health.figures(HOURS))}
    except NacreError as error:  # the rest of the status is still shown
        return {"problem": str(error)}


def health_lines(health: Mapping[str, Any]) -> Iterator[str]:
    """Yield the health as lines for people."""
    if "problem" in health:
        yield f"Alarms:  unknown: {health['problem']}"
        return
    alarms, figures = health["alarms"], health["figures"]
    active = [alarm for alarm in alarms if alarm["state"] == "alarm"]
    yield f"Alarms:  {len(active) or 'none'} of {len(alarms)} active"
    for alarm in active:
        yield f"  {alarm['name']} since {alarm['since']}: {alarm['description']}"
    if active:
        yield "  What to do: docs/guides/runbook.md"

    def shown(name: str) -> str:
        value = figures[name]
        if value is None:
            return "-"
        return f"{value:.4g}" if value < 1000 else f"{value:,.0f}"

    yield f"Last {figures['hours']} hours ('-' was not counted):"
    yield (
        f"  Calls:    {shown('calls')}, refused {shown('refusals')}, failed {shown('faults')},"
        f" denied by policy {shown('policy_denials')}, crashed {shown('crashes')}"
    )
    yield (
        f"  Answered: half within {shown('latency_p50_ms')} ms,"
        f" 99 % within {shown('latency_p99_ms')} ms"
    )
    yield (
        f"  Jobs:     waiting {shown('waiting_jobs')}, dead {shown('dead_jobs')},"
        f" failed attempts {shown('job_failures')}"
    )
    yield (
        f"  Patrols:  Beings with work {shown('patrol_backlog')},"
        f" the oldest queued {shown('patrol_lag_seconds')} s ago;"
        f" indexes that drift {shown('index_drift')}"
    )
    yield (
        f"  Model:    {shown('llm_tokens')} tokens, {shown('llm_dollars')} dollars,"
        f" questions over budget {shown('spend_caps')}"
    )

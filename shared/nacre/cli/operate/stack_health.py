"""How a stack does, in words: alarms that are on, and what a day has counted."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from nacre.cli.display import moment
from nacre.core.errors import NacreError
from nacre.ports.health import Health

HOURS = 24


def health_of(health: Health) -> dict[str, Any]:
    """Return how a stack does, as JSON has it; why, where that cannot be known."""
    try:
        alarms = [{**asdict(each), "since": moment(each.since)} for each in health.alarms()]
        return {"alarms": alarms, "figures": asdict(health.figures(HOURS))}
    except NacreError as error:  # the rest of the status can be told all the same
        return {"problem": str(error)}


def health_shown(health: Mapping[str, Any]) -> Iterator[str]:
    """Give the lines that say the same to people."""
    if "problem" in health:
        yield f"Alarms:  unknown: {health['problem']}"
        return
    alarms, counted = health["alarms"], health["figures"]
    on = [each for each in alarms if each["state"] == "alarm"]
    yield f"Alarms:  {len(on) or 'none'} of {len(alarms)} on"
    for each in on:
        yield f"  {each['name']} since {each['since']}: {each['description']}"
    if on:
        yield "  What to do: docs/guides/runbook.md"

    def said(name: str) -> str:
        value = counted[name]
        if value is None:
            return "-"
        return f"{value:.4g}" if value < 1000 else f"{value:,.0f}"

    yield f"Last {counted['hours']} hours ('-' is what nobody has counted):"
    yield (
        f"  Calls:    {said('calls')}, refused {said('refusals')}, failed {said('faults')},"
        f" denied by policy {said('policy_denials')}, crashed {said('crashes')}"
    )
    yield (
        f"  Answered: half within {said('latency_p50_ms')} ms,"
        f" 99 % within {said('latency_p99_ms')} ms"
    )
    yield (
        f"  Jobs:     waiting {said('waiting_jobs')}, dead {said('dead_jobs')},"
        f" failed attempts {said('job_failures')}"
    )
    yield (
        f"  Patrols:  Beings with work {said('patrol_backlog')},"
        f" the oldest queued {said('patrol_lag_seconds')} s ago;"
        f" indexes that drift {said('index_drift')}"
    )
    yield (
        f"  Model:    {said('llm_tokens')} tokens, {said('llm_dollars')} dollars,"
        f" questions over budget {said('spend_caps')}"
    )

"""The metrics of a stack, carried by lines of its log (CloudWatch's EMF).

A metric is a number in a line that is written anyway, and CloudWatch reads it there: nothing is
sent, and nothing waits for an answer.
"""

import json
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import NamedTuple

NAMESPACE = "Nacre"
DIMENSION = "Stack"  # the only one: each value of a dimension costs a metric


class Metric(NamedTuple):
    """One metric: its name and unit in CloudWatch, where it is written when, and its meaning."""

    name: str
    unit: str
    written: str
    meaning: str


LATENCY = "Latency"
REFUSALS = "Refusals"
FAULTS = "Faults"
POLICY_DENIALS = "PolicyDenials"
JOB_FAILURES = "JobFailures"
PATROLS = "Patrols"
PATROL_LAG = "PatrolLag"
PATROL_BACKLOG = "PatrolBacklog"
INDEX_DRIFT = "IndexDrift"
LLM_TOKENS = "LlmTokens"
LLM_DOLLARS = "LlmDollars"
SPEND_CAPS = "SpendCaps"

METRICS = (
    Metric(
        LATENCY,
        "Milliseconds",
        "`mcp_http`, with each request",
        "How long it took to answer, as the function sees it. Its sample count is the number of "
        "calls.",
    ),
    Metric(
        REFUSALS,
        "Count",
        "`mcp_http`, with each request that it refused",
        "Requests that were answered with 401, 403 or 429: no valid token, too small a scope, "
        "another Being, or too many.",
    ),
    Metric(
        FAULTS,
        "Count",
        "`mcp_http`, with each request that failed",
        "Requests that failed through no fault of their caller: an error in Nacre, or a service "
        "that did not answer. Lambda counts them as served, because each got an answer.",
    ),
    Metric(
        POLICY_DENIALS,
        "Count",
        "`mcp_http`, `patrol_worker` and `policy_evaluator`, with each call that is denied",
        "Calls that a policy in force denied.",
    ),
    Metric(
        JOB_FAILURES,
        "Count",
        "`patrol_worker`, with each job that failed",
        "Attempts at a job that failed; after the third the job is in the dead letter queue.",
    ),
    Metric(
        PATROLS,
        "Count",
        "`patrol_worker`, with each patrol that ended",
        "Jobs of patrols that were done, those that found nothing to do included.",
    ),
    Metric(
        PATROL_LAG,
        "Seconds",
        "`patrol_worker`, with each sweep (hourly)",
        "How long ago the oldest unfinished patrol was queued.",
    ),
    Metric(
        PATROL_BACKLOG,
        "Count",
        "`patrol_worker`, with each sweep (hourly)",
        "Beings that have something for a patrol to do. A sweep of many Beings writes several "
        "figures: their sum is the number.",
    ),
    Metric(
        INDEX_DRIFT,
        "Count",
        "`patrol_worker`, with each sweep (hourly)",
        "Beings whose search index lacks something that was written over a minute ago.",
    ),
    Metric(
        LLM_TOKENS,
        "Count",
        "`mcp_http` and `patrol_worker`, with each question to a language model",
        "Tokens that were read and written.",
    ),
    Metric(
        LLM_DOLLARS,
        "None",
        "`mcp_http` and `patrol_worker`, likewise, where `LlmPrices` is given",
        "What they cost, in dollars.",
    ),
    Metric(
        SPEND_CAPS,
        "Count",
        "`mcp_http` and `patrol_worker`, with each question that was not asked",
        "Questions that would have exceeded a Being's daily budget.",
    ),
)
"""Every metric that the functions write."""

_UNITS = {metric.name: metric.unit for metric in METRICS}


def members(stack: str, values: Mapping[str, float], *, at: float) -> str:
    """Return the JSON members, without braces, that add metrics to a line of the log.

    `at` is in seconds since 1970. Raises KeyError for a name that is not in METRICS.
    """
    values_json = "".join(f',"{name}":{value}' for name, value in values.items())
    return f'"_aws":{{"Timestamp":{int(at * 1000)},{_declared(stack, tuple(values))}{values_json}'


@cache
def _declared(stack: str, names: tuple[str, ...]) -> str:
    metrics = [{"Name": name, "Unit": _UNITS[name]} for name in names]
    about = [{"Namespace": NAMESPACE, "Dimensions": [[DIMENSION]], "Metrics": metrics}]
    text = json.dumps(about, separators=(",", ":"))
    return f'"CloudWatchMetrics":{text}}},"{DIMENSION}":{json.dumps(stack)}'


def count(stack: str, event: str, values: Mapping[str, float], **fields: object) -> None:
    """Write metrics to standard error as a line; without a stack nobody would read it."""
    if not stack:
        return
    line = json.dumps({"level": "info", "event": event, **fields})
    # A log that cannot be written must not fail the work.
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            metrics = members(stack, values, at=time.time())
            sys.stderr.write(f"{line[:-1]},{metrics}}}\n")
            sys.stderr.flush()

"""How a stack does, as CloudWatch knows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from functools import cached_property
from typing import Any

from botocore.exceptions import ClientError

from nacre.adapters.aws.calls import AwsCalls, error_code, unavailable
from nacre.adapters.aws.stack import StackResource, stack_resources
from nacre.core.clock import Clock
from nacre.core.errors import ForbiddenError
from nacre.core.metrics import (
    DIMENSION,
    FAULTS,
    INDEX_DRIFT,
    JOB_FAILURES,
    LATENCY,
    LLM_DOLLARS,
    LLM_TOKENS,
    NAMESPACE,
    PATROL_BACKLOG,
    PATROL_LAG,
    POLICY_DENIALS,
    REFUSALS,
    SPEND_CAPS,
)
from nacre.ports.health import Alarm, Figures, State

_STATES: dict[str, State] = {"OK": "ok", "ALARM": "alarm", "INSUFFICIENT_DATA": "no data"}
_FIRST: tuple[State, ...] = ("alarm", "no data", "ok")
_AT_ONCE = 100  # names that DescribeAlarms takes
_HOUR = 3600


@dataclass(frozen=True, slots=True)
class _Asked:
    """One figure: a metric of ours or of AWS's, and how the hours of it make one number."""

    metric: str
    statistic: str = "Sum"
    namespace: str = NAMESPACE
    of: str = ""  # the logical id of what AWS counts for
    period: int = 0  # of one value; 0 is all the hours at once


_ASKED = {
    "calls": _Asked(LATENCY, "SampleCount"),
    "refusals": _Asked(REFUSALS),
    "faults": _Asked(FAULTS),
    "policy_denials": _Asked(POLICY_DENIALS),
    "latency_p50_ms": _Asked(LATENCY, "p50"),
    "latency_p99_ms": _Asked(LATENCY, "p99"),
    "crashes": _Asked("Errors", namespace="AWS/Lambda", of="McpHttpFunction"),
    # What stands now is the newest value there is.
    "waiting_jobs": _Asked(
        "ApproximateNumberOfMessagesVisible", "Maximum", "AWS/SQS", "PatrolQueue", 300
    ),
    "dead_jobs": _Asked(
        "ApproximateNumberOfMessagesVisible", "Maximum", "AWS/SQS", "PatrolDeadLetterQueue", 300
    ),
    "job_failures": _Asked(JOB_FAILURES),
    "patrol_lag_seconds": _Asked(PATROL_LAG, "Maximum", period=_HOUR),
    "patrol_backlog": _Asked(PATROL_BACKLOG, "Maximum", period=_HOUR),
    "index_drift": _Asked(INDEX_DRIFT, "Maximum", period=_HOUR),
    "llm_tokens": _Asked(LLM_TOKENS),
    "llm_dollars": _Asked(LLM_DOLLARS),
    "spend_caps": _Asked(SPEND_CAPS),
}
_DIMENSIONS = {"AWS/Lambda": "FunctionName", "AWS/SQS": "QueueName"}


class CloudWatchHealth:
    """Reads the alarms and the metrics of one stack."""

    def __init__(self, cloudwatch: Any, cloudformation: Any, stack: str, *, clock: Clock) -> None:
        self._cloudwatch = AwsCalls(cloudwatch)
        self._cloudformation = cloudformation
        self._stack = stack
        self._clock = clock

    def alarms(self) -> Sequence[Alarm]:
        """Return every alarm of the stack, those that are on first."""
        known = {
            each.physical: each.logical
            for each in self._resources
            if each.kind == "AWS::CloudWatch::Alarm"
        }
        names, found = sorted(known), list[Alarm]()
        for start in range(0, len(names), _AT_ONCE):
            some = names[start : start + _AT_ONCE]
            asked = {"AlarmNames": some, "AlarmTypes": ["MetricAlarm"], "MaxRecords": _AT_ONCE}
            found += [
                Alarm(
                    name=known[each["AlarmName"]],
                    state=_STATES[each["StateValue"]],
                    since=each["StateUpdatedTimestamp"].astimezone(UTC),
                    description=each.get("AlarmDescription", ""),
                )
                for each in self._ask("describe_alarms", **asked)["MetricAlarms"]
            ]
        return sorted(found, key=lambda alarm: (_FIRST.index(alarm.state), alarm.name))

    def figures(self, hours: int) -> Figures:
        """Return what was counted in the last hours, at most 24."""
        names = {each.logical: each.physical for each in self._resources}
        # The hour that has begun counts as one.
        end = self._clock().replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
        whole = hours * _HOUR  # one value for all of it, so that percentiles are of all calls
        answer = self._ask(
            "get_metric_data",
            StartTime=end - timedelta(seconds=whole),
            EndTime=end,
            ScanBy="TimestampDescending",
            MetricDataQueries=[
                _query(name, asked, self._dimension(asked, names), asked.period or whole)
                for name, asked in _ASKED.items()
            ],
        )
        values = {row["Id"]: _one(_ASKED[row["Id"]], row) for row in answer["MetricDataResults"]}
        return Figures(hours=hours, **values)

    def _dimension(self, asked: _Asked, names: Mapping[str, str]) -> dict[str, str]:
        if not asked.of:
            return {"Name": DIMENSION, "Value": self._stack}
        # A queue's id is its URL.
        value = names.get(asked.of, "").rpartition("/")[2]
        return {"Name": _DIMENSIONS[asked.namespace], "Value": value or "none"}

    @cached_property
    def _resources(self) -> Sequence[StackResource]:
        return stack_resources(self._cloudformation, self._stack)

    def _ask(self, operation: str, **parameters: Any) -> Any:
        try:
            return self._cloudwatch.call(operation, twice=True, **parameters)
        except ClientError as error:
            if error_code(error) in ("AccessDenied", "AccessDeniedException"):
                raise ForbiddenError(f"these AWS credentials may not {operation}") from error
            raise unavailable(operation, error) from error


def _query(name: str, asked: _Asked, dimension: dict[str, str], period: int) -> dict[str, Any]:
    metric = {
        "Namespace": asked.namespace,
        "MetricName": asked.metric,
        "Dimensions": [dimension],
    }
    return {"Id": name, "MetricStat": {"Metric": metric, "Period": period, "Stat": asked.statistic}}


def _one(asked: _Asked, row: Mapping[str, Any]) -> float | None:
    """Return one number; CloudWatch may cut the time where a day ends."""
    values: list[float] = row.get("Values", [])
    if not values:
        return None
    if asked.period:
        return values[0]
    return sum(values) if asked.statistic in ("Sum", "SampleCount") else max(values)

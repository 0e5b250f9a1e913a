"""The health of a stack: its alarms and metrics in CloudWatch."""

from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta
from functools import cached_property
from typing import Any

from nacre.adapters.aws.calls import AwsCalls
from nacre.adapters.aws.stack import StackResource, stack_resources
from nacre.core.clock import Clock
from nacre.core.errors import ForbiddenError
from nacre.core.lazy_dataclasses import dataclass
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
from nacre.ports.operation.health import Alarm, Figures, State

_STATES: dict[str, State] = {"OK": "ok", "ALARM": "alarm", "INSUFFICIENT_DATA": "no data"}
_STATE_ORDER: tuple[State, ...] = ("alarm", "no data", "ok")
_PAGE = 100  # the most names that DescribeAlarms accepts
_HOUR = 3600


@dataclass(frozen=True, slots=True)
class _Figure:
    """One figure: a metric of Nacre or of AWS, and the statistic that summarizes its values."""

    metric: str
    statistic: str = "Sum"
    namespace: str = NAMESPACE
    of: str = ""  # the logical id of the resource that the metric is about
    period: int = 0  # seconds that one value covers; 0 for the whole time


_FIGURES = {
    "calls": _Figure(LATENCY, "SampleCount"),
    "refusals": _Figure(REFUSALS),
    "faults": _Figure(FAULTS),
    "policy_denials": _Figure(POLICY_DENIALS),
    "latency_p50_ms": _Figure(LATENCY, "p50"),
    "latency_p99_ms": _Figure(LATENCY, "p99"),
    "crashes": _Figure("Errors", namespace="AWS/Lambda", of="McpHttpFunction"),
    # Of these, the newest value is shown.
    "waiting_jobs": _Figure(
        "ApproximateNumberOfMessagesVisible", "Maximum", "AWS/SQS", "PatrolQueue", 300
    ),
    "dead_jobs": _Figure(
        "ApproximateNumberOfMessagesVisible", "Maximum", "AWS/SQS", "PatrolDeadLetterQueue", 300
    ),
    "job_failures": _Figure(JOB_FAILURES),
    "patrol_lag_seconds": _Figure(PATROL_LAG, "Maximum", period=_HOUR),
    "patrol_backlog": _Figure(PATROL_BACKLOG, "Maximum", period=_HOUR),
    "index_drift": _Figure(INDEX_DRIFT, "Maximum", period=_HOUR),
    "llm_tokens": _Figure(LLM_TOKENS),
    "llm_dollars": _Figure(LLM_DOLLARS),
    "spend_caps": _Figure(SPEND_CAPS),
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
        """Return every alarm of the stack, active ones first."""
        logical_names = {
            resource.physical: resource.logical
            for resource in self._resources
            if resource.kind == "AWS::CloudWatch::Alarm"
        }
        names, alarms = sorted(logical_names), list[Alarm]()
        for start in range(0, len(names), _PAGE):
            page = names[start : start + _PAGE]
            request = {"AlarmNames": page, "AlarmTypes": ["MetricAlarm"], "MaxRecords": _PAGE}
            alarms += [
                Alarm(
                    name=logical_names[entry["AlarmName"]],
                    state=_STATES[entry["StateValue"]],
                    since=entry["StateUpdatedTimestamp"].astimezone(UTC),
                    description=entry.get("AlarmDescription", ""),
                )
                for entry in self._ask("describe_alarms", **request)["MetricAlarms"]
            ]
        return sorted(alarms, key=lambda alarm: (_STATE_ORDER.index(alarm.state), alarm.name))

    def figures(self, hours: int) -> Figures:
        """Return the figures of the last hours, at most 24."""
        names = {resource.logical: resource.physical for resource in self._resources}
        # The current hour counts as a whole one.
        end = self._clock().replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
        seconds = hours * _HOUR  # a single value, so that percentiles cover all calls
        answer = self._ask(
            "get_metric_data",
            StartTime=end - timedelta(seconds=seconds),
            EndTime=end,
            ScanBy="TimestampDescending",
            MetricDataQueries=[
                _query(name, figure, self._dimension(figure, names), figure.period or seconds)
                for name, figure in _FIGURES.items()
            ],
        )
        values = {
            row["Id"]: _figure_value(_FIGURES[row["Id"]], row)
            for row in answer["MetricDataResults"]
        }
        return Figures(hours=hours, **values)

    def _dimension(self, figure: _Figure, names: Mapping[str, str]) -> dict[str, str]:
        if not figure.of:
            return {"Name": DIMENSION, "Value": self._stack}
        # A queue's id is its URL.
        value = names.get(figure.of, "").rpartition("/")[2]
        return {"Name": _DIMENSIONS[figure.namespace], "Value": value or "none"}

    @cached_property
    def _resources(self) -> Sequence[StackResource]:
        return stack_resources(self._cloudformation, self._stack)

    def _ask(self, operation: str, **parameters: Any) -> Any:
        forbidden = ForbiddenError(f"these AWS credentials may not {operation}")
        errors = dict.fromkeys(("AccessDenied", "AccessDeniedException"), forbidden)
        return self._cloudwatch.ask(operation, errors, **parameters)


def _query(name: str, figure: _Figure, dimension: dict[str, str], period: int) -> dict[str, Any]:
    metric = {
        "Namespace": figure.namespace,
        "MetricName": figure.metric,
        "Dimensions": [dimension],
    }
    return {
        "Id": name,
        "MetricStat": {"Metric": metric, "Period": period, "Stat": figure.statistic},
    }


def _figure_value(figure: _Figure, row: Mapping[str, Any]) -> float | None:
    """Return one number from the values; CloudWatch may return two if the time crosses midnight."""
    values: list[float] = row.get("Values", [])
    if not values:
        return None
    if figure.period:
        return values[0]
    return sum(values) if figure.statistic in ("Sum", "SampleCount") else max(values)

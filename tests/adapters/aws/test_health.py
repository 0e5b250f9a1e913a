"""Alarms and metrics of a stack, read from a fake CloudWatch."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from nacre.adapters.aws.health import CloudWatchHealth
from nacre.core.errors import ForbiddenError, UnavailableError
from nacre.core.metrics import DIMENSION, NAMESPACE
from tests.scaffolding.aws_stack import REGION

STACK = "nacre-prod"
NOW = datetime(2026, 11, 18, 12, 30, tzinfo=UTC)
QUEUES = {"PatrolQueue": "patrol.fifo", "PatrolDeadLetterQueue": "patrol-dead.fifo"}


class Resources:
    """CloudFormation, which tells the stack's resources one page at a time."""

    def __init__(self, *pages: list[tuple[str, str, str]]) -> None:
        self._pages = pages

    def list_stack_resources(self, StackName: str, NextToken: str = "0") -> Any:  # noqa: N803
        assert StackName == STACK
        number = int(NextToken)
        names = ("ResourceType", "LogicalResourceId", "PhysicalResourceId")
        rows = [dict(zip(names, each, strict=True)) for each in self._pages[number]]
        more = {"NextToken": str(number + 1)} if number + 1 < len(self._pages) else {}
        return {"StackResourceSummaries": rows, **more}


class WithoutPercentiles:
    """A CloudWatch that answers them with nothing: moto cannot work them out."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.asked: list[str] = []

    def get_metric_data(self, *, MetricDataQueries: list[Any], **others: Any) -> Any:  # noqa: N803
        known = []
        for query in MetricDataQueries:
            statistic = query["MetricStat"]["Stat"]
            if statistic.startswith("p"):
                self.asked.append(statistic)
            else:
                known.append(query)
        return self._client.get_metric_data(MetricDataQueries=known, **others)

    def describe_alarms(self, **parameters: Any) -> Any:
        return self._client.describe_alarms(**parameters)


@dataclass(frozen=True)
class World:
    cloudwatch: Any
    front: WithoutPercentiles
    health: CloudWatchHealth

    def put(self, name: str, *values: float, hours_ago: float = 1, stack: str = STACK) -> None:
        dimensions = [{"Name": DIMENSION, "Value": stack}]
        self._put(NAMESPACE, name, dimensions, values, hours_ago)

    def put_queue(self, queue: str, value: float, *, hours_ago: float) -> None:
        dimensions = [{"Name": "QueueName", "Value": queue}]
        self._put("AWS/SQS", "ApproximateNumberOfMessagesVisible", dimensions, [value], hours_ago)

    def _put(self, namespace: str, name: str, dimensions: Any, values: Any, hours: float) -> None:
        at = NOW - timedelta(hours=hours)
        about = {"MetricName": name, "Dimensions": dimensions, "Timestamp": at}
        self.cloudwatch.put_metric_data(
            Namespace=namespace, MetricData=[{**about, "Value": value} for value in values]
        )

    def alarm(self, name: str, state: str) -> None:
        self.cloudwatch.put_metric_alarm(
            AlarmName=name,
            AlarmDescription=f"about {name}",
            ComparisonOperator="GreaterThanThreshold",
            EvaluationPeriods=1,
            Namespace=NAMESPACE,
            MetricName="Faults",
            Period=300,
            Statistic="Sum",
            Threshold=0,
        )
        self.cloudwatch.set_alarm_state(AlarmName=name, StateValue=state, StateReason="test")


@pytest.fixture
def world() -> Iterator[World]:
    with mock_aws():
        session = boto3.Session(
            aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION
        )
        cloudwatch = session.client("cloudwatch")
        alarms = [
            ("AWS::CloudWatch::Alarm", name, f"{STACK}-{name}-1")
            for name in ("McpFaultAlarm", "DeadLetterAlarm", "QueueAgeAlarm")
        ]
        others = [
            ("AWS::SQS::Queue", name, f"https://sqs.{REGION}.amazonaws.com/1/{queue}")
            for name, queue in QUEUES.items()
        ]
        resources = Resources(alarms, [*others, ("AWS::Lambda::Function", "McpHttpFunction", "f")])
        front = WithoutPercentiles(cloudwatch)
        yield World(cloudwatch, front, CloudWatchHealth(front, resources, STACK, clock=lambda: NOW))


def test_alarms_have_their_names_in_the_template_and_those_that_are_on_come_first(
    world: World,
) -> None:
    world.alarm(f"{STACK}-DeadLetterAlarm-1", "ALARM")
    world.alarm(f"{STACK}-McpFaultAlarm-1", "OK")
    world.alarm(f"{STACK}-QueueAgeAlarm-1", "INSUFFICIENT_DATA")
    world.alarm(f"{STACK}-two-McpFaultAlarm-1", "ALARM")  # of another stack

    found = world.health.alarms()

    assert [(each.name, each.state) for each in found] == [
        ("DeadLetterAlarm", "alarm"),
        ("QueueAgeAlarm", "no data"),
        ("McpFaultAlarm", "ok"),
    ]
    assert found[0].description == f"about {STACK}-DeadLetterAlarm-1"
    assert found[0].since.tzinfo is UTC


def test_figures_are_of_the_hours_and_of_the_stack(world: World) -> None:
    world.put("Latency", 10, 20, 30)
    world.put("Latency", 40, hours_ago=20)
    world.put("Latency", 1000, hours_ago=30)
    world.put("Latency", 1000, stack="nacre-other")
    world.put("Faults", 1, 1)
    world.put("LlmDollars", 0.25, 0.5)

    found = world.health.figures(24)

    assert (found.hours, found.calls, found.faults, found.llm_dollars) == (24, 4, 2, 0.75)
    assert found.refusals is None
    assert world.front.asked == ["p50", "p99"]


def test_what_stands_now_is_the_newest_there_is(world: World) -> None:
    world.put("PatrolBacklog", 9, hours_ago=5)
    world.put("PatrolBacklog", 2, hours_ago=1)
    world.put_queue(QUEUES["PatrolDeadLetterQueue"], 7, hours_ago=3)
    world.put_queue(QUEUES["PatrolDeadLetterQueue"], 1, hours_ago=0.1)
    world.put_queue("of-another-stack.fifo", 50, hours_ago=0.1)

    found = world.health.figures(24)

    assert (found.patrol_backlog, found.dead_jobs, found.waiting_jobs) == (2, 1, None)


def test_the_hour_that_has_begun_counts(world: World) -> None:
    world.put("Latency", 5, hours_ago=0)

    assert world.health.figures(1).calls == 1


class Refusing:
    """A CloudWatch that answers every question with one error."""

    def __init__(self, code: str) -> None:
        self._code = code

    def describe_alarms(self, **_: object) -> Any:
        raise ClientError({"Error": {"Code": self._code, "Message": "no"}}, "DescribeAlarms")


@pytest.mark.parametrize(
    ("code", "kind"), [("AccessDenied", ForbiddenError), ("ValidationError", UnavailableError)]
)
def test_a_refusal_is_an_error_of_ours(code: str, kind: type[Exception]) -> None:
    resources = Resources([("AWS::CloudWatch::Alarm", "McpFaultAlarm", "a")])
    health = CloudWatchHealth(Refusing(code), resources, STACK, clock=lambda: NOW)

    with pytest.raises(kind):
        health.alarms()

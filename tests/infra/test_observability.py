"""Alarms, the dashboard and the runbook name what exists, and each other."""

import json
import re
from typing import Any

import click
import pytest

from nacre.cli.commands import commands
from nacre.core.metrics import DIMENSION, METRICS, NAMESPACE
from tests.infra.declared import ROOT, resources, template

ALARMS = resources("AWS::CloudWatch::Alarm")
NAMES = {metric.name for metric in METRICS}
RUNBOOK = ROOT / "docs" / "guides" / "runbook.md"
_HEADING = re.compile(r"^### (`\w+`(?:, `\w+`)*)$", re.MULTILINE)


def watched(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the metrics that an alarm looks at."""
    several = [each for each in alarm.get("Metrics", ()) if "MetricStat" in each]
    return [each["MetricStat"]["Metric"] for each in several] or [alarm]


def dashboard() -> list[dict[str, Any]]:
    """Return the widgets of the dashboard, whose variables are texts like any other."""
    [board] = resources("AWS::CloudWatch::Dashboard").values()
    widgets: list[dict[str, Any]] = json.loads(board["DashboardBody"]["Fn::Sub"])["widgets"]
    return widgets


def test_an_alarm_about_a_metric_of_ours_names_one_that_is_written_for_this_stack() -> None:
    seen = set()
    for name, alarm in ALARMS.items():
        for metric in watched(alarm):
            if metric["Namespace"] == NAMESPACE:
                seen.add(metric["MetricName"])
                [dimension] = metric["Dimensions"]
                assert dimension["Name"] == DIMENSION, name
                assert dimension["Value"] == {"Ref": "AWS::StackName"}, name

    assert seen <= NAMES
    assert seen >= {"Latency", "Refusals", "Faults", "PatrolLag", "IndexDrift", "SpendCaps"}


def test_what_a_sweep_finds_is_judged_over_more_than_one_sweep() -> None:
    """The schedule has a window of fifteen minutes, so that an hour may have none.

    A sweep of many Beings writes several figures, of which the largest counts.
    """
    for name in ("PatrolLagAlarm", "IndexDriftAlarm"):
        alarm = ALARMS[name]
        assert (alarm["Statistic"], alarm["Period"], alarm["EvaluationPeriods"]) == (
            "Maximum",
            7200,
            2,
        ), name


def test_the_dashboard_shows_every_metric_of_ours() -> None:
    shown = {
        metric[1]
        for widget in dashboard()
        for metric in widget["properties"]["metrics"]
        if metric[0] == NAMESPACE
    }

    assert shown == NAMES


def test_the_dashboard_is_of_this_stack_and_its_widgets_do_not_overlap() -> None:
    known = {"AWS::Region", "AWS::StackName", *template()["Resources"]}
    fields: set[tuple[int, int]] = set()
    for widget in dashboard():
        properties = widget["properties"]
        assert properties["region"] == "${AWS::Region}"
        for namespace, _name, *rest in properties["metrics"]:
            dimension, value, _style = rest
            names = re.findall(r"\$\{(\w+(?:::\w+)?)(?:\.\w+)?\}", value)
            assert names, value
            assert set(names) <= known, value
            assert (dimension == DIMENSION) is (namespace == NAMESPACE)
        area = {
            (x, y)
            for x in range(widget["x"], widget["x"] + widget["width"])
            for y in range(widget["y"], widget["y"] + widget["height"])
        }
        assert not area & fields, properties["title"]
        assert max(x for x, _ in area) < 24
        fields |= area


def sections() -> dict[str, str]:
    """Return the runbook's section of each alarm; alarms of one kind share a section."""
    parts = _HEADING.split(RUNBOOK.read_text())
    return {
        name: text
        for heading, text in zip(parts[1::2], parts[2::2], strict=True)
        for name in re.findall(r"\w+", heading)
    }


def test_the_runbook_has_one_section_for_each_alarm_and_for_no_other() -> None:
    headings = _HEADING.findall(RUNBOOK.read_text())
    names = [name for heading in headings for name in re.findall(r"\w+", heading)]

    assert sorted(names) == sorted(ALARMS)


@pytest.mark.parametrize("name", sorted(ALARMS))
def test_a_section_says_what_it_means_where_to_look_and_what_to_do(name: str) -> None:
    text = sections()[name]

    for part in ("**Means**", "**Look**", "**Do**"):
        assert text.count(part) == 1, part
    description = re.sub(r"\w+Function\b", "a function", ALARMS[name]["AlarmDescription"])
    assert description.lower() in text.lower()


def test_metrics_that_the_runbook_names_exist() -> None:
    text = RUNBOOK.read_text()
    seen = {metric["MetricName"] for alarm in ALARMS.values() for metric in watched(alarm)}

    for name in re.findall(r"metric `(\w+)`", text):
        assert name in NAMES | seen, name


def test_commands_of_the_runbook_exist() -> None:
    found = re.findall(r"`nacre ([a-z]+(?: [a-z]+)?)", RUNBOOK.read_text())

    assert found
    for words in found:
        command: click.Command = commands
        for word in words.split():
            if not isinstance(command, click.Group):
                break
            inner = command.get_command(click.Context(command), word)
            assert inner is not None, words
            command = inner

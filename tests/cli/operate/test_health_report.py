"""`nacre status --stack`: alarms and figures, and what is told without them."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from nacre.cli.operate.health_report import health_lines, health_of
from nacre.core.errors import ForbiddenError
from nacre.ports.operation.health import Alarm, Figures
from tests.cli.conftest import Nacre
from tests.wiring.deployed import deployed

SINCE = datetime(2026, 11, 18, 12, tzinfo=UTC)


class Stack:
    """A stack with two alarms, one of them on."""

    def alarms(self) -> Sequence[Alarm]:
        return [
            Alarm("DeadLetterAlarm", "alarm", SINCE, "Background work failed three times"),
            Alarm("McpFaultAlarm", "ok", SINCE, "More than 1 %"),
        ]

    def figures(self, hours: int) -> Figures:
        return Figures(hours=hours, calls=12345, faults=3, latency_p50_ms=4.25, dead_jobs=2)


class Stranger(Stack):
    def alarms(self) -> Sequence[Alarm]:
        raise ForbiddenError("these AWS credentials may not describe_alarms")


def test_people_read_which_alarms_are_on_and_what_a_day_has_counted() -> None:
    assert list(health_lines(health_of(Stack()))) == [
        "Alarms:  1 of 2 active",
        "  DeadLetterAlarm since 2026-11-18T12:00:00Z: Background work failed three times",
        "  What to do: docs/guides/runbook.md",
        "Last 24 hours ('-' was not counted):",
        "  Calls:    12,345, refused -, failed 3, denied by policy -, crashed -",
        "  Answered: half within 4.25 ms, 99 % within - ms",
        "  Jobs:     waiting -, dead 2, failed attempts -",
        "  Patrols:  Beings with work -, the oldest queued - s ago; indexes that drift -",
        "  Model:    - tokens, - dollars, questions over budget -",
    ]


def test_programs_read_the_same() -> None:
    found = health_of(Stack())

    assert found["alarms"][0]["state"] == "alarm"
    assert (found["figures"]["calls"], found["figures"]["refusals"]) == (12345, None)


def test_without_the_right_to_see_alarms_the_reason_is_told() -> None:
    found = health_of(Stranger())

    assert found == {"problem": "these AWS credentials may not describe_alarms"}
    assert list(health_lines(found)) == [
        "Alarms:  unknown: these AWS credentials may not describe_alarms"
    ]


def test_a_stack_tells_how_it_does(nacre: Nacre, monkeypatch: pytest.MonkeyPatch) -> None:
    with deployed(monkeypatch) as stack:
        nacre("being", "create", "Ann", "--stack", stack)
        told = nacre("status", "--stack", stack)
        found = nacre("status", "--json", "--stack", stack).json()

    assert (told.code, told.err) == (0, "")
    # The fake CloudFormation makes no alarms.
    assert "Alarms:  none of 0 active" in told.out
    assert found["health"]["alarms"] == []
    assert found["health"]["figures"]["calls"] is None


def test_this_machine_has_no_alarms(nacre: Nacre) -> None:
    nacre("being", "create", "Ann")

    assert "Alarms" not in nacre("status").out
    assert "health" not in nacre("status", "--json").json()

"""Limits of calls at a time at the MCP entry: every call gives its place back."""

from pathlib import Path
from typing import Any

import pytest

from nacre.core.coroutines import step
from nacre.firewall.enforce.judge import Judge
from nacre.firewall.entry.entry_judge import EntryJudge
from nacre.firewall.limits.call_limits import CallLimits
from nacre.firewall.policies.live_policy import FixedPolicy
from nacre.ports.items.table import Table
from nacre.protocol.context import Context
from tests.adapters.conftest import StillClock
from tests.firewall.deciding import policy
from tests.firewall.entry.test_guarded_surface import NOW, entry
from tests.firewall.guarding import Notebook

ALLOW = '[[rule]]\naction = "allow"\ntool = "**"\n'
ONE = '[[limit]]\ntool = "**"\nconcurrency = 1\n'
SNAPSHOT = {"uri": "nacre://context/snapshot"}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", NOW),
        ("tools/call", {"name": "get_current_time", "arguments": {"wrong": 1}}),
        ("resources/read", SNAPSHOT),
        ("resources/read", {"uri": "nacre://nothing"}),
        ("resources/read", {"uri": f"nacre://results/{'a' * 32}"}),
    ],
)
def test_a_call_gives_its_place_back_however_it_ends(
    tmp_path: Path, method: str, params: dict[str, Any]
) -> None:
    with entry(tmp_path, ALLOW + ONE) as server:
        for _ in range(3):
            assert "at a time" not in str(server.ask(method, params))
        assert "isError" not in server.ask("tools/call", NOW)["result"]


class Nested:
    """A tool that calls itself once while it runs."""

    blocking = True
    read_only = True

    def __init__(self, judge: EntryJudge) -> None:
        self._judge = judge
        self.inner: list[Any] = []

    def to_dict(self) -> dict[str, Any]:
        return {"content": []}

    async def call(self, arguments: dict[str, Any], context: Context) -> "Nested":
        del arguments
        result = await self._judge.call_tool("nested", FAILING, {}, context)
        self.inner.append(result.to_dict())
        return self


class Failing:
    """A tool that must not be called."""

    blocking = True
    read_only = True

    async def call(self, arguments: dict[str, Any], context: Context) -> Any:
        raise AssertionError


FAILING = Failing()


def test_a_call_during_another_one_is_denied(table: Table, clock: StillClock) -> None:
    audit = Notebook()
    source, limits = FixedPolicy(policy(ALLOW + ONE)), CallLimits(table, clock)
    judge = Judge(source, audit, print, "nacre", limits=limits)
    entry_judge = EntryJudge(lambda _: judge)
    tool = Nested(entry_judge)

    for _ in range(2):
        step(entry_judge.call_tool("nested", tool, {}, Context.detached()))

    texts = [result["content"][0]["text"] for result in tool.inner]
    assert [text.partition(": ")[2] for text in texts] == [
        "the limit of 1 call at a time is reached; try again in 5 seconds"
    ] * 2
    assert [outcome for outcome, _ in audit.outcomes()] == ["allow", "deny"] * 2


def test_own_results_and_resources_use_a_budget_of_bytes_up(tmp_path: Path) -> None:
    budget = '[[limit]]\ntool = "**"\nbytes = 500\nper = "day"\nby = "tool"\n'
    with entry(tmp_path, ALLOW + budget) as server:
        times = [str(server.ask("tools/call", NOW)) for _ in range(9)]
        reads = [str(server.ask("resources/read", SNAPSHOT)) for _ in range(9)]

    assert "too little left" not in times[0] + reads[0]
    assert "too little left" in times[-1]
    assert "too little left" in reads[-1]

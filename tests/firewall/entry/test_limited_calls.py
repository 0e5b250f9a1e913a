"""Limits of calls at a time at the MCP entry: every call gives its place back."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nacre.core.coroutines import step
from nacre.core.errors import MalformedJsonError, OffersChangedError, UnavailableError
from nacre.firewall.enforce.judge import Judge
from nacre.firewall.enforce.message import parse
from nacre.firewall.entry.entry_judge import EntryJudge
from nacre.firewall.limits.call_limits import CallLimits
from nacre.firewall.policies.live_policy import FixedPolicy, PolicySource
from nacre.firewall.rules.policy import Policy
from nacre.ports.items.table import Table
from nacre.protocol.context import Context
from nacre.protocol.large_calls import ArgumentsSummary, LargeArguments
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

    assert "not have enough left" not in times[0] + reads[0]
    assert "not have enough left" in times[-1]
    assert "not have enough left" in reads[-1]


class Moved:
    """A tool whose server offers something else the first time, as a new session may."""

    blocking = True
    read_only = True

    def __init__(self) -> None:
        self.calls = 0

    def to_dict(self) -> dict[str, Any]:
        return {"content": []}

    async def call(self, arguments: dict[str, Any], context: Context) -> "Moved":
        self.calls += 1
        if self.calls == 1:
            raise OffersChangedError("files")
        return self

    async def send(self) -> Mapping[str, Any]:
        return (await self.call({}, Context.detached())).to_dict()


PER_DAY = ['calls = 1\nper = "day"', 'bytes = 3\nper = "day"', "concurrency = 1"]


def deciding(source: PolicySource, table: Table, clock: StillClock) -> EntryJudge:
    """Return an entry with the rules of a source."""
    judge = Judge(source, Notebook(), print, "nacre", limits=CallLimits(table, clock))
    return EntryJudge(lambda _: judge)


@pytest.mark.parametrize("amount", PER_DAY)
def test_a_call_that_is_decided_again_counts_once(
    table: Table, clock: StillClock, amount: str
) -> None:
    text = f'{ALLOW}[[limit]]\ntool = "**"\n{amount}\n'
    entry_judge = deciding(FixedPolicy(policy(text)), table, clock)
    tool = Moved()

    result = step(entry_judge.call_tool("moved", tool, {}, Context.detached()))

    assert result is tool
    again = step(entry_judge.call_tool("moved", tool, {}, Context.detached())).to_dict()
    assert ("isError" in again) is (amount != PER_DAY[2])


@pytest.mark.parametrize("amount", PER_DAY)
def test_a_read_that_is_decided_again_counts_once(
    table: Table, clock: StillClock, amount: str
) -> None:
    text = f'{ALLOW}[[limit]]\nmethod = "resources/read"\n{amount}\n'.replace(
        "bytes = 3", "bytes = 40"
    )
    entry_judge = deciding(FixedPolicy(policy(text)), table, clock)
    tool = Moved()

    value = step(entry_judge.request("resources/read", SNAPSHOT, Context.detached(), tool.send))

    assert (value, tool.calls) == ({"content": []}, 2)


class Changing:
    """A policy that is another one from its second reading on, or is lost."""

    def __init__(self, first: str, then: str | None) -> None:
        self._first, self._then = first, then
        self.changes = False

    def current(self) -> Policy:
        text = self._then if self.changes else self._first
        if text is None:
            raise UnavailableError("no policy")
        return policy(text)


@pytest.mark.parametrize("then", [None, '[[rule]]\naction = "deny"\ntool = "**"\n'])
def test_a_call_that_is_denied_when_decided_again_keeps_no_place(
    table: Table, clock: StillClock, then: str | None
) -> None:
    source = Changing(ALLOW + ONE, then)
    entry_judge = deciding(source, table, clock)

    class Changed(Moved):
        async def call(self, arguments: dict[str, Any], context: Context) -> "Moved":
            source.changes = self.calls == 0
            return await super().call(arguments, context)

    tool = Changed()
    denied = step(entry_judge.call_tool("moved", tool, {}, Context.detached())).to_dict()
    assert (denied["isError"], tool.calls) == (True, 1)

    source.changes = False
    assert step(entry_judge.call_tool("moved", tool, {}, Context.detached())) is tool


def test_arguments_that_cannot_be_read_keep_no_place(table: Table, clock: StillClock) -> None:
    entry_judge = deciding(FixedPolicy(policy(ALLOW + ONE)), table, clock)
    tool = Moved()
    broken: Any = LargeArguments(b"{", ArgumentsSummary("0" * 64, {})).read_by(parse)

    with pytest.raises(MalformedJsonError):
        step(entry_judge.call_tool("moved", tool, broken, Context.detached()))

    tool.calls = 1
    assert step(entry_judge.call_tool("moved", tool, {}, Context.detached())) is tool

import json
from collections.abc import Iterator
from typing import Any

import pytest

from nacre.core.errors import UnavailableError
from nacre.firewall.enforce.verdicts import Answer, Forward
from nacre.firewall.limits.call_limits import CallLimits
from nacre.firewall.policies.live_policy import FixedPolicy
from nacre.ports.items.table import Table
from tests.adapters.conftest import StillClock
from tests.firewall.deciding import policy
from tests.firewall.guarding import ALLOW, Person, Scene

LIMIT = '[[limit]]\ntool = "send"\ncalls = 2\nper = "minute"\n'


@pytest.fixture
def limits(clock: StillClock) -> Iterator[CallLimits]:
    from nacre.adapters.sqlite.database import SqliteDatabase
    from nacre.adapters.sqlite.table import SqliteTable

    database = SqliteDatabase(":memory:")
    yield CallLimits(SqliteTable(database, now=clock), clock)
    database.close()


def texts(scene: Scene, tool: str, times: int) -> list[str | None]:
    """Return the refusal of each call, or None for one that is made."""
    refusals: list[str | None] = []
    for _ in range(times):
        message = scene.call(tool)
        verdict = scene.up(message)
        if isinstance(verdict, Forward):
            scene.down({"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}})
            refusals.append(None)
        else:
            assert isinstance(verdict, Answer)
            result = json.loads(verdict.raw)["result"]
            assert result["isError"]
            refusals.append(result["content"][0]["text"])
    return refusals


def test_a_call_above_a_limit_is_refused_and_recorded(limits: CallLimits) -> None:
    scene = Scene(ALLOW + LIMIT, limits=limits)

    made = texts(scene, "send", 3)

    assert made[:2] == [None, None]
    assert made[2] is not None
    assert "limit 1" in made[2]
    assert "the limit of 2 calls a minute is used up" in made[2]
    assert texts(scene, "read", 3) == [None] * 3
    assert [entry.outcome for entry in scene.audit.entries] == ["allow"] * 2 + ["deny"] + [
        "allow"
    ] * 3


def test_conversations_and_messages_of_any_form_count_together(limits: CallLimits) -> None:
    scene = Scene(ALLOW + LIMIT, limits=limits)
    assert isinstance(scene.up({**scene.call("send"), "extra": 1}), Forward)  # not the fast path
    scene.guard = scene.new_guard()

    assert [text is None for text in texts(scene, "send", 3)] == [True, False, False]


def test_denied_calls_use_nothing_up(limits: CallLimits) -> None:
    denied = '[[rule]]\naction = "deny"\ntool = "send"\nargs.to = "eve"\n'
    scene = Scene(denied + ALLOW + LIMIT, limits=limits)
    for _ in range(5):
        assert isinstance(scene.up(scene.call("send", {"to": "eve"})), Answer)

    assert texts(scene, "send", 2) == [None, None]


def test_a_person_is_asked_about_calls_above_a_limit_that_asks(limits: CallLimits) -> None:
    person = Person()
    scene = Scene(ALLOW + LIMIT + 'action = "prompt"\n', limits=limits, approver=person)

    assert texts(scene, "send", 4) == [None] * 4
    assert len(person.asked) == 2
    assert "the limit of 2 calls a minute is used up" in person.asked[0].decision.text


def test_an_approval_does_not_lift_a_limit_that_denies(limits: CallLimits) -> None:
    person = Person()
    asks = '[[rule]]\naction = "prompt"\ntool = "send"\n'
    scene = Scene(asks + LIMIT, limits=limits, approver=person)

    made = texts(scene, "send", 3)

    assert [text is None for text in made] == [True, True, False]


def test_monitoring_only_records_calls_above_a_limit(limits: CallLimits) -> None:
    scene = Scene(ALLOW + LIMIT + '[settings]\nmode = "monitor"\n', limits=limits)

    assert texts(scene, "send", 3) == [None] * 3
    last = scene.audit.entries[-1]
    assert (last.outcome, last.enforced) == ("deny", False)


def test_without_counts_no_limited_call_is_made(limits: CallLimits) -> None:
    del limits
    scene = Scene(ALLOW + LIMIT)

    [told] = texts(scene, "send", 1)

    assert told is not None
    assert "its limits cannot be counted now" in told
    assert scene.told == ["limits cannot be counted: limits are not counted here"]


def test_a_store_that_fails_lets_no_limited_call_pass(
    limits: CallLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(ALLOW + LIMIT, limits=limits)

    def fail(*_: Any, **__: Any) -> Any:
        raise UnavailableError("the disk is full")

    monkeypatch.setattr(CallLimits, "count", fail)

    [told] = texts(scene, "send", 1)
    assert told is not None
    assert texts(scene, "read", 1) == [None]


def test_a_policy_that_gets_a_limit_counts_from_then_on(limits: CallLimits) -> None:
    scene = Scene(ALLOW, limits=limits)
    assert texts(scene, "send", 5) == [None] * 5

    object.__setattr__(scene.judge, "source", FixedPolicy(policy(ALLOW + LIMIT)))

    assert [text is None for text in texts(scene, "send", 3)] == [True, True, False]


def test_a_limit_counts_what_a_server_asks_of_the_client(table: Table, clock: StillClock) -> None:
    text = '[[limit]]\nmethod = "sampling/createMessage"\ncalls = 1\nper = "hour"\n'
    scene = Scene(ALLOW + text, limits=CallLimits(table, clock)).opened(
        "2025-06-18", {"sampling": {}}
    )
    ask = {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}]}

    asked = [
        scene.down({"jsonrpc": "2.0", "id": id_, "method": "sampling/createMessage", "params": ask})
        for id_ in (1, 2)
    ]

    assert isinstance(asked[0], Forward)
    assert not isinstance(asked[1], Forward)

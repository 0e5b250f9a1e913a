import gc
import json
from collections.abc import Iterator
from typing import Any

import pytest

from nacre.core.errors import UnavailableError
from nacre.firewall.approvals.approver import Waiting
from nacre.firewall.enforce.large_results import LargeFindings, LargeMessage
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold
from nacre.firewall.limits.call_limits import CallLimits
from nacre.firewall.policies.live_policy import FixedPolicy
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.firewall.rules.policy import Policy
from nacre.ports.items.table import Table
from tests.adapters.conftest import StillClock
from tests.firewall.deciding import policy
from tests.firewall.guarding import ALLOW, Person, Scene, notification, response

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


SIZE = '[[limit]]\ntool = "send"\nresult_bytes = 1000\n'
LONG = {"content": [{"type": "text", "text": "é" * 5000}]}


def shown(verdict: Any) -> Any:
    assert isinstance(verdict, Forward)
    return json.loads(verdict.raw)["result"]


def test_a_large_result_is_cut_and_recorded(limits: CallLimits) -> None:
    scene = Scene(ALLOW + SIZE, limits=limits)

    cut = shown(scene.answered(scene.call("send"), LONG))
    other = shown(scene.answered(scene.call("read"), LONG))

    assert cut["content"][0]["text"].strip("é") == ""
    assert cut["content"][1]["text"] == (
        "[Cut by policy (limit 1): this result is 10,039 bytes; the limit is 1,000."
        " The rest is not stored.]"
    )
    assert other == LONG
    last = scene.audit.entries[-2]
    assert (last.outcome, last.note) == ("note", "a result of 10,039 bytes was cut (limit 1)")


def test_secrets_are_removed_before_a_result_is_cut(limits: CallLimits) -> None:
    token = "ghp" + "_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    secret = {"content": [{"type": "text", "text": f"{token} " * 200}]}
    text = ALLOW + SIZE + '[secrets]\naction = "redact"\n'
    scene = Scene(text, limits=limits)

    cut = shown(scene.answered(scene.call("send"), secret))

    assert cut["content"][0]["text"].startswith("[redacted: github-token] [redacted")
    assert "ghp" not in json.dumps(cut)
    assert "Cut by policy" in cut["content"][1]["text"]


def test_a_question_of_the_server_is_not_cut(limits: CallLimits) -> None:
    scene = Scene(ALLOW + '[[rule]]\naction = "allow"\nmethod = "**"\n' + SIZE, limits=limits)
    question = {
        "resultType": "input_required",
        "inputRequests": {"a": {"method": "roots/list"}},
        "requestState": "s" * 3000,
    }

    assert shown(scene.answered(scene.call("send"), question)) == question


def test_a_result_that_cannot_be_recorded_as_cut_is_not_forwarded(limits: CallLimits) -> None:
    scene = Scene(ALLOW + SIZE, limits=limits)
    message = scene.call("send")
    assert isinstance(scene.up(message), Forward)
    scene.audit.fails = True

    verdict = scene.down({"jsonrpc": "2.0", "id": message["id"], "result": LONG})

    assert shown(verdict)["isError"] is True
    assert "the audit cannot be written" in shown(verdict)["content"][0]["text"]


def test_a_result_that_was_screened_elsewhere_is_cut_too(limits: CallLimits) -> None:
    scene = Scene(ALLOW + SIZE, limits=limits)
    message = scene.call("send")
    assert isinstance(scene.up(message), Forward)
    raw = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": LONG}).encode()
    digest = scene.judge.policy().digest
    large = LargeMessage(message["id"], "tools/call", {}, digest, lines=True)
    findings = LargeFindings(None, None, None, None, message["id"])

    verdict = scene.guard.from_screening(raw, large, findings)

    assert "Cut by policy" in shown(verdict)["content"][1]["text"]


def test_monitoring_cuts_nothing(limits: CallLimits) -> None:
    scene = Scene(ALLOW + SIZE + '[settings]\nmode = "monitor"\n', limits=limits)

    assert shown(scene.answered(scene.call("send"), LONG)) == LONG
    assert scene.audit.entries[-1].note == "a result of 10,039 bytes would be cut (limit 1)"


ONE = '[[limit]]\ntool = "send"\nconcurrency = 1\n'
EMPTY: dict[str, Any] = {"content": []}


def refusal(verdict: Any) -> str:
    assert isinstance(verdict, Answer)
    text: str = json.loads(verdict.raw)["result"]["content"][0]["text"]
    return text


def test_a_call_that_runs_keeps_others_out_until_its_answer(limits: CallLimits) -> None:
    scene = Scene(ALLOW + ONE, limits=limits)
    first = scene.call("send")
    assert isinstance(scene.up(first), Forward)

    assert "the limit of 1 call at a time is reached" in refusal(scene.up(scene.call("send")))
    assert isinstance(scene.up(scene.call("read")), Forward)
    scene.down(response(first["id"], EMPTY))
    assert isinstance(scene.up(scene.call("send")), Forward)


@pytest.mark.parametrize("end", ["cancelled", "no answer", "error", "unreadable"])
def test_a_call_that_ends_otherwise_gives_its_place_back(limits: CallLimits, end: str) -> None:
    scene = Scene(ALLOW + ONE, limits=limits)
    message = scene.call("send")
    assert isinstance(scene.up(message), Forward)
    match end:
        case "cancelled":
            scene.up(notification("notifications/cancelled", {"requestId": message["id"]}))
        case "no answer":
            scene.guard.close_request(JsonNumber(str(message["id"])), "it is gone", code=-32000)
        case "error":
            error = {"code": -32000, "message": "no"}
            scene.down({"jsonrpc": "2.0", "id": message["id"], "error": error})
        case _:
            scene.down(f'{{"jsonrpc": "2.0", "id": {message["id"]}, "result": NaN}}'.encode())

    assert isinstance(scene.up(scene.call("send")), Forward)


def test_a_call_that_is_not_recorded_keeps_no_place(limits: CallLimits) -> None:
    scene = Scene(ALLOW + ONE, limits=limits)
    scene.audit.fails = True
    assert "audit" in refusal(scene.up(scene.call("send")))

    scene.audit.fails = False
    assert isinstance(scene.up(scene.call("send")), Forward)


def test_a_held_call_has_a_place_once_it_is_approved(limits: CallLimits) -> None:
    person = Person(by=Waiting("t1", "asked", 60))
    asks = '[[rule]]\naction = "prompt"\ntool = "send"\nargs.ask = "*"\n'
    scene = Scene(asks + ALLOW + ONE, limits=limits, approver=person)
    held = scene.call("send", {"ask": "yes"})
    assert isinstance(scene.up(held), Hold)
    other = scene.call("send")
    assert isinstance(scene.up(other), Forward)
    scene.down(response(other["id"], EMPTY))

    [release] = scene.guard.poll()

    assert release.to == "server"
    assert "at a time" in refusal(scene.up(scene.call("send")))
    scene.down(response(held["id"], EMPTY))
    assert isinstance(scene.up(scene.call("send")), Forward)


def test_a_closing_proxy_gives_the_places_of_open_calls_back(limits: CallLimits) -> None:
    scene = Scene(ALLOW + ONE, limits=limits)
    assert isinstance(scene.up(scene.call("send")), Forward)

    limits.end_all()

    assert isinstance(scene.up(scene.call("send")), Forward)


def test_a_forgotten_guard_keeps_its_places_until_the_proxy_closes(limits: CallLimits) -> None:
    scene = Scene(ALLOW + ONE, limits=limits)
    assert isinstance(scene.up(scene.call("send")), Forward)
    scene.guard = scene.new_guard()
    gc.collect()
    assert "at a time" in refusal(scene.up(scene.call("send")))

    limits.end_all()

    assert isinstance(scene.up(scene.call("send")), Forward)


def test_requests_that_are_ended_together_give_their_places_back(limits: CallLimits) -> None:
    person = Person(by=Waiting("t1", "asked", 60))
    asks = '[[rule]]\naction = "prompt"\ntool = "send"\nargs.ask = "*"\n'
    scene = Scene(asks + ALLOW + ONE, limits=limits, approver=person)
    assert isinstance(scene.up(scene.call("send", {"ask": "yes"})), Hold)
    late = scene.call("send")
    assert isinstance(scene.up(late), Forward)

    scene.guard.end_requests()

    assert not scene.guard.holds
    assert scene.guard.poll() == []
    assert isinstance(scene.down(response(late["id"], EMPTY)), Drop)
    assert isinstance(scene.up(scene.call("send")), Forward)


class Failing:
    """A policy that cannot be read any more after the decision."""

    def __init__(self, text: str, readings: int) -> None:
        self._policy = policy(text)
        self.readings = readings

    def current(self) -> Policy:
        self.readings -= 1
        if self.readings < 0:
            raise UnavailableError("the policy is gone")
        return self._policy


@pytest.mark.parametrize("readings", range(1, 5))
def test_an_error_after_the_count_keeps_no_place(limits: CallLimits, readings: int) -> None:
    scene = Scene(ALLOW + ONE, limits=limits)
    source = Failing(ALLOW + ONE, readings)
    object.__setattr__(scene.judge, "source", source)
    message = scene.call("send")
    message["params"]["inputResponses"] = {"name": {"action": "accept"}}
    verdict = scene.up(message)
    if isinstance(verdict, Forward):
        scene.down(response(message["id"], EMPTY))

    source.readings = 100
    assert isinstance(scene.up(scene.call("send")), Forward)


def test_an_error_of_the_protocol_uses_only_its_arguments_up(limits: CallLimits) -> None:
    scene = Scene(ALLOW + BUDGET.replace("1000", "4"), limits=limits)
    for _ in range(2):
        message = scene.call("send")
        assert isinstance(scene.up(message), Forward)
        error = {"code": -32000, "message": "x" * 500}
        scene.down({"jsonrpc": "2.0", "id": message["id"], "error": error})
    assert "bytes a day" in refusal(scene.up(scene.call("send")))


BUDGET = '[[limit]]\ntool = "send"\nbytes = 1000\nper = "day"\n'


@pytest.mark.parametrize("is_large", [False, True])
def test_results_use_a_budget_of_bytes_up(limits: CallLimits, is_large: bool) -> None:
    scene = Scene(ALLOW + BUDGET, limits=limits)
    message = scene.call("send")
    assert isinstance(scene.up(message), Forward)
    raw = json.dumps(response(message["id"], LONG)).encode()
    if is_large:
        digest = scene.judge.policy().digest
        large = LargeMessage(message["id"], "tools/call", {}, digest, lines=True)
        findings = LargeFindings(None, None, None, None, message["id"])
        assert shown(scene.guard.from_screening(raw, large, findings)) == LONG
    else:
        assert shown(scene.down(raw)) == LONG

    told = refusal(scene.up(scene.call("send")))

    assert "the limit of 1,000 bytes a day does not have enough left for this call" in told


def test_errors_have_no_bytes(limits: CallLimits) -> None:
    scene = Scene(ALLOW + BUDGET, limits=limits)
    for _ in range(5):
        message = scene.call("send")
        assert isinstance(scene.up(message), Forward)
        error = {"code": -32000, "message": "x" * 500}
        scene.down({"jsonrpc": "2.0", "id": message["id"], "error": error})
    assert isinstance(scene.up(scene.call("send")), Forward)


def test_results_that_are_cut_never_pass_the_budget(limits: CallLimits) -> None:
    scene = Scene(ALLOW + SIZE + BUDGET.replace("1000", "3000"), limits=limits)
    sizes = []
    while isinstance(verdict := scene.up(message := scene.call("send")), Forward):
        result = shown(scene.down(response(message["id"], LONG)))
        sizes.append(len(json.dumps(result, separators=(",", ":"), ensure_ascii=False).encode()))

    assert "does not have enough left" in refusal(verdict)
    assert len(sizes) >= 2
    assert max(sizes) <= 1000
    assert sum(sizes) + len(sizes) * len("{}") <= 3000

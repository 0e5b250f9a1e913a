"""An approval counts for one exact call, in time, and is used up: on both stores."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.firewall.approvals.approver import (
    Approval,
    ApprovalRequest,
    Granted,
    Question,
    Refused,
    Waiting,
)
from nacre.firewall.approvals.service import Denial, Grant
from nacre.firewall.content.digests import arguments_sha256
from nacre.firewall.rules.sections import Settings
from nacre.firewall.suggested_commands import Commands
from nacre.ports.items.table import Table
from tests.adapters.conftest import StillClock
from tests.firewall.approving import MINUTES, NO, ONCE, SESSION, TOOL, Office, wish

OTHERS = {
    "arguments": wish(arguments={"path": "/tmp/b"}),
    "one argument more": wish(arguments={"path": "/tmp/a", "force": True}),
    "principal": wish(principal="tok_2"),
    "server": wish(server="disk"),
    "tool": wish(tool="wipe"),
    "policy": wish(policy="p2"),
    "kind": replace(wish(), subject=wish().subject._replace(kind="method")),
}


@pytest.fixture
def office(table: Table, clock: StillClock) -> Office:
    return Office(table, clock)


def waiting(office: Office, request: ApprovalRequest) -> str:
    """Ask where no form can be shown, and return the ticket."""
    approval = office.approvals().ask(request, can_elicit=False)
    assert isinstance(approval, Waiting)
    return approval.ticket


def asked(office: Office, request: ApprovalRequest, **others: Any) -> tuple[Any, str]:
    """Ask with a form, and return who asked with the ticket."""
    approvals = office.approvals(**others)
    question = approvals.ask(request, can_elicit=True)
    assert isinstance(question, Question)
    return approvals, question.ticket


# ------------------------------------------------------------------ by the command


def test_a_call_that_was_allowed_once_runs_once(office: Office) -> None:
    ticket = waiting(office, wish())
    office.desk.decide(ticket, Grant(), by="ann")

    first = office.approvals().ask(wish(), can_elicit=False)
    second = office.approvals().ask(wish(), can_elicit=False)

    assert first == Granted(f"{ticket} once ann")
    assert isinstance(second, Waiting)
    assert second.ticket != ticket


@pytest.mark.parametrize("other_request", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("grant", [Grant(), Grant("minutes", 30)], ids=["once", "minutes"])
def test_a_call_that_differs_in_anything_is_another_call(
    office: Office, other_request: ApprovalRequest, grant: Grant
) -> None:
    office.desk.decide(waiting(office, wish()), grant, by="ann")

    assert isinstance(office.approvals().ask(other_request, can_elicit=False), Waiting)
    assert isinstance(office.approvals().ask(wish(), can_elicit=False), Granted)


def test_a_yes_from_before_external_results_says_nothing_about_the_time_after(
    office: Office,
) -> None:
    def after(*received: str) -> Approval:
        return office.approvals().ask(wish(received=received), can_elicit=False)

    office.desk.decide(waiting(office, wish()), Grant("minutes", 30), by="ann")

    assert isinstance(after(), Granted)
    assert isinstance(after("external:web, within 26 hours"), Granted)
    assert isinstance(after("import:mem0"), Waiting)
    assert isinstance(after("external:web"), Waiting)
    assert isinstance(after("external:web, within 2 hours"), Waiting)


# ------------------------------------------------------------------ of a whole tool

WEB, OWN = "external:web", "external:files"
OF_TOOL = wish(rule="rule 2", received=[WEB])
OTHER_TOOLS = {
    "principal": replace(OF_TOOL, principal="tok_2"),
    "server": wish(rule="rule 2", received=[WEB], server="disk"),
    "tool": wish(rule="rule 2", received=[WEB], tool="wipe"),
    "policy": replace(OF_TOOL, policy="p2"),
    "rule": replace(OF_TOOL, rule="rule 3"),
    "no rule": wish(received=[WEB], arguments={"path": "/tmp/c"}),
    "content of another server": wish(rule="rule 2", received=[WEB, "external:mail"]),
    "an imported memory": wish(rule="rule 2", received=[WEB, "import:mem0"]),
}


def with_path(request: ApprovalRequest, path: str) -> ApprovalRequest:
    arguments = {"path": path}
    subject = request.subject._replace(arguments=arguments)
    return replace(request, subject=subject, arguments_sha256=arguments_sha256(arguments))


@pytest.mark.parametrize("other_request", OTHER_TOOLS.values(), ids=OTHER_TOOLS)
def test_an_approval_of_a_tool_counts_for_any_arguments_and_nothing_else(
    office: Office, clock: StillClock, other_request: ApprovalRequest
) -> None:
    open_before = waiting(office, with_path(OF_TOOL, "/tmp/asked/before"))
    ticket = waiting(office, OF_TOOL)
    office.desk.decide(ticket, Grant("tool", 5), by="ann")

    own_result = wish(rule="rule 2", received=[WEB, OWN], arguments={"path": "/tmp/d"})
    for request in (OF_TOOL, with_path(OF_TOOL, "/tmp/asked/before"), own_result):
        approval = office.approvals().ask(request, can_elicit=False)
        assert approval == Granted(f"{ticket} tool ann")
    assert isinstance(office.approvals().ask(other_request, can_elicit=False), Waiting)
    assert {open_before, ticket} <= {shown.ticket for shown in office.desk.all()}

    clock.move(300)
    assert isinstance(office.approvals().ask(OF_TOOL, can_elicit=False), Waiting)


def test_a_call_that_was_denied_stays_denied_when_its_tool_is_allowed(office: Office) -> None:
    denied = with_path(OF_TOOL, "/etc")
    office.desk.decide(waiting(office, denied), Denial(), by="ann")
    office.desk.decide(waiting(office, OF_TOOL), Grant("tool"), by="ann")

    assert isinstance(office.approvals().ask(denied, can_elicit=False), Refused)
    assert isinstance(office.approvals().ask(OF_TOOL, can_elicit=False), Granted)


def test_an_approval_of_a_tool_can_be_taken_back_and_forgotten(office: Office) -> None:
    ticket = waiting(office, OF_TOOL)
    office.desk.decide(ticket, Grant("tool"), by="ann")
    office.desk.decide(ticket, Denial(), by="ann")
    assert isinstance(office.approvals().ask(with_path(OF_TOOL, "/x"), can_elicit=False), Refused)

    assert office.desk.forget(["tok_1"]) == 1
    assert isinstance(office.approvals().ask(OF_TOOL, can_elicit=False), Waiting)


def test_no_tool_is_allowed_where_no_rule_asks_about_it(office: Office) -> None:
    with pytest.raises(InvalidInputError, match="only this call can be allowed"):
        office.desk.decide(waiting(office, wish()), Grant("tool"), by="ann")
    approvals, ticket = asked(office, wish(tool="wipe"))

    assert isinstance(approvals.answered(wish(tool="wipe"), ticket, TOOL), Refused)


def test_a_form_allows_a_whole_tool(office: Office) -> None:
    approvals = office.approvals()
    question = approvals.ask(OF_TOOL, can_elicit=True)
    assert isinstance(question, Question)
    decision = question.params["requestedSchema"]["properties"]["decision"]
    assert decision["enum"] == [
        *("allow once", "allow for 10 minutes"),
        *("allow any call of this tool for 10 minutes", "deny"),
    ]

    assert isinstance(approvals.answered(OF_TOOL, question.ticket, TOOL), Granted)
    later = office.approvals().ask(with_path(OF_TOOL, "/tmp/x"), can_elicit=False)
    assert isinstance(later, Granted)


def test_a_call_that_waits_is_told_how_it_can_be_approved(
    office: Office, clock: StillClock
) -> None:
    approvals = office.approvals(commands=Commands(place=" --stack home"))
    asking = approvals.ask(wish(), can_elicit=False)
    assert isinstance(asking, Waiting)

    clock.move(599)
    before = approvals.look(wish(), asking.ticket)
    clock.move(1)
    after = approvals.look(wish(), asking.ticket)

    assert asking == Waiting(
        asking.ticket,
        "Ask before a file is removed: nobody has approved this call yet. Its owner can allow "
        f"it within 10 minutes with 'nacre approvals allow {asking.ticket} --stack home'; then "
        "make the same call again.",
        25,
    )
    assert isinstance(before, Waiting)
    assert "within 1 second with" in before.text
    assert isinstance(after, Refused)
    assert "nobody approved it within 600 seconds" in after.text
    assert asking.ticket not in after.text
    with pytest.raises(NotFoundError):
        office.desk.decide(asking.ticket, Grant(), by="ann")


def test_the_policy_says_how_long_somebody_has(office: Office, clock: StillClock) -> None:
    office.settings = Settings(approval_seconds=3600)
    ticket = waiting(office, wish())
    clock.move(3599)

    office.desk.decide(ticket, Grant(), by="ann")

    assert isinstance(office.approvals().look(wish(), ticket), Granted)


def test_a_yes_that_nobody_uses_ends(office: Office, clock: StillClock) -> None:
    ticket = waiting(office, wish())
    office.desk.decide(ticket, Grant(), by="ann")
    clock.move(600)

    assert isinstance(office.approvals().ask(wish(), can_elicit=False), Waiting)


def test_a_yes_for_minutes_lasts_so_long(office: Office, clock: StillClock) -> None:
    ticket = waiting(office, wish())
    office.desk.decide(ticket, Grant("minutes", 5), by="ann")

    for _ in range(4):
        clock.move(74)
        assert office.approvals().ask(wish(), can_elicit=False) == Granted(f"{ticket} minutes ann")
    clock.move(4)
    assert isinstance(office.approvals().ask(wish(), can_elicit=False), Waiting)


@pytest.mark.parametrize("wait", [0, 1, 25, 600, 3600])
@pytest.mark.parametrize("lives", [1, 10, 25, 26, 600])
def test_a_ticket_that_is_named_when_the_hold_ends_can_still_be_allowed(
    office: Office, clock: StillClock, wait: int, lives: int
) -> None:
    office.settings = Settings(approval_seconds=lives, wait_seconds=wait)
    asking = office.approvals().ask(wish(), can_elicit=False)
    assert isinstance(asking, Waiting)
    clock.move(asking.seconds)

    refusal = office.approvals().look(wish(), asking.ticket)

    if wait < lives:
        assert isinstance(refusal, Waiting)
        office.desk.decide(refusal.ticket, Grant(), by="ann")
        assert isinstance(office.approvals().ask(wish(), can_elicit=False), Granted)
        assert isinstance(office.approvals().ask(wish(), can_elicit=False), Waiting)
    else:
        assert isinstance(refusal, Refused)
        assert asking.ticket not in refusal.text


def test_where_nothing_is_held_the_ticket_is_named_at_once(office: Office) -> None:
    asking = office.approvals(holds=False).ask(wish(), can_elicit=False)

    assert isinstance(asking, Waiting)
    assert asking.seconds == 0


def test_the_same_call_has_one_question_which_lives_on_as_it_is_asked(
    office: Office, clock: StillClock
) -> None:
    first = waiting(office, wish())
    clock.move(590)

    assert waiting(office, wish()) == first
    clock.move(590)
    assert waiting(office, wish()) == first
    clock.move(600)
    assert waiting(office, wish()) != first


def test_a_no_holds_for_a_while(office: Office, clock: StillClock) -> None:
    ticket = waiting(office, wish())
    office.desk.decide(ticket, Denial(), by="ann")

    looked = office.approvals().look(wish(), ticket)
    again = office.approvals().ask(wish(), can_elicit=True)

    refused = Refused("Ask before a file is removed: the person who was asked said no.")
    assert (looked, again) == (refused, refused)
    clock.move(120)
    assert isinstance(office.approvals().ask(wish(), can_elicit=True), Question)


def test_a_no_ends_what_was_granted(office: Office) -> None:
    ticket = waiting(office, wish())
    office.desk.decide(ticket, Grant("minutes", 30), by="ann")

    office.desk.decide(ticket, Denial(), by="ann")

    assert isinstance(office.approvals().ask(wish(), can_elicit=False), Refused)


def test_a_question_is_answered_once(office: Office) -> None:
    ticket = waiting(office, wish())
    office.desk.decide(ticket, Grant("minutes"), by="ann")

    with pytest.raises(ConflictError, match="granted before"):
        office.desk.decide(ticket, Grant(), by="bob")
    with pytest.raises(NotFoundError, match="nacre approvals list"):
        office.desk.decide(f"{ticket}x", Grant(), by="bob")


@pytest.mark.parametrize("minutes", [0, -1, 1441])
def test_minutes_are_bounded(office: Office, minutes: int) -> None:
    with pytest.raises(InvalidInputError, match="1 to 1440"):
        office.desk.decide(waiting(office, wish()), Grant("minutes", minutes), by="ann")


def test_a_session_needs_one(office: Office) -> None:
    with pytest.raises(InvalidInputError, match="--minutes"):
        office.desk.decide(waiting(office, wish()), Grant("session"), by="ann")


def test_what_waits_is_listed_with_what_it_is_about(office: Office, clock: StillClock) -> None:
    first = waiting(office, wish(arguments={"path": "/tmp/a\u202ec\x1b[2J"}))
    clock.move(1)
    second = waiting(office, wish(tool="wipe", arguments={}))

    listed = office.desk.all()

    assert [(ticket.ticket, ticket.state, ticket.name) for ticket in listed] == [
        (first, "open", "remove"),
        (second, "open", "wipe"),
    ]
    assert [ticket.arguments for ticket in listed] == [
        'path: "/tmp/a\\u202ec\\u001b[2J"',
        "none",
    ]
    clock.move(599)
    assert [ticket.ticket for ticket in office.desk.all()] == [second]


def test_a_long_argument_does_not_hide_another(office: Office) -> None:
    waiting(office, wish(arguments={"padding": "x" * 100_000, "target": "/etc/passwd"}))

    [ticket] = office.desk.all()

    assert ticket.arguments.endswith('target: "/etc/passwd"')
    assert "[99802 characters]" in ticket.arguments


def test_a_secret_among_the_arguments_is_neither_kept_nor_shown(office: Office) -> None:
    key = "AKIA" + "Z7QXVB4N2M9LKJ3H"
    approvals = office.approvals()

    question = approvals.ask(
        wish(arguments={"note": f"use {key} now", "password": "hunter2hunter2"}), can_elicit=True
    )

    assert isinstance(question, Question)
    stored = repr(office.desk.all()) + repr(question)
    assert key not in stored
    assert "hunter2hunter2" not in stored
    assert "note" in stored


def test_all_that_a_caller_asked_for_is_forgotten(office: Office) -> None:
    office.approvals(session="s").ask(wish(), can_elicit=False)
    granted = waiting(office, wish(arguments={}))
    office.desk.decide(granted, Grant("minutes"), by="ann")
    others_ticket = waiting(office, wish(principal="tok_2"))

    assert office.desk.forget({"tok_1"}) == 2
    assert [ticket.ticket for ticket in office.desk.all()] == [others_ticket]


def test_scopes_do_not_see_each_other(office: Office) -> None:
    ticket = waiting(office, wish())
    elsewhere = office.approvals(scope="other").ask(wish(), can_elicit=False)
    office.desk.decide(ticket, Grant(), by="ann")

    assert isinstance(elsewhere, Waiting)
    assert isinstance(office.approvals(scope="other").look(wish(), elsewhere.ticket), Waiting)


# ------------------------------------------------------------------ by a form


def test_a_form_shows_the_call_and_what_may_be_answered(office: Office) -> None:
    approvals = office.approvals()

    question = approvals.ask(wish(), can_elicit=True)

    assert isinstance(question, Question)
    assert question.params["message"] == (
        'Ask before a file is removed\n\nTool: remove\nServer: files\nArguments: path: "/tmp/a"'
    )
    decision = question.params["requestedSchema"]["properties"]["decision"]
    assert decision["enum"] == ["allow once", "allow for 10 minutes", "deny"]


def test_a_yes_in_a_form_counts_once(office: Office) -> None:
    approvals, ticket = asked(office, wish())

    first = approvals.answered(wish(), ticket, ONCE)
    replayed = approvals.answered(wish(), ticket, ONCE)

    assert first == Granted(f"{ticket} once form")
    assert isinstance(replayed, Refused)
    assert "used before" in replayed.text
    assert isinstance(approvals.ask(wish(), can_elicit=True), Question)


def test_an_answer_may_reach_another_process(office: Office) -> None:
    _, ticket = asked(office, wish())

    assert isinstance(office.approvals().answered(wish(), ticket, ONCE), Granted)


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_form_answers_no_other_call(office: Office, other: ApprovalRequest) -> None:
    approvals, ticket = asked(office, wish())
    asked(office, other)

    assert isinstance(approvals.answered(other, ticket, ONCE), Refused)


@pytest.mark.parametrize(
    "result",
    [
        NO,
        {"action": "cancel"},
        {},
        {"action": "accept"},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": None},
        {"action": "accept", "content": ["allow once"]},
        {"action": "accept", "content": {"decision": "deny"}},
        {"action": "accept", "content": {"decision": "Allow once"}},
        {"action": "accept", "content": {"decision": ["allow once"]}},
        {"action": "accept", "content": {"decision": "allow for this session"}},
        {"action": "ACCEPT", "content": {"decision": "allow once"}},
    ],
    ids=repr,
)
def test_everything_but_a_yes_is_a_no(office: Office, result: dict[str, Any]) -> None:
    approvals, ticket = asked(office, wish())

    assert isinstance(approvals.answered(wish(), ticket, result), Refused)
    assert isinstance(approvals.ask(wish(), can_elicit=True), Refused)


def test_a_form_that_comes_too_late_is_a_no(office: Office, clock: StillClock) -> None:
    approvals, ticket = asked(office, wish())
    clock.move(600)

    assert isinstance(approvals.answered(wish(), ticket, ONCE), Refused)


def test_a_yes_for_minutes_in_a_form(office: Office, clock: StillClock) -> None:
    approvals, ticket = asked(office, wish())
    approvals.answered(wish(), ticket, MINUTES)

    clock.move(599)
    assert isinstance(approvals.ask(wish(), can_elicit=True), Granted)
    clock.move(1)
    assert isinstance(approvals.ask(wish(), can_elicit=True), Question)


def test_a_yes_for_the_session_is_of_that_session(office: Office, clock: StillClock) -> None:
    mine, ticket = asked(office, wish(), session="s1")
    granted = mine.answered(wish(), ticket, SESSION)

    clock.move(3600)
    assert granted == Granted(f"{ticket} session form")
    assert mine.ask(wish(), can_elicit=True) == granted
    assert isinstance(office.approvals(session="s2").ask(wish(), can_elicit=True), Question)
    assert isinstance(office.approvals().ask(wish(), can_elicit=False), Waiting)
    office.desk.decide(ticket, Denial(), by="ann")
    assert isinstance(mine.ask(wish(), can_elicit=True), Refused)


def test_the_command_may_be_faster_than_the_form(office: Office) -> None:
    approvals, ticket = asked(office, wish())
    office.desk.decide(ticket, Grant(), by="ann")

    assert approvals.answered(wish(), ticket, ONCE) == Granted(f"{ticket} once ann")
    assert isinstance(approvals.answered(wish(), ticket, ONCE), Refused)


# ------------------------------------------------------------------ operators


def test_where_an_operator_approves_the_client_is_never_asked(office: Office) -> None:
    office.settings = Settings(approver="operator")

    assert isinstance(office.approvals().ask(wish(), can_elicit=True), Waiting)


def test_a_client_that_is_no_longer_trusted_answers_in_vain(office: Office) -> None:
    approvals, ticket = asked(office, wish())
    office.settings = Settings(approver="operator")

    assert isinstance(approvals.answered(wish(), ticket, ONCE), Refused)
    office.desk.decide(ticket, Grant(), by="ann")
    assert isinstance(approvals.ask(wish(), can_elicit=True), Granted)


# ------------------------------------------------------------------ many at once


def test_the_eleventh_question_of_a_minute_is_denied(office: Office, clock: StillClock) -> None:
    def ask(path: str, **others: Any) -> Any:
        request = wish(arguments={"path": path}, **others)
        return office.approvals().ask(request, can_elicit=True)

    for number in range(10):
        assert isinstance(ask(f"/{number}"), Question)
        clock.move(5)
    flooded = ask("/10")

    assert isinstance(flooded, Refused)
    assert "10 approvals were asked for within 60 seconds" in flooded.text
    assert isinstance(ask("/9"), Question), "the question that is open is no new one"
    assert isinstance(ask("/10", server="disk"), Question)
    clock.move(16)
    assert isinstance(ask("/11"), Question)
    assert isinstance(ask("/12"), Question)
    assert isinstance(ask("/13"), Refused)


def at_once(count: int, do: Any) -> list[Any]:
    """Run something in so many threads at once."""
    results: list[Any] = [None] * count
    gate = threading.Barrier(count)

    def run(number: int) -> None:
        gate.wait()
        results[number] = do(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_of_calls_that_come_at_once_one_uses_the_yes(office: Office) -> None:
    ticket = waiting(office, wish())
    office.desk.decide(ticket, Grant(), by="ann")
    processes = [office.approvals() for _ in range(6)]

    outcomes = at_once(6, lambda number: processes[number].look(wish(), ticket))

    assert sum(isinstance(outcome, Granted) for outcome in outcomes) == 1


def test_of_answers_that_come_at_once_one_counts(office: Office) -> None:
    _, ticket = asked(office, wish())
    processes = [office.approvals() for _ in range(6)]

    outcomes = at_once(6, lambda number: processes[number].answered(wish(), ticket, ONCE))

    assert sum(isinstance(outcome, Granted) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Refused) for outcome in outcomes) == 5


def test_questions_that_come_at_once_are_counted(office: Office) -> None:
    processes = [office.approvals() for _ in range(14)]

    def ask(number: int) -> Any:
        return processes[number].ask(wish(arguments={"n": number}), can_elicit=True)

    outcomes = at_once(14, ask)

    assert sum(isinstance(outcome, Question) for outcome in outcomes) <= 10
    assert sum(isinstance(outcome, Refused) for outcome in outcomes) >= 4

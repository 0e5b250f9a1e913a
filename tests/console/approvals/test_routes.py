"""The inbox: each call waits for its owner, and the answer counts for this call alone."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from nacre.core.token_prefixes import API
from nacre.firewall.approvals.approver import ApprovalRequest, Granted, Refused, Waiting
from nacre.firewall.content.digests import arguments_sha256
from nacre.firewall.rules.rule import Decision, Subject
from nacre.protocol.principal import FULL
from tests.console.conftest import Desk
from tests.scaffolding.web_site import Answer


def request(desk: Desk, principal: str, **arguments: Any) -> ApprovalRequest:
    """Return what the entry asks about a call."""
    subject = Subject("tool", "update_notes", "nacre", arguments)
    return ApprovalRequest(
        principal=principal,
        subject=subject,
        decision=Decision("prompt", 1, "Ask first", "Ask first"),
        policy="digest",
        arguments_sha256=arguments_sha256(arguments),
    )


def token_of(desk: Desk, owner: str = "me", being: str | None = None) -> str:
    issued = desk.place.authority.tokens.issue(
        API,
        being_id=being or desk.being,
        owner=owner,
        scopes=FULL,
        lifetime=timedelta(days=1),
        label=f"script of {owner}",
    )
    return issued.record.token_id


def decide(desk: Desk, page: Answer, **fields: str) -> Answer:
    answer = desk.browser.submit(page, "/approvals/decide", **fields)
    return desk.browser.get(answer["location"]) if answer.status == 303 else answer


def test_a_call_waits_and_is_allowed_once(desk: Desk) -> None:
    asked, approvals = request(desk, token_of(desk), path="/tmp"), desk.controls.approvals()
    assert isinstance(approvals.ask(asked, can_elicit=False), Waiting)

    page = desk.browser.get("/approvals")
    assert "script of me, for Ann" in page.text
    assert "path: &#34;/tmp&#34;" in page.text
    assert "Allow for this session" not in page.text
    done = decide(desk, page, decision="once")

    assert "Allowed." in done.text
    assert isinstance(approvals.ask(asked, can_elicit=False), Granted)
    assert isinstance(approvals.ask(asked, can_elicit=False), Waiting)


def test_a_call_is_denied(desk: Desk) -> None:
    asked, approvals = request(desk, token_of(desk)), desk.controls.approvals()
    approvals.ask(asked, can_elicit=False)

    done = decide(desk, desk.browser.get("/approvals"), decision="deny")

    assert "Denied." in done.text
    assert "No calls are waiting for approval." in done.text
    assert isinstance(approvals.ask(asked, can_elicit=False), Refused)


def test_a_grant_for_minutes_ends_with_them_or_when_it_is_taken_back(desk: Desk) -> None:
    asked, approvals = request(desk, token_of(desk)), desk.controls.approvals()
    approvals.ask(asked, can_elicit=False)
    granted = decide(desk, desk.browser.get("/approvals"), decision="minutes", minutes="5")
    assert "Answered, and still valid" in granted.text

    desk.place.time.pass_(minutes=4)
    assert isinstance(approvals.ask(asked, can_elicit=False), Granted)
    decide(desk, granted, decision="deny")
    assert isinstance(approvals.ask(asked, can_elicit=False), Refused)


def test_a_session_is_offered_where_there_is_one(desk: Desk) -> None:
    asked, approvals = request(desk, token_of(desk)), desk.controls.approvals("s1")
    approvals.ask(asked, can_elicit=False)
    page = desk.browser.get("/approvals")
    assert "Allow for this session" in page.text

    decide(desk, page, decision="session")

    assert isinstance(approvals.ask(asked, can_elicit=False), Granted)
    assert isinstance(desk.controls.approvals("s2").ask(asked, can_elicit=False), Waiting)


def test_any_call_of_a_tool_is_allowed_where_a_rule_asks_about_it(desk: Desk) -> None:
    token, approvals = token_of(desk), desk.controls.approvals()
    approvals.ask(request(desk, token), can_elicit=False)
    page = desk.browser.get("/approvals")
    assert "Allow any call" not in page.text
    decide(desk, page, decision="deny")

    asked = replace(request(desk, token, path="/a"), rule="rule 1")
    approvals.ask(asked, can_elicit=False)
    page = desk.browser.get("/approvals")
    assert "Allow any call of this tool for these minutes" in page.text
    done = decide(desk, page, decision="tool", minutes="5")

    assert "any arguments; by me, until" in done.text
    other = replace(request(desk, token, path="/b"), rule="rule 1")
    assert isinstance(approvals.ask(other, can_elicit=False), Granted)


def test_what_cannot_be_meant_is_refused(desk: Desk) -> None:
    asked, approvals = request(desk, token_of(desk)), desk.controls.approvals()
    approvals.ask(asked, can_elicit=False)
    page = desk.browser.get("/approvals")

    for fields, status in (
        ({"decision": "always"}, 400),
        ({"decision": "minutes", "minutes": "0"}, 400),
        ({"decision": "minutes", "minutes": "99999"}, 400),
        ({"decision": "minutes", "minutes": "-5"}, 400),
        ({"decision": "session"}, 400),
        ({"decision": "once", "ticket": "00000000-aaaaaa"}, 409),
    ):
        assert decide(desk, page, **fields).status == status, fields
    assert isinstance(approvals.ask(asked, can_elicit=False), Waiting)


def test_two_answers_at_once_make_one(desk: Desk) -> None:
    asked, approvals = request(desk, token_of(desk)), desk.controls.approvals()
    approvals.ask(asked, can_elicit=False)
    page = desk.browser.get("/approvals")
    decide(desk, page, decision="once")

    late = decide(desk, page, decision="once")

    assert late.status == 409
    assert 'role="alert"' in late.text


def test_a_question_that_has_ended_is_gone(desk: Desk) -> None:
    desk.controls.approvals().ask(request(desk, token_of(desk)), can_elicit=False)
    page = desk.browser.get("/approvals")
    desk.place.time.pass_(hours=1)

    assert decide(desk, page, decision="once").status == 409
    assert "No calls are waiting" in desk.browser.get("/approvals").text


def test_nobody_sees_or_answers_for_another_owner(desk: Desk) -> None:
    eve = desk.place.authority.beings.create("Eve", owner="other").being_id
    theirs = request(desk, token_of(desk, "other", eve), secret="theirs")
    approvals = desk.controls.approvals()
    found = approvals.ask(theirs, can_elicit=False)
    assert isinstance(found, Waiting)
    approvals.ask(request(desk, token_of(desk)), can_elicit=False)

    page = desk.browser.get("/approvals")

    assert "theirs" not in page.text
    assert decide(desk, page, decision="once", ticket=found.ticket).status == 409
    assert isinstance(approvals.ask(theirs, can_elicit=False), Waiting)


def test_programs_of_this_machine_ask_its_owner(desk: Desk) -> None:
    desk.controls.approvals().ask(request(desk, "local", path="/x"), can_elicit=False)

    page = desk.browser.get("/approvals")

    is_laptop = desk.place.base.startswith("http://127")
    assert ("a program on this machine" in page.text) == is_laptop

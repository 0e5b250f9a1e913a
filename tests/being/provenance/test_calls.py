"""What is behind a recorded call: received results, shown memories and messages, all by time."""

import pytest

from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.being.memory.conversations.captured_store import CapturedConversations
from nacre.being.provenance import audited_calls
from nacre.being.provenance.audited_calls import audited_call
from nacre.being.provenance.calls import why_call
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.limits import RECEIVED_SECONDS
from nacre.core.origins import external
from nacre.firewall.audit.entry import AuditEntry
from nacre.firewall.entry.noted_results import NotedResults
from nacre.ports.untrusted_results import Holder
from tests.being.memory.keeping import a_node
from tests.being.provenance.conftest import Told, below, every, fact


def relations(told: Told, name: str) -> list[str]:
    return [each.relation for each in told.why_call(name).causes]


def test_a_call_shows_its_record_and_says_what_the_audit_leaves_out(told: Told) -> None:
    name = told.record(
        "send", "mail", outcome="deny", rule=3, policy="abcdef0123456789", request="7",
        shape={"to": "string 4"}, note="no mail\x1b[31m",
        fields={"received": ["external:web"], "profile": "work"},
    )  # fmt: skip

    cause = told.why_call(name)

    assert (cause.kind, cause.id, cause.causes) == ("call", name, ())
    assert dict(cause.facts) == {
        "called": "send",
        "server": "mail",
        "method": "tools/call",
        "decision": "denied",
        "rule": "3 of the policy abcdef0123456789",
        "remark": "no mail\\u001b[31m",
        "caller": "laptop (tok_1)",
        "profile": "work",
        "request": "7",
        "arguments": "to: string 4",
        "received before": "external:web",
    }
    assert cause.unknown == (
        "the audit keeps the names, types and sizes of arguments, not their values",
    )


@pytest.mark.parametrize(
    ("facts", "decision", "rule"),
    [
        ({}, "allowed", "none"),
        ({"outcome": "deny", "enforced": False}, "denied (monitored only)", "none"),
        ({"outcome": "prompt", "rule": 2}, "a person was asked", "2"),
    ],
)
def test_a_decision_is_said_in_words(
    at_home: Told, facts: dict[str, object], decision: str, rule: str
) -> None:
    cause = at_home.why_call(at_home.record("send", "mail", **facts))

    assert (fact(cause, "decision"), fact(cause, "rule")) == (decision, rule)


def test_results_of_the_same_caller_in_the_window_are_counted_by_server(told: Told) -> None:
    told.record("fetch", "web")
    told.clock.move(2 * RECEIVED_SECONDS)  # from here on it counts no longer
    told.record("fetch", "web")
    told.record("search", "web")
    last = told.record("fetch", "web")
    told.record("fetch", "web", outcome="deny")
    told.record("fetch", "web", principal="tok_2")
    told.record("", "mail", method="resources/read")
    told.record("", "mail", method="ping")
    name = told.record("send", "mail")

    mail, web = told.why_call(name).causes

    assert (mail.relation, web.relation) == ("after calls to mail", "after calls to web")
    assert (fact(web, "calls"), web.id, web.link) == ("3", last, "time")
    assert fact(web, "called") == "fetch, search"
    assert (fact(mail, "calls"), fact(mail, "called")) == ("1", "resources/read")
    assert "keeps no results" in told.why_call(name).unknown[1]


def test_the_ledger_tells_what_was_received_even_without_a_call(told: Told) -> None:
    ledger = NotedResults(told.kept.table)
    ledger.note(Holder(told.kept.id, "tok_1"), external("web"), told.clock())
    ledger.note(Holder(told.kept.id, "tok_2"), external("mail"), told.clock())
    first = told.record("send", "mail")
    assert relations(told, first) == ["had received external:web"]

    # Of a note in the same second nobody knows whether it was there before the call.
    [same_second] = told.why_call(first).causes
    assert (same_second.link, "may also be" in same_second.unknown[0]) == ("time", True)
    told.clock.move(1)
    before = below(told.why_call(told.record("ask")), "had received external:web")
    assert (before.link, before.unknown) == ("stored", ())

    told.clock.move(60)
    ledger.note(Holder(told.kept.id, "tok_1"), external("files"), told.clock())
    assert relations(told, first) == ["had received external:web"]

    told.clock.move(2 * RECEIVED_SECONDS)  # the ledger keeps a note no longer
    late = told.record("send", "mail")
    assert "had received external:web" not in relations(told, late)
    assert "had received external:web" not in relations(told, first)


def test_memories_that_were_recalled_then_are_shown_one_level_deep(told: Told) -> None:
    node = a_node(1, evidence=tuple(f"SCENE{number}" for number in range(5)))
    told.kept.memory.nodes.add(told.kept.id, [node])
    read = told.record("recall")
    told.kept.memory.recalls.add(told.kept.id, {node.node_id: 1})
    told.clock.move(60)
    bare = told.record("search_memory")
    name = told.record("send", "mail")

    unlogged, logged = told.why_call(name).causes

    assert (unlogged.id, unlogged.causes) == (bare, ())
    assert "the log of recalls has nothing of its time" in unlogged.unknown[0]
    assert (logged.id, logged.relation) == (read, "after reading memory")
    shown = below(logged, "showed")
    assert (shown.id, shown.link, shown.text) == (
        node.node_id,
        "time",
        "[2026-07-01] Ann: Ann fed cat 1",
    )
    assert ([each.id for each in shown.causes], shown.more) == (["SCENE0", "SCENE1", "SCENE2"], 2)
    assert below(told.why_call(read), "showed").id == node.node_id


@pytest.mark.parametrize(
    ("tool", "facts"),
    [("search_history", {}), ("get_context", {}), ("", {"method": "resources/read"})],
)
def test_a_memory_is_not_shown_by_a_call_that_logs_no_recall(
    at_home: Told, tool: str, facts: dict[str, str]
) -> None:
    node = a_node(1)
    at_home.kept.memory.nodes.add(at_home.kept.id, [node])
    at_home.record("recall", principal="tok_2")
    at_home.kept.memory.recalls.add(at_home.kept.id, {node.node_id: 1})
    read = at_home.record(tool, **facts)
    at_home.kept.memory.recalls.add(at_home.kept.id, {node.node_id: 1})

    for cause in (at_home.why_call(read), at_home.why_call(at_home.record("send", "mail"))):
        assert node.node_id not in {each.id for each in every(cause)}
        assert "only recalls and searches" in str([each.unknown for each in every(cause)])


def test_of_several_recalls_at_one_time_none_is_chosen(told: Told) -> None:
    node = a_node(1)
    told.kept.memory.nodes.add(told.kept.id, [node])
    first = told.record("recall", principal="tok_2")
    told.kept.memory.recalls.add(told.kept.id, {node.node_id: 1})
    second = told.record("recall")
    told.kept.memory.recalls.add(told.kept.id, {node.node_id: 1})

    for name in (first, second):
        cause = told.why_call(name)
        assert "2 calls fit the time" in cause.unknown[-1]
        assert below(cause, "showed").link == "time"


def test_messages_before_it_are_found_by_time_alone_across_months(told: Told) -> None:
    captured = CapturedConversations(told.kept.table, clock=told.clock)
    told.clock.time = told.clock.time.replace(month=8, day=1, hour=0, minute=10)
    for place, seconds in enumerate((7200, 1200, 300, -60)):
        at = told.clock.at(-seconds)
        captured.keep(
            told.kept.id,
            [
                CapturedMessage(
                    client="codex", session="s1", role="user", text=f"said {place}",
                    at=told.clock().fromtimestamp(at, told.clock().tzinfo),
                )
            ],
        )  # fmt: skip
    name = told.record("send", "mail")

    said = told.why_call(name).causes

    assert [(each.text, each.relation, each.link) for each in said] == [
        ("said 2", "said before", "time"),
        ("said 1", "said before", "time"),
    ]


def test_a_call_of_a_proxy_belongs_to_no_being(told: Told) -> None:
    told.record("fetch", "web")
    name = told.record("fetch", "web", being="", principal="local")

    cause = told.why_call(name)

    assert (cause.causes, fact(cause, "caller")) == (
        (),
        "a program on this machine, without a token",
    )
    assert "it belongs to no Being" in cause.unknown[1]


@pytest.mark.parametrize("name", ["", "x", "/", "/7", "laptop-1/", "laptop-1/x", "a\n/1", "a/-1"])
def test_what_is_no_name_of_a_record_is_refused(at_home: Told, name: str) -> None:
    with pytest.raises(InvalidInputError, match="nacre audit tail"):
        audited_call(at_home.sources.records, name)


@pytest.mark.parametrize("name", ["laptop-1/7", "writer-1/2", "writer-1/0", f"writer-1/{'9' * 40}"])
def test_a_record_that_is_not_there_is_said_to_be_missing(told: Told, name: str) -> None:
    told.record("fetch", "web")

    with pytest.raises(NotFoundError, match="the audit has no record"):
        audited_call(told.sources.records, name)


def test_a_long_log_is_read_up_to_a_limit_and_says_so(
    at_home: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audited_calls, "PROVENANCE_RECORDS", 2)
    at_home.record("fetch", "web")
    for _ in range(10):
        at_home.record("recall")
    name = at_home.record("send", "mail")

    cause = at_home.why_call(name)

    assert "more records of that time than were read" in cause.unknown[-1]
    assert "after calls to web" not in [each.relation for each in cause.causes]


def test_a_damaged_line_is_passed_over(at_home: Told) -> None:
    at_home.record("fetch", "web")
    damaged = AuditEntry(outcome="allow", server="x", method="tools/call", being=at_home.kept.id)
    at_home.trail.record(damaged)
    [item] = [
        item
        for item in at_home.kept.table.query(f"A#{at_home.kept.id}#2026-07-28").items
        if '"server":"x"' in str(item["line"])
    ]
    at_home.kept.table.put({**item, "line": f"{{not json {at_home.kept.id}"})

    assert "after calls to web" in relations(at_home, at_home.record("send", "mail"))


def test_of_another_being_nothing_is_shown(told: Told) -> None:
    other = told.kept.another("Opal")
    told.record("fetch", "web")
    name = told.record("send", "mail", being=other)

    cause = why_call(told.sources, other, audited_call(told.sources.records, name))

    assert [each.kind for each in every(cause)] == ["call"]

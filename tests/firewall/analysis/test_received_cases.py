"""What explain, lint, prove, coverage, fixtures and replay say about `tainted` and `origin`."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.core.errors import InvalidInputError
from nacre.firewall.analysis.coverage import coverage
from nacre.firewall.analysis.explain import explain
from nacre.firewall.analysis.first_policy import changes
from nacre.firewall.analysis.fixtures import read_fixture, run_fixtures
from nacre.firewall.analysis.lint import lint
from nacre.firewall.analysis.prove import Shape, prove
from nacre.firewall.analysis.received_cases import examples
from nacre.firewall.analysis.replay import read_records, replay
from nacre.firewall.analysis.sample_call import read_call
from tests.firewall.deciding import call, policy

WEB, MEM0 = "external:web", "import:mem0"
WINDOWS = ('window = "3 hours"', 'window = "30 days"')
PLAIN = ("tainted = true", "tainted = false", 'origin = "external"', 'origin = "import:m*"')
LINES = (*PLAIN, *(f"{line}\n{window}" for line in PLAIN for window in WINDOWS), "")
OLDER = [frozenset([f"{WEB}, within {hours} hours"]) for hours in (2, 4, 5, 26, 721, 722)]


def rule(action: str, line: str = "", tool: str = "send") -> str:
    return f'[[rule]]\naction = "{action}"\ntool = "{tool}"\n{line}\n'


REST = rule("allow", tool="**")
DAY, WEEK = (f'tainted = true\nwindow = "{days}"' for days in ("1 day", "7 days"))
WEEK_WITHOUT = 'tainted = false\nwindow = "7 days"'
ASKING = rule("prompt", "tainted = true") + REST


def test_an_explanation_says_what_was_received_and_what_else_would_be_decided() -> None:
    text = rule("deny", 'origin = "import:mem0"') + ASKING

    assert explain(policy(text), call("send", received=[])).lines() == [
        "allow: Allowed by policy (rule 3)",
        "  rule 1 (deny) does not match",
        "    origin: the caller has received nothing of import:mem0",
        "  rule 2 (prompt) does not match",
        "    tainted: the caller has received results of no external server",
        "  rule 3 (allow) matches",
        "    it is about every call of this name",
        "  If its caller has received external:anything: prompt (rule 2)",
        "  If its caller has received import:mem0: deny (rule 1)",
    ]
    assert explain(policy(text), call("send", received=[WEB])).lines()[:5] == [
        "prompt: Approval needed by policy (rule 2) (received before: external:web)",
        "  rule 1 (deny) does not match",
        "    origin: the caller has received nothing of import:mem0",
        "  rule 2 (prompt) matches",
        "    tainted: the caller has received results of external:web",
    ]
    assert explain(policy(ASKING), call("send")).lines()[:3] == [
        "prompt: Approval needed by policy (rule 1)",
        "  rule 1 (prompt) matches",
        "    tainted: what the caller has received before is not known",
    ]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (ASKING, []),
        (rule("allow", "tainted = false") + rule("prompt"), []),
        (rule("allow", "tainted = true"), ["only-tainted"]),
        (rule("allow", 'origin = "import"'), ["only-tainted"]),
        (rule("deny", 'tainted = false\norigin = "external"'), ["never-matches"]),
        (rule("deny") + rule("prompt", "tainted = true"), ["unreachable"]),
        (REST + rule("deny", "tainted = true"), ["deny-after-allow"]),
        (rule("deny", "tainted = true") + rule("deny", 'origin = "external:web"'), ["redundant"]),
        (rule("deny", 'origin = "external"') + rule("deny", "tainted = true"), ["redundant"]),
        (rule("deny", 'origin = "external:web"') + rule("deny", "tainted = true"), []),
        (rule("deny", "tainted = true") + rule("deny"), []),
        (rule("deny", "tainted = true") + rule("deny", "tainted = false"), []),
        (rule("deny", DAY) + rule("deny", "tainted = true"), ["redundant"]),
        (rule("deny", DAY) + rule("deny", WEEK), []),
        (rule("deny", WEEK) + rule("deny", DAY), ["redundant"]),
        (rule("deny", WEEK_WITHOUT) + rule("deny", "tainted = false"), []),
        (rule("deny", "tainted = false") + rule("deny", WEEK_WITHOUT), ["redundant"]),
        (rule("allow", DAY), ["only-tainted"]),
    ],
)
def test_lint_knows_which_callers_a_rule_is_about(text: str, kinds: list[str]) -> None:
    others = ("broad-allow", "only-tools")
    found = [finding.kind for finding in lint(policy(text)) if finding.kind not in others]

    assert found == kinds


@pytest.mark.parametrize(
    ("text", "tainted", "holds"),
    [
        (ASKING, True, True),
        (ASKING, False, False),
        (ASKING, None, False),
        (rule("allow", "tainted = false"), True, True),
        (rule("allow", "tainted = false"), None, False),
        (rule("deny", 'origin = "external:web"') + REST, True, False),
        (rule("deny", 'origin = "external"') + REST, True, True),
        (rule("deny", 'origin = "import"') + REST, None, False),
        (rule("deny", "tainted = true") + rule("prompt", "tainted = false") + REST, None, True),
        (rule("deny", DAY) + REST, True, True),
        (rule("deny", DAY) + REST, False, False),
        (rule("deny", "tainted = true") + rule("deny", WEEK_WITHOUT) + REST, None, False),
        (rule("deny", DAY) + rule("deny", 'tainted = false\nwindow = "1 day"') + REST, None, True),
    ],
)
def test_a_proof_is_about_callers_before_or_after_untrusted_content(
    text: str, tainted: bool | None, holds: bool
) -> None:
    proof = prove(policy(text), Shape("send", tainted=tainted))

    assert proof.holds is holds
    if proof.counterexample is not None:
        assert policy(text).decide(proof.counterexample).action == "allow"
        received = proof.counterexample.received
        assert received is not None
        if tainted is not None:
            assert any(text.startswith("external:") for text in received) is tainted


def is_external(received: frozenset[str]) -> bool:
    return any(text.startswith("external") for text in received)


def is_tainted(received: frozenset[str]) -> bool:
    return is_external(frozenset(text for text in received if ", within" not in text))


RULES = st.lists(
    st.sampled_from(
        [rule(action, line) for action in ("allow", "deny", "prompt") for line in LINES]
    ),
    max_size=5,
)


@given(RULES, st.sampled_from([None, True, False]))
def test_a_proof_is_sound_and_finds_what_there_is(rules: list[str], tainted: bool | None) -> None:
    loaded = policy("".join(rules))
    proof = prove(loaded, Shape("send", tainted=tainted))
    allowed = [
        case
        for case in [*examples(loaded.rules), frozenset([WEB]), frozenset([MEM0, WEB]), *OLDER]
        if tainted is None or (is_tainted(case) if tainted else not is_external(case))
        if loaded.decide(call("send", received=case)).action == "allow"
    ]

    assert proof.holds is not bool(allowed)


def test_a_deny_behind_an_allow_decides_when_nobody_can_tell_what_came_in() -> None:
    loaded = policy(
        '[[rule]]\naction = "allow"\ntool = "send"\ntainted = true\n'
        '[[rule]]\naction = "deny"\ntool = "send"\ntainted = true\n'
    )

    assert loaded.decide(call("send", received=None)).rule == 2
    kinds = {finding.kind for finding in lint(loaded) if finding.rule == 2}
    assert not kinds & {"unreachable", "redundant", "deny-after-allow"}


@given(RULES)
def test_lint_finds_no_rule_hidden_that_decides(rules: list[str]) -> None:
    loaded = policy("".join(rules))
    cases = [*examples(loaded.rules), frozenset([WEB]), frozenset(["import:x"]), *OLDER, None]
    deciding = {loaded.decide(call("send", received=case)).rule for case in cases}
    hidden = {
        finding.rule
        for finding in lint(loaded)
        if finding.kind in ("unreachable", "redundant", "deny-after-allow")
    }

    assert not hidden & deciding


def test_what_came_in_earlier_is_explained_and_read_from_fixtures() -> None:
    text = policy(rule("prompt", 'tainted = true\nwindow = "2 days"') + REST)
    body = {"method": "tools/call", "params": {"name": "send"}}
    before = read_call({**body, "received": [f"{WEB}, within 26 hours"]}, trusts_place=False)

    assert explain(text, call("send", received=before.received)).lines() == [
        "prompt: Approval needed by policy (rule 1)"
        " (received before: external:web, within 26 hours)",
        "  rule 1 (prompt) matches",
        "    window: it counts for 2 days what a client of the Being has received",
        "    tainted: the caller has received results of external:web, within 26 hours",
        "  If its caller has received nothing of another server: allow (rule 2)",
    ]
    assert explain(text, call("send", received=["external:web, within 60 hours"])).lines()[3] == (
        "    tainted: the caller has received results of no external server"
    )


def test_coverage_says_how_calls_are_decided_after_external_results() -> None:
    text = rule("allow", tool="read") + ASKING.replace('tool = "**"', 'tool = "send"')
    tools = coverage(policy(text), {"fs": ["read", "send"]}).tools

    assert [(tool.tool, tool.fate, tool.tainted, tool.rules) for tool in tools] == [
        ("read", "allowed", None, (1,)),
        ("send", "allowed", "asked", (2, 3)),
    ]


def test_a_change_of_policy_names_what_changes_after_external_results() -> None:
    [change] = changes({"fs": ["send", "read"]}, policy(REST), policy(ASKING))

    assert (change.tool, change.before) == ("send", "allowed")
    assert change.after == "allowed; after results of external servers: asked"


def test_a_fixture_says_what_its_caller_has_received(tmp_path: Path) -> None:
    params = {"name": "send", "arguments": {}}
    facts: list[tuple[str, dict[str, Any]]] = [
        ("none.json", {}),
        ("web.json", {"received": [WEB]}),
        ("mem0.json", {"received": []}),
    ]
    for name, more in facts:
        fixture = {"method": "tools/call", "params": params, **more}
        (tmp_path / name).write_text(json.dumps(fixture))
    results = run_fixtures(policy(ASKING), [tmp_path / name for name, _ in facts], None)

    assert [result.decision.action for result in results] == ["allow", "prompt", "allow"]


@pytest.mark.parametrize("received", ["external:web", [5], ["external"], ["web"]])
def test_a_fixture_with_another_origin_is_refused(tmp_path: Path, received: Any) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"method": "tools/call", "params": {}, "received": received}))

    with pytest.raises(InvalidInputError, match="origin"):
        read_fixture(file)


def test_an_evaluator_that_is_not_told_what_was_received_does_not_allow() -> None:
    body = {"method": "tools/call", "params": {"name": "send"}}

    assert read_call(body, trusts_place=False).received is None


def test_a_replay_decides_by_what_the_record_says() -> None:
    shared = {"outcome": "allow", "method": "tools/call", "tool": "send", "server": "fs"}
    said: list[dict[str, Any]] = [{}, {"received": []}, {"received": [WEB]}]
    lines = [json.dumps({**shared, **more}).encode() for more in said]
    calls = read_records(lines, source="audit")
    replayed = {
        calls[place].received: replay(policy(ASKING), [calls[place]])[0].after for place in range(3)
    }

    assert replayed == {
        None: ("prompt", "allow"),
        frozenset(): ("allow",),
        frozenset([WEB]): ("prompt",),
    }

"""Rules about what a caller has received before: `tainted` and `origin`."""

import json
from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.core.errors import PolicyError
from nacre.core.origins import external, imported
from nacre.firewall.policies.compiled import from_json, to_json
from nacre.firewall.rules.rule import Action
from tests.firewall.deciding import call, linear, policy

WEB, MAIL, MEM0 = str(external("web")), str(external("mail")), str(imported("mem0"))
REST = '[[rule]]\naction = "allow"\ntool = "**"\n'
BEFORE = st.none() | st.frozensets(st.sampled_from([WEB, MAIL, MEM0]))


def rule(action: str, *lines: str, tool: str = "send") -> str:
    return "\n".join(["[[rule]]", f'action = "{action}"', f'tool = "{tool}"', *lines, ""])


def decided(text: str, received: Collection[str] | None, arguments: Any = None) -> Action:
    """Return the decision, the same from the compiled form and rule by rule."""
    loaded = policy(text)
    subject = call("send", arguments, received=received)
    decision = loaded.decide(subject)
    assert from_json(to_json(loaded)).decide(subject) == decision
    assert linear(loaded, subject) == (
        None if decision.rule is None else (decision.rule, decision.action)
    )
    return decision.action


@pytest.mark.parametrize(
    ("line", "received", "expected"),
    [
        ("tainted = true", [], "allow"),
        ("tainted = true", [WEB], "prompt"),
        ("tainted = true", [MEM0], "allow"),
        ("tainted = true", [MEM0, MAIL], "prompt"),
        ("tainted = true", None, "prompt"),
        ("tainted = false", [], "prompt"),
        ("tainted = false", [WEB], "allow"),
        ("tainted = false", None, "prompt"),
        ('origin = "external"', [], "allow"),
        ('origin = "external"', [WEB], "prompt"),
        ('origin = "external"', [MEM0], "allow"),
        ('origin = "external:web"', [WEB, MAIL], "prompt"),
        ('origin = "external:web"', [MAIL], "allow"),
        ('origin = "external:ma*"', [MAIL], "prompt"),
        ('origin = ["external:web", "import"]', [MEM0], "prompt"),
        ('origin = "import:mem?"', [MEM0], "prompt"),
        ('origin = "import"', None, "prompt"),
        ('tainted = true\norigin = "import"', [MEM0], "allow"),
        ('tainted = true\norigin = "import"', [MEM0, WEB], "prompt"),
    ],
)
def test_a_question_is_about_what_was_received(
    line: str, received: Collection[str] | None, expected: Action
) -> None:
    text = rule("prompt", line) + REST
    loaded = policy(text)

    assert loaded.decide(call("send", received=received)).action == expected
    assert from_json(to_json(loaded)).decide(call("send", received=received)).action == expected


@pytest.mark.parametrize(
    ("received", "expected"), [([], "allow"), ([WEB], "deny"), (None, "deny"), ([MEM0], "allow")]
)
def test_an_allow_before_any_external_result_needs_to_know_that_there_was_none(
    received: Collection[str] | None, expected: Action
) -> None:
    assert decided(rule("allow", "tainted = false"), received) == expected


def test_all_keys_of_a_rule_must_match() -> None:
    text = rule("deny", "tainted = true", 'args.to = "*@evil.example"') + REST

    assert decided(text, [WEB], {"to": "eve@evil.example"}) == "deny"
    assert decided(text, [WEB], {"to": "ann@acme.example"}) == "allow"
    assert decided(text, [], {"to": "eve@evil.example"}) == "allow"


@given(
    st.lists(
        st.sampled_from(
            [
                rule(action, line)
                for action in ("allow", "deny", "prompt")
                for line in ("tainted = true", "tainted = false", 'origin = "import"', "")
            ]
        ),
        max_size=5,
    ),
    BEFORE,
)
def test_the_engine_decides_as_rule_by_rule(rules: list[str], before: Any) -> None:
    decided("".join(rules) + REST, before)


@given(BEFORE)
def test_policies_without_the_words_decide_the_same_whatever_was_received(before: Any) -> None:
    text = rule("deny", 'args.to = "*@evil.example"') + REST
    arguments = {"to": "eve@evil.example"}
    decision = policy(text).decide(call("send", arguments, received=before))

    assert decision == policy(text).decide(call("send", arguments))


def test_policies_without_the_words_keep_their_compiled_form() -> None:
    compiled = json.loads(to_json(policy(rule("allow", 'only_args = ["to"]') + REST)))

    assert [len(fields) for fields in compiled["rules"]] == [9, 8]


def test_the_reason_names_what_was_received() -> None:
    decision = policy(rule("prompt", "tainted = true") + REST).decide(
        call("send", received=[WEB, MAIL])
    )

    assert decision.text == (
        "Approval needed by policy (rule 1) (received before: external:mail, external:web)"
    )


def test_a_tool_is_listed_although_it_is_denied_after_external_results() -> None:
    engine = policy(rule("deny", "tainted = true") + REST).engine()

    assert engine.may_pass("tool", "send", "fs")
    assert engine.reads_origins("tool", "send", "fs")
    assert not engine.reads_origins("tool", "read", "fs")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('tainted = "yes"', "tainted is a text (true for calls after results"),
        ("tainted = 1", "tainted is a number"),
        ("taint = true", "unknown key 'taint' in a rule (did you mean 'tainted'?"),
        ("origin = []", "origin is an empty list"),
        ('origin = "agent"', "origin: unknown origin 'agent' (known: external or import)"),
        ('origin = "externl"', "did you mean 'external'?"),
        ("origin = 5", "origin must be a list of texts"),
        ('origin = ["external:"]', "the name in origin 'external:' is empty"),
    ],
)
def test_a_misspelt_word_is_refused(line: str, said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy(rule("deny", line))

    assert said in str(caught.value)


def test_a_limit_counts_calls_whatever_was_received() -> None:
    with pytest.raises(PolicyError, match="unknown key 'tainted'"):
        policy('[[limit]]\ntool = "send"\ncalls = 1\nper = "day"\ntainted = true\n')

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
from nacre.firewall.rules.received_origins import aged, described
from nacre.firewall.rules.rule import Action
from tests.firewall.deciding import call, linear, policy

WEB, MAIL, MEM0 = str(external("web")), str(external("mail")), str(imported("mem0"))
REST = '[[rule]]\naction = "allow"\ntool = "**"\n'
AGED = tuple(f"{WEB}, within {hours} hours" for hours in (2, 3, 25, 26, 721, 722))
BEFORE = st.none() | st.frozensets(st.sampled_from([WEB, MAIL, MEM0, *AGED]))


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
    ("line", "received", "expected"),
    [
        ("tainted = true", [AGED[0]], "allow"),
        ('tainted = true\nwindow = "1 hour"', [WEB], "prompt"),
        ('tainted = true\nwindow = "1 hour"', [AGED[0]], "prompt"),
        ('tainted = true\nwindow = "1 hour"', [AGED[1]], "allow"),
        ('tainted = true\nwindow = "1 day"', [AGED[2]], "prompt"),
        ('tainted = true\nwindow = "24 hours"', [AGED[3]], "allow"),
        ('tainted = true\nwindow = "30 days"', [AGED[4]], "prompt"),
        ('tainted = true\nwindow = "30 days"', [AGED[5]], "allow"),
        ('tainted = true\nwindow = "30 days"', None, "prompt"),
        ('tainted = false\nwindow = "1 day"', [AGED[2]], "allow"),
        ('tainted = false\nwindow = "1 day"', [AGED[3]], "prompt"),
        ('origin = "external:web"\nwindow = "1 day"', [AGED[1]], "prompt"),
        ('origin = "external:mail"\nwindow = "1 day"', [AGED[1]], "allow"),
        ('origin = "import"\nwindow = "2 days"', ["import:mem0, within 40 hours"], "prompt"),
        ('tainted = true\nwindow = "2 days"', ["import:mem0, within 40 hours"], "allow"),
    ],
)
def test_a_window_counts_what_any_client_received_in_it(
    line: str, received: Collection[str] | None, expected: Action
) -> None:
    assert decided(rule("prompt", line) + REST, received) == expected


def test_an_age_that_cannot_be_read_counts_as_the_last_hour() -> None:
    text = rule("prompt", "tainted = true") + REST

    assert policy(text).decide(call("send", received=[f"{WEB}, within ages"])).action == "prompt"


@given(st.integers(0, 40 * 86_400), st.integers(1, 720))
def test_what_was_received_counts_for_a_window_and_at_most_one_hour_more(
    age: int, hours: int
) -> None:
    text = rule("prompt", "tainted = true", f'window = "{hours} hours"') + REST
    action = policy(text).decide(call("send", received=[aged(WEB, age)])).action

    assert (action == "prompt") is (age < (hours + 1) * 3600)


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
                for line in (
                    *("tainted = true", "tainted = false", 'origin = "import"', ""),
                    *('tainted = true\nwindow = "1 day"', 'tainted = false\nwindow = "2 hours"'),
                    'origin = "external:web"\nwindow = "30 days"',
                )
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


def test_the_reason_says_how_long_ago_and_names_no_server_that_is_not_in_the_profile() -> None:
    assert described([aged(WEB, 0), AGED[3]]) == (
        "received before: external:web, within 1 hour, external:web, within 26 hours"
    )
    assert described([AGED[3], MAIL], ["mail"]) == "received before: external, external:mail"


def test_the_engine_knows_what_rules_ask_of_what_was_received() -> None:
    text = rule("deny", "tainted = true") + rule("deny", 'origin = "import"', 'window = "2 days"')
    engine = policy(text + rule("deny", "tainted = true", 'window = "5 hours"', tool="x")).engine()

    assert engine.windows(call("send"), reads_arguments=True) == (True, 48)
    assert engine.windows(call("x"), reads_arguments=True) == (False, 5)
    assert engine.windows(call("read"), reads_arguments=True) == (False, 0)
    before = policy(REST + rule("deny", "tainted = true")).engine()
    assert before.windows(call("send"), reads_arguments=True) == (
        False,
        0,
    )  # the first rule decides


@given(
    st.lists(
        st.sampled_from(
            [
                rule(action, *lines)
                for action in ("allow", "deny", "prompt")
                for lines in (
                    ("tainted = true", 'args.to = "*@evil.example"'),
                    ('origin = "import"', 'window = "1 day"', 'args."*" = "**@**"'),
                    ("tainted = false", 'window = "2 hours"', 'only_args = ["to"]'),
                    ('args.to = "ann@*"',),
                    (),
                )
            ]
        ),
        max_size=5,
    ),
    st.sampled_from([{}, {"to": "eve@evil.example"}, {"to": "ann@acme.example", "cc": "joe"}]),
    BEFORE,
)
def test_a_decision_asks_for_nothing_that_the_engine_does_not_know_of(
    rules: list[str], arguments: Any, before: Any
) -> None:
    engine = policy("".join(rules) + REST).engine()
    asks_lately, hours = engine.windows(call("send", arguments), reads_arguments=True)
    decision = engine.decide(call("send", arguments, received=before))

    if not (asks_lately or hours):
        assert engine.decide(call("send", arguments)).rule == decision.rule


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
        ('window = "1 day"', "the rule asks for nothing received (write tainted or origin too)"),
        ("tainted = true\nwindow = 5", "window is a number (write hours or days, at most 30 days"),
        ('tainted = true\nwindow = "31 days"', "window is '31 days'"),
        ('tainted = true\nwindow = "0 hours"', "window is '0 hours'"),
        ('tainted = true\nwindow = "1 week"', "window is '1 week'"),
        ('tainted = true\nwindow = "\u0661 day"', "write hours or days"),
    ],
)
def test_a_misspelt_word_is_refused(line: str, said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy(rule("deny", line))

    assert said in str(caught.value)


def test_a_limit_counts_calls_whatever_was_received() -> None:
    with pytest.raises(PolicyError, match="unknown key 'tainted'"):
        policy('[[limit]]\ntool = "send"\ncalls = 1\nper = "day"\ntainted = true\n')

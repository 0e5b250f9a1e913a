"""Words of a rule beside its globs: what they mean to the engine, and how they are misspelt."""

from typing import Any

import pytest

from nacre.core.errors import PolicyError
from nacre.firewall.analysis.coverage import coverage
from nacre.firewall.analysis.explain import explain
from nacre.firewall.analysis.prove import Shape, prove
from nacre.firewall.analysis.replay import RecordedCall, replay
from nacre.firewall.policies.compiled import from_json, to_json
from nacre.firewall.rules.rule import ArgumentTest
from tests.firewall.deciding import call, linear, policy

MAIL = """
[[rule]]
action = "allow"
tool = "send"
only_args = ["to", "cc", "bcc", "subject", "body"]
args.to.every_address = "*@acme.org"
args.cc = { every_address = "*@acme.org", optional = true }
args.bcc = { every_address = ["*@acme.org", "*@*.acme.org"], optional = true }
"""


def rule(action: str, lines: str) -> str:
    return f'[[rule]]\naction = "{action}"\ntool = "use"\n{lines}\n'


def decides(text: str, arguments: dict[str, Any]) -> bool:
    """Tell whether the first rule decides; the same from the compiled form and rule by rule."""
    loaded = policy(text)
    subject = call("use", arguments)
    decision = loaded.decide(subject)
    assert from_json(to_json(loaded)).decide(subject) == decision
    first = None if decision.rule is None else (decision.rule, decision.action)
    assert linear(loaded, subject) == first
    assert explain(loaded, subject).decision == decision
    assert all(
        (step.matched or step.depends) is (step.rule == decision.rule)
        for step in explain(loaded, subject).steps
    )
    return (decision.rule, decision.action) == (1, loaded.rules[0].action)


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        ({"to": "ann@acme.org"}, True),
        ({"to": "Ann <ann@ACME.org>, joe@acme.org", "cc": "", "bcc": []}, True),
        ({"to": ["ann@acme.org", "joe@acme.org"], "bcc": None, "body": "x@evil.org"}, True),
        ({"to": "ann@acme.org", "bcc": "it@mail.acme.org"}, True),
        ({"to": "ann@acme.org, eve@evil.org"}, False),
        ({"to": ["ann@acme.org", "eve@evil.org"]}, False),
        ({"to": "ann@acme.org", "bcc": "eve@evil.org"}, False),
        ({"to": "ann@acme.org", "cc": ["eve@evil.org"]}, False),
        ({"to": "ann@acme.org", "reply_to": "eve@evil.org"}, False),
        ({"to": "ann@acme.org", "BCC": "eve@evil.org"}, False),
        ({"to": [{"email": "ann@acme.org"}]}, False),
        ({"to": ""}, False),
        ({"to": []}, False),
        ({"cc": "ann@acme.org"}, False),
        ({}, False),
    ],
)
def test_every_address_of_a_message_must_match(arguments: dict[str, Any], allowed: bool) -> None:
    assert (policy(MAIL).decide(call("send", arguments)).action == "allow") is allowed


@pytest.mark.parametrize(
    ("lines", "arguments", "holds"),
    [
        ('args.p = { glob = "/srv/**", optional = true }', {}, True),
        ('args.p = { glob = "/srv/**", optional = true }', {"p": None}, True),
        ('args.p = { glob = "/srv/**", optional = true }', {"p": []}, True),
        ('args.p = { glob = "/srv/**", optional = true }', {"p": "/srv/a"}, True),
        ('args.p = { glob = "/srv/**", optional = true }', {"p": "/etc/a"}, False),
        ('args.p = { glob = "/srv/**", optional = true }', {"p": ""}, False),
        ('args.p = { glob = "/srv/**", optional = true }', {"p": {}}, False),
        ('args.p.glob = "/srv/**"\nargs.p.optional = true', {"q": 1}, True),
        ('args.a.b = { glob = "x", optional = true }', {}, True),
        ('args.a.b = { glob = "x", optional = true }', {"a": {}}, True),
        ('args.a.b = { glob = "x", optional = true }', {"a": [{"b": "y"}]}, False),
        ('args.a.b = { glob = "x", optional = true }', {"a": "y"}, False),
        ("args.p.optional = [true]", {"p": {"optional": True}}, True),
        ('args.p.glob = "a"', {"p": {"glob": "a"}}, True),
        ('only_args = ["a"]', {}, True),
        ('only_args = ["a"]', {"a": {"b": [1]}}, True),
        ('only_args = ["a"]', {"a": 1, "b": None}, False),
        ("only_args = []", {}, True),
        ("only_args = []", {"_meta": 1}, False),
        ('ignore_case = true\nargs.p = "Report*"', {"p": "REPORT-1"}, True),
        ('ignore_case = true\nargs.p = "/srv/**"', {"p": "/SRV/x/../y"}, True),
        ('ignore_case = true\nargs.p = "/srv/**"', {"p": "/SRV/../y"}, False),
        ('args.c.one_command = "git log **"', {"c": "git  log -1 'a b'"}, True),
        ('args.c.one_command = "git log **"', {"c": "git log; id"}, False),
        ('args.c.one_command = "git log **"', {"c": 'git "log -1"'}, False),
        ('args.c.one_command = "git log **"', {"c": ["git log -1"]}, False),
        ('args.c.one_command = "git **"', {"c": ["git", "git push"]}, False),
        ('args.c = { glob = "git **", one_command = "git log **" }', {"c": "git log -1"}, True),
        ('args.c = { glob = "git **", one_command = "git log **" }', {"c": " git log -1"}, False),
        ('args.q.one_statement = ["select", "SHOW"]', {"q": "SELECT 1;"}, True),
        ('args.q.one_statement = "select"', {"q": "select 1; drop table t"}, False),
        ('args.q.one_statement = "select"', {"q": 1}, False),
    ],
)
def test_an_allow_holds_for_what_is_plain(
    lines: str, arguments: dict[str, Any], holds: bool
) -> None:
    assert decides(rule("allow", lines), arguments) is holds


@pytest.mark.parametrize(
    ("lines", "arguments", "holds"),
    [
        ('ignore_case = true\nargs.p = "*secret*"', {"p": "My-SECRET"}, True),
        ('ignore_case = true\nargs.p = "*secret*"', {"p": "My-\u017fecret"}, True),
        ('args.p = "*secret*"', {"p": "My-SECRET"}, False),
        ('args.to.every_address = "*@evil.org"', {"to": "a@acme.org, b@EVIL.org"}, True),
        ('args.to.every_address = "*@evil.org"', {"to": "a@acme.org (b@evil.org)"}, True),
        ('args.to.every_address = "*@evil.org"', {"to": "a@acme.org"}, False),
        ('args.to.every_address = "*@evil.org"', {}, False),
        ('args.c.one_command = "rm **"', {"c": "ls && rm x"}, True),
        ('args.c.one_command = "rm **"', {"c": "ls x"}, False),
        ('args.q.one_statement = "drop"', {"q": "select 1; drop table t"}, True),
        ('args.q.one_statement = "drop"', {"q": ["select 1", "drop table t"]}, True),
        ('args.q.one_statement = "drop"', {"q": "select 1"}, False),
        ('args.p = { glob = "x", optional = true }', {}, True),
        ('args.p = { glob = "x", optional = true }', {"p": "y"}, False),
        ('only_args = ["a"]', {"b": 1}, False),
    ],
)
@pytest.mark.parametrize("action", ["deny", "prompt"])
def test_a_deny_or_a_question_holds_for_what_may_be_meant(
    action: str, lines: str, arguments: dict[str, Any], holds: bool
) -> None:
    assert decides(rule(action, lines), arguments) is holds


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("args.p.optional = true", "no glob and no matcher"),
        ("args.p = { optional = false, glob = 'a' }", "optional is true or false"),
        ("args.p = { optional = true, glb = 'a' }", "unknown key 'glb'"),
        (
            "args.p = { one_statement = 'select', one_command = 'b' }",
            "one_command and one_statement",
        ),
        ("args.p = { every_address = '*@a.org', inner = 'b' }", "unknown key 'inner'"),
        ("args.'*'.every_address = '*@a.org'", "every argument"),
        ("args.to.every_address = '*acme.org'", "not a glob of addresses"),
        ("args.to.every_address = '*@*acme.org'", "not a glob of addresses"),
        ("args.to.every_address = '*@a.org, *@b.org'", "not a glob of addresses"),
        ("args.to.every_address = 5", "is a number"),
        ("args.q.one_statement = 'selct'", "did you mean 'select'"),
        ("args.q.one_statement = 'select **'", "no verb"),
        ("args.c.one_command = ''", "is empty"),
        ("ignore_case = 'yes'\nargs.p = 'a'", "ignore_case is a text"),
        ("ignore_case = true", "there are none"),
        ("only_args = 'a'", "must be a list of texts"),
        ("only_args = ['a']\nargs.b = 'x'", "leaves out args.b"),
        ("only_args = ['a', 'A']", "differ in case only"),
        ("args.path = 'a'\nargs.Path = 'b'", "differ in case only"),
        ("only_args = ['Path', 'path']\nargs.path = 'b'", "differ in case only"),
        ("only_arg = ['a']", "did you mean 'only_args'"),
    ],
)
def test_a_word_that_is_misused_is_refused(lines: str, said: str) -> None:
    with pytest.raises(PolicyError, match="rule 1") as raised:
        policy(rule("allow", lines))

    assert said in f"{raised.value} {raised.value.hint}"


def test_names_of_own_patterns_that_differ_in_case_are_refused() -> None:
    with pytest.raises(PolicyError, match="differ in case only"):
        policy("[secrets.patterns]\nBadge = 'B-[0-9]{6}'\nbadge = 'b-[0-9]{6}'\n")


def test_policies_without_the_words_keep_their_digest() -> None:
    plain = policy(rule("allow", 'args.p = "/srv/**"'))

    assert '[[["p"],["/srv/**"]]]' in to_json(plain)
    assert plain.digest == policy(rule("allow", 'args.p = "/srv/**"\nignore_case = false')).digest
    assert plain.digest != policy(rule("allow", 'args.p = "/srv/**"\nonly_args = ["p"]')).digest


def test_a_closed_rule_leaves_calls_to_others() -> None:
    text = rule("deny", "only_args = []") + rule("allow", "")

    assert policy(text).engine().may_pass("tool", "use", "fs")
    (tool,) = coverage(policy(text), {"fs": ["use"]}).tools
    assert tool.fate == "depends"


def test_replay_knows_which_names_a_closed_rule_leaves_out() -> None:
    rules = policy(rule("allow", 'only_args = ["to"]\nargs.to = { glob = "x", optional = true }'))
    records = [
        RecordedCall("tool", "use", "fs", "allow", frozenset(names))
        for names in ((), ("to", "bcc"))
    ]

    free, closed = sorted(replay(rules, records), key=lambda each: len(each.after), reverse=True)

    assert (free.after, closed.after) == (("allow", "deny"), ("deny",))


def test_proofs_know_closed_rules_and_do_not_trust_matchers() -> None:
    mail = policy(MAIL)
    other = ArgumentTest(("reply_to",), ("**",))
    body = ArgumentTest(("body",), ("**evil**",))
    to = ArgumentTest(("to",), ("**evil**",))

    assert prove(mail, Shape("send", tests=(other,))).holds is True
    assert prove(mail, Shape("send", tests=(body,))).holds is not True
    assert prove(mail, Shape("send", tests=(to,))).holds is None


def test_an_explanation_names_what_a_word_found() -> None:
    def told(text: str, tool: str, arguments: dict[str, Any]) -> str:
        return "\n".join(explain(policy(text), call(tool, arguments)).lines())

    assert "has 'eve@evil.org', which does not match" in told(
        MAIL, "send", {"to": "ann@acme.org, eve@evil.org"}
    )
    assert "only_args: the call has 'reply_to' too" in told(
        MAIL, "send", {"to": "ann@acme.org", "reply_to": "x"}
    )
    assert "not plainly what one_command reads" in told(
        rule("allow", 'args.c.one_command = "ls **"'), "use", {"c": "ls; id"}
    )
    assert "and it is optional" in told(MAIL, "send", {"to": "ann@acme.org"})

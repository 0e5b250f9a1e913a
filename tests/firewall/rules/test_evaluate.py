from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.firewall.rules.evaluate import MALFORMED, NO_RULE
from nacre.firewall.rules.policy import is_well_formed
from nacre.firewall.rules.rule import NOWHERE, Decision, Subject, Surroundings
from tests.firewall.deciding import PROJECTS, call, decide, linear, method, policy, rule
from tests.scaffolding.laws import examples

SEED = """
[[rule]]
action = "deny"
tool = "shell_execute"
description = "Block all shell execution"

[[rule]]
action = "prompt"
tool = "filesystem_*"
args.path = "/etc/**"
description = "Ask before accessing system config"

[[rule]]
action = "allow"
tool = "filesystem_read"
args.path = "/home/user/projects/**"
description = "Allow reading project files"

[[rule]]
action = "deny"
tool = "*"
description = "Default deny"
"""


@pytest.mark.requirement("004.rule.fields")
@pytest.mark.requirement("004.rule.actions")
@pytest.mark.requirement("004.method.tools-call")
@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("shell_execute", {"command": "ls"}, ("deny", 1)),
        ("filesystem_write", {"path": "/etc/hosts"}, ("prompt", 2)),
        ("filesystem_read", {"path": "/home/user/projects/a.py"}, ("allow", 3)),
        ("filesystem_read", {"path": "/home/user/.ssh/id_rsa"}, ("deny", 4)),
        ("anything", {}, ("deny", 4)),
    ],
)
def test_the_policy_of_the_seed_document_decides_as_it_says(
    tool: str, arguments: dict[str, Any], expected: tuple[str, int]
) -> None:
    decision = policy(SEED).decide(call(tool, arguments))
    assert (decision.action, decision.rule) == expected


def test_a_decision_says_what_the_caller_is_told() -> None:
    assert policy(SEED).decide(call("shell_execute")) == Decision(
        "deny", 1, "Block all shell execution", "Block all shell execution"
    )
    plain = '[[rule]]\naction = "deny"\ntool = "x"\n'
    assert policy(plain).decide(call("x")).text == "Blocked by policy (rule 1)"


@pytest.mark.requirement("004.rule.order")
def test_the_first_rule_that_matches_decides() -> None:
    text = '[[rule]]\naction = "allow"\ntool = "a_*"\n[[rule]]\naction = "deny"\ntool = "a_b"\n'
    assert decide(text, "a_b") == "allow"


@pytest.mark.requirement("004.rule.default-deny")
def test_a_call_that_no_rule_is_about_is_denied() -> None:
    assert NO_RULE.action == "deny"
    assert policy("").decide(call("x")) == NO_RULE
    assert policy(PROJECTS).decide(call("read", {"path": "/x"})) == NO_RULE


def test_a_rule_about_an_argument_says_nothing_about_calls_without_it() -> None:
    without: list[dict[str, Any]] = [{}, {"path": None}, {"path": {}}, {"path": []}, {"p": "/x"}]
    for arguments in without:
        assert decide(rule("deny", 'path = "**"') + ALL, "read", arguments) == "allow"
        assert decide(rule("allow", 'path = "**"'), "read", arguments) == "deny"


ALL = '[[rule]]\naction = "allow"\ntool = "**"\n'


def test_several_arguments_must_all_match_and_one_of_a_list_of_globs() -> None:
    text = rule("allow", 'path = ["/a/**", "/b/**"]\nargs.mode = "r"')
    assert decide(text, "read", {"path": "/b/x", "mode": "r"}) == "allow"
    assert decide(text, "read", {"path": "/b/x", "mode": "w"}) == "deny"
    assert decide(text, "read", {"path": "/c/x", "mode": "r"}) == "deny"
    assert decide(text, "read", {"path": "/b/x"}) == "deny"


@pytest.mark.parametrize(
    ("value", "is_allowed"),
    [
        ("/a/x", True),
        (["/a/x", "/a/y"], True),
        ([], False),
        (["/a/x", "/etc/passwd"], False),
        (["/a/x", 7], False),
        (["/a/x", None], False),
        (["/a/x", {"p": "/a/y"}], False),
        (["/a/x", ["/a/y"]], False),
        ({"value": "/a/x"}, False),
        (7, False),
        (True, False),
    ],
)
def test_an_allow_takes_a_scalar_or_a_list_of_matching_ones(
    value: object, is_allowed: bool
) -> None:
    expected = "allow" if is_allowed else "deny"
    assert decide(rule("allow", 'path = "/a/**"'), "read", {"path": value}) == expected


@pytest.mark.parametrize(
    "value",
    ["/etc/x", ["/a", "/etc/x"], [["/etc/x"]], {"value": "/etc/x"}, [{"a": [{"b": "/etc/x"}]}]],
)
def test_a_deny_looks_at_every_value_below_its_argument(value: object) -> None:
    assert decide(rule("deny", 'path = "/etc/**"') + ALL, "read", {"path": value}) == "deny"


def test_nested_arguments_are_found_in_objects() -> None:
    text = rule("allow", 'options.path = "/srv/**"')
    assert decide(text, "read", {"options": {"path": "/srv/x"}}) == "allow"
    assert decide(text, "read", {"options": [{"path": "/srv/x"}]}) == "deny"
    assert decide(text, "read", {"options": "/srv/x"}) == "deny"
    assert decide(text, "read", {"options.path": "/srv/x"}) == "deny"
    denied = rule("deny", 'options.path = "/etc/**"') + ALL
    assert decide(denied, "read", {"options": [{"path": "/srv/x"}, {"path": "/etc/x"}]}) == "deny"
    dotted = rule("allow", '"options.path" = "/srv/**"')
    assert decide(dotted, "read", {"options.path": "/srv/x"}) == "allow"


def test_a_star_stands_for_every_argument_at_any_depth() -> None:
    denied = rule("deny", '"*" = "**/.ssh/**"') + ALL
    assert decide(denied, "read", {"a": {"b": [1, {"c": "/home/u/.ssh/id"}]}}) == "deny"
    assert decide(denied, "read", {"a": {"b": [1, {"c": "/home/u/x"}]}}) == "allow"
    assert decide(denied, "read", {}) == "allow"
    allowed = rule("allow", '"*" = "/a/**"')
    assert decide(allowed, "read", {"p": "/a/x", "q": ["/a/y"]}) == "allow"
    assert decide(allowed, "read", {"p": "/a/x", "q": True}) == "deny"
    assert decide(allowed, "read", {}) == "deny"
    below = rule("deny", 'options."*" = "/etc/**"') + ALL
    assert decide(below, "read", {"options": {"x": {"y": "/etc/z"}}}) == "deny"
    assert decide(below, "read", {"other": "/etc/z"}) == "allow"


@pytest.mark.parametrize(
    ("wanted", "value", "is_allowed", "is_denied"),
    [
        ("5", 5, True, True),
        ("5", 5.0, False, True),
        ("5", JsonNumber("5"), True, True),
        ("5", JsonNumber("5.0"), False, True),
        ("5", JsonNumber("5e0"), False, True),
        ("5", "5", False, False),
        ("5", True, False, False),
        ("1", True, False, False),
        ("true", True, True, True),
        ("true", "true", False, False),
        ("true", 1, False, False),
        ("false", False, True, True),
        ("false", 0, False, False),
        ("1.5", 1.5, True, True),
        ("1.5", JsonNumber("1.50"), True, True),
        ("'1*'", 150, True, True),
        ("'1*'", JsonNumber("1e3"), True, True),
        ("'1000'", JsonNumber("1e3"), False, True),
        ("'1e3'", JsonNumber("1e3"), False, True),
        ("'100000000000000000000000'", JsonNumber("100000000000000000000000"), True, True),
        ("'true'", True, True, True),
        ("'*'", True, True, True),
        ("[1, 'a']", "a", True, True),
        ("[1, 'a']", 1, True, True),
        ("[1, 'a']", 2, False, False),
    ],
)
def test_numbers_and_truth_values_match_by_their_type_or_their_text(
    wanted: str, value: object, is_allowed: bool, is_denied: bool
) -> None:
    allowed = decide(rule("allow", f"n = {wanted}"), "read", {"n": value})
    denied = decide(rule("deny", f"n = {wanted}") + ALL, "read", {"n": value})
    assert (allowed == "allow", denied == "deny") == (is_allowed, is_denied)


@pytest.mark.requirement("004.rule.fields")
def test_a_server_is_a_glob_over_the_name_that_we_give_it() -> None:
    text = '[[rule]]\naction = "allow"\ntool = "*"\nserver = "git*"\n'
    assert decide(text, "x", server="github") == "allow"
    assert decide(text, "x", server="fs") == "deny"


def test_a_qualified_name_is_about_one_server() -> None:
    text = (
        '[[rule]]\naction = "deny"\ntool = "mcp__risky__delete"\n'
        '[[rule]]\naction = "allow"\ntool = "mcp__math__*"\n'
        '[[rule]]\naction = "allow"\ntool = "mcp__risky__*"\n'
    )
    assert decide(text, "delete", server="risky") == "deny"
    assert decide(text, "list", server="risky") == "allow"
    assert decide(text, "add", server="math") == "allow"
    assert decide(text, "math__add", server="x") == "deny"
    assert decide(text, "add", server="math__x") == "deny"
    assert decide(text, "x__add", server="math") == "allow"
    assert decide(text, "mcp__math__add", server="x") == "deny"
    everywhere = '[[rule]]\naction = "deny"\ntool = "mcp__*"\n' + ALL
    assert decide(everywhere, "add", server="math") == "deny"


def test_a_denied_tool_is_found_behind_invisible_characters() -> None:
    text = '[[rule]]\naction = "deny"\ntool = "shell"\n' + ALL
    assert decide(text, "sh\u200bell") == "deny"
    assert decide(text, "\uff53hell") == "deny"
    assert decide('[[rule]]\naction = "allow"\ntool = "shell"\n', "sh\u200bell") == "deny"


@pytest.mark.requirement("004.method.resources-read")
def test_resources_are_decided_by_their_uri() -> None:
    for text in (
        '[[rule]]\naction = "allow"\ntool = "resources/read"\nargs.uri = "file:///p/**"\n',
        '[[rule]]\naction = "allow"\nresource = "file:///p/**"\n',
        '[[rule]]\naction = "allow"\nmethod = "resources/*"\nargs.uri = "file:///p/**"\n',
    ):
        rules = policy(text)
        read = [method("resources/read", {"uri": f"file://{path}"}) for path in ("/p/a", "/p/../a")]
        assert [rules.decide(each).action for each in read] == ["allow", "deny"]


@pytest.mark.requirement("004.method.prompts-get")
def test_prompts_are_decided_by_their_name() -> None:
    rules = policy('[[rule]]\naction = "allow"\nprompt = "code_*"\n')
    assert rules.decide(method("prompts/get", {"name": "code_review"})).action == "allow"
    assert rules.decide(method("prompts/get", {"name": "jailbreak"})).action == "deny"


def test_a_tool_that_is_named_like_a_method_is_none() -> None:
    rules = policy('[[rule]]\naction = "allow"\ntool = "resources/read"\n')
    assert rules.decide(method("resources/read", {"uri": "x:y"})).action == "allow"
    assert rules.decide(call("resources/read", {"uri": "x:y"})).action == "deny"


def test_one_star_is_about_tools_and_two_about_methods_as_well() -> None:
    tools, everything = '[[rule]]\naction = "allow"\ntool = "*"\n', ALL
    assert policy(tools).decide(method("sampling/createMessage")).action == "deny"
    assert policy(everything).decide(method("sampling/createMessage")).action == "allow"


@pytest.mark.parametrize("name", [None, "", 7, "a\0", "\ud800", ["read"]])
def test_a_call_without_a_proper_name_is_denied(name: Any) -> None:
    assert policy(ALL).decide(Subject("tool", name, "fs", {})) == MALFORMED


@pytest.mark.parametrize("arguments", [None, ["/a"], "x", 7])
def test_a_call_whose_arguments_have_no_names_is_denied(arguments: Any) -> None:
    assert policy(ALL).decide(Subject("tool", "read", "fs", arguments)) == MALFORMED


def test_a_tool_that_no_arguments_could_get_through_is_known() -> None:
    text = (
        '[[rule]]\naction = "allow"\ntool = "read"\nargs.path = "/a/**"\n'
        '[[rule]]\naction = "deny"\ntool = "write"\nargs.path = "/a/**"\n'
        '[[rule]]\naction = "deny"\ntool = "secret"\n'
        '[[rule]]\naction = "prompt"\ntool = "*e*"\n'
    )
    engine = policy(text).engine()
    assert engine.may_pass("tool", "read", "fs")
    assert engine.may_pass("tool", "write", "fs")
    assert not engine.may_pass("tool", "secret", "fs")
    assert not engine.may_pass("tool", "x", "fs")
    assert not engine.may_pass("tool", "", "fs")


def test_a_flood_of_invented_names_fills_nothing() -> None:
    rules = policy(SEED)
    for number in range(10_000):
        assert rules.decide(call(f"invented_{number}")).rule == 4
    assert len(rules.engine()._tools) <= 4096


names = st.sampled_from(["read", "write", "re*", "*", "**", "r?ad", "mcp__fs__*", "tools/x", "x"])
values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 3),
        st.sampled_from([1.0, 1.5, JsonNumber("1e0")]),
        st.text("ab/.%2eF~", max_size=8),
        st.sampled_from(["/a/b", "/a/%2e%2e/b", "~/a", "a b", "/a", "https://a/b"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("pqr"), inner),
    max_leaves=5,
)
globs = st.sampled_from(
    [
        "/a/**",
        "/a/*",
        "**",
        "*",
        "**/b",
        "~/**",
        "a b",
        "a*",
        "/a/b",
        "1*",
        "true",
        "https://a/**",
        "?",
    ]
)
wanted = st.one_of(
    globs.map(repr), st.sampled_from(["1", "true", "1.5"]), globs.map("['x', '{}']".format)
)
places = st.sampled_from(["p", "q", "p.q", '"*"', 'p."*"'])


@st.composite
def rule_texts(draw: st.DrawFn) -> str:
    text = f"[[rule]]\naction = '{draw(st.sampled_from(['allow', 'deny', 'prompt']))}'\n"
    text += f"tool = '{draw(names)}'\n"
    if draw(st.booleans()):
        text += f"server = '{draw(st.sampled_from(['fs', 'f*', 'x']))}'\n"
    if draw(st.integers(0, 3)):
        text += f"args.{draw(places)} = {draw(wanted)}\n"
    return text


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(rule_texts(), max_size=30),
    st.sampled_from(["read", "write", "x", "resources/read"]),
    st.dictionaries(st.sampled_from("pqr"), values, max_size=3),
    st.sampled_from(
        [NOWHERE, Surroundings(home="/a", bases=("/a/b",)), Surroundings(folds_case=True)]
    ),
)
def test_an_indexed_policy_decides_like_reading_rule_by_rule(
    texts: list[str], name: str, arguments: dict[str, Any], where: Surroundings
) -> None:
    rules = policy("".join(texts))
    subject = call(name, arguments)
    assert is_well_formed(subject)
    decision = rules.decide(subject, where)
    decided = None if decision.rule is None else (decision.rule, decision.action)
    assert decided == linear(rules, subject, where)


many_globs = st.tuples(
    st.sampled_from(["/", "/a/", "/b/", "~/", "", "a/", "C:\\\\", "https://a/"]), globs
).map(lambda parts: parts[0] + parts[1].lstrip("/"))


@settings(deadline=None, max_examples=examples(200))
@given(
    st.lists(st.tuples(st.sampled_from(["allow", "deny"]), many_globs), min_size=8, max_size=60),
    values,
    st.sampled_from(
        [NOWHERE, Surroundings(home="/a", bases=("/b",)), Surroundings(folds_case=True)]
    ),
)
def test_many_rules_about_one_argument_decide_like_reading_rule_by_rule(
    pairs: list[tuple[str, str]], value: Any, where: Surroundings
) -> None:
    rules = policy("".join(rule(action, f"p = '{glob}'") for action, glob in pairs))
    subject = call("read", {"p": value})
    decision = rules.decide(subject, where)
    decided = None if decision.rule is None else (decision.rule, decision.action)
    assert decided == linear(rules, subject, where)


def test_a_number_of_any_length_is_decided() -> None:
    assert decide(rule("deny", "n = '*'"), "read", {"n": 10**5000}) == "deny"
    assert decide(rule("allow", "n = '1*'"), "read", {"n": JsonNumber("1" * 5000)}) == "allow"
    assert decide(rule("deny", "n = 5"), "read", {"n": JsonNumber("1e999")}) == "deny"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.text(), st.text(), st.dictionaries(st.text(), json_values, max_size=4) | json_values)
def test_any_call_gets_a_decision(name: str, server: str, arguments: Any) -> None:
    text = rule("deny", '"*" = "/etc/**"', tool="**") + rule("allow", '"*" = "/a/**"', tool="**")
    for kind in ("tool", "method"):
        decision = policy(text).decide(Subject(kind, name, server, arguments))
        assert decision.action in ("allow", "deny")

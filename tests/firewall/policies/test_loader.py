from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.core.errors import PolicyError
from nacre.firewall.policies.loader import load_policy, read_policy
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import ArgumentTest, Rule
from nacre.firewall.rules.sections import InjectionSection, NamedPattern, SecretsSection, Settings

OK = '[[rule]]\naction = "allow"\ntool = "x"\n'


def refusal(text: str) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        load_policy(text, source="policy.toml")
    return caught.value


def test_every_part_of_a_rule_is_read() -> None:
    policy = load_policy(
        '[[rule]]\naction = "prompt"\ntool = "fs_*"\nserver = "fs"\ndescription = "Ask"\n'
        'args.path = "/etc/**"\nargs.n = [1, true]\nargs.a."b.c" = "x"\nargs."*" = "y"\n',
        source="p",
    )
    assert policy.rules == (
        Rule(
            number=1,
            action="prompt",
            name="fs_*",
            kind=None,
            server="fs",
            tests=(
                ArgumentTest(("path",), ("/etc/**",)),
                ArgumentTest(("n",), (1, True)),
                ArgumentTest(("a", "b.c"), ("x",)),
                ArgumentTest(("*",), ("y",)),
            ),
            description="Ask",
            origin="rule 1",
        ),
    )
    assert [test.path for test in policy.rules[0].tests] == [
        "args.path",
        "args.n",
        'args.a."b.c"',
        'args."*"',
    ]


def test_every_section_is_read() -> None:
    policy = load_policy(
        '[injection]\naction = "redact"\nsources = ["result", "sampling"]\nbuiltin = false\n'
        '[injection.patterns]\nmine = "(?i)secret project"\n'
        '[secrets]\naction = "deny"\n[secrets.patterns]\nbadge = "B-[0-9]{6}"\n'
        '[settings]\nmode = "monitor"\ndeny_style = "error"\napprover = "operator"\n'
        'approval_seconds = 30\npins = "record"\nwait_seconds = 5\n',
        source="p",
    )
    assert policy.injection == InjectionSection(
        action="redact",
        sources=("sampling", "result"),
        builtin=False,
        patterns=(NamedPattern("mine", "(?i)secret project"),),
    )
    assert policy.secrets == SecretsSection(
        action="deny", patterns=(NamedPattern("badge", "B-[0-9]{6}"),)
    )
    assert policy.settings == Settings("monitor", "error", "operator", 30, "record", 5)


@pytest.mark.parametrize(
    ("text", "rule", "said"),
    [
        (
            '[[rule]]\naction = "alow"\ntool = "x"\n',
            1,
            "unknown action 'alow' (did you mean 'allow'",
        ),
        (
            OK + '[[rule]]\naction = "permit"\ntool = "x"\n',
            2,
            "unknown action 'permit' (did you mean 'prompt'?",
        ),
        (OK + '[[rule]]\naction = 1\ntool = "x"\n', 2, "unknown action a number"),
        (OK + '[[rule]]\ntool = "x"\n', 2, "has no action (allow, deny or prompt)"),
        (OK + '[[rule]]\naction = "deny"\n', 2, "has no tool (write one of tool, method"),
        (OK + 'resource = "x"\n', 1, "has tool and resource (write one of"),
        (OK + 'arg.path = "/x"\n', 1, "unknown key 'arg' in a rule (did you mean 'args'?"),
        (OK + 'arguments.path = "/x"\n', 1, "did you mean 'args'?"),
        (OK + 'serverr = "/x"\n', 1, "unknown key 'serverr' in a rule (did you mean 'server'?"),
        ('[[rule]]\naction = "deny"\ntool = ""\n', 1, "tool is empty, which matches nothing"),
        (OK + 'server = ""\n', 1, "server is empty"),
        (OK + 'args.path = ""\n', 1, "args.path is empty, which matches nothing"),
        (OK + 'args.path = ["/a", ""]\n', 1, "args.path is empty"),
        (OK + "args.path = []\n", 1, "args.path is an empty list"),
        (OK + "args.path = [[1]]\n", 1, "args.path is a list"),
        (OK + "args.path = {}\n", 1, "args.path is empty (name an argument)"),
        (OK + "args = {}\n", 1, "args is empty"),
        (OK + 'args = "/x"\n', 1, "args is a text (write args.path ="),
        (OK + "args.day = 2026-01-01\n", 1, "args.day is a date or a time"),
        (OK + "args.n = nan\n", 1, "args.n is a number"),
        (OK + 'args."*".x = "y"\n', 1, "matches every value below it"),
        (OK + 'args.path = "a\\u0000"\n', 1, "contains a NUL"),
        (OK + "description = 3\n", 1, "description is a number"),
        (OK + 'description = " "\n', 1, "description is a text"),
        (OK + "tool = 'y'\n", 1, "is not valid TOML: Cannot overwrite a value"),
        (OK + OK + "args.path = '/x'\nargs.path = '/y'\n", 2, "is not valid TOML"),
        (OK + OK + "[rule.args]\np = 'x'\n[rule.args]\nq = 'x'\n", 2, "is not valid TOML"),
        (
            '[[rule]]\naction = "allow"\nresource = "a"\nargs.uri = "b"\n',
            1,
            "both resource and args.uri",
        ),
        (
            '[[rule]]\naction = "allow"\nprompt = "a"\nargs.name = "b"\n',
            1,
            "both prompt and args.name",
        ),
        (
            '[[rule]]\naction = "allow"\ntool = ["a", "b"]\n',
            1,
            "tool is a list (write one rule for each tool, or a glob such as 'read_*')",
        ),
        ('[rule]\naction = "allow"\ntool = "x"\n', None, "there is one [rule] (write [[rule]]"),
        ("rule = 3\n", None, "'rule' must be tables"),
        ("rule = [3]\n", 1, "is not a table"),
        (
            '[[rules]]\naction = "allow"\n',
            None,
            "unknown key 'rules' in the policy (did you mean 'rule'?",
        ),
        ('allowed_tool = ["a"]\n', None, "did you mean 'allowed_tools'?"),
        ('allowed_tools = "a"\n', None, "allowed_tools is a text"),
        ("allowed_tools = [1]\n", None, "allowed_tools[0] is a number"),
        ("x = \n", None, "is not valid TOML"),
        ("injection = 3\n", None, "injection is a number (write [injection])"),
        (
            '[injection]\nactoin = "deny"\n',
            None,
            "unknown key 'actoin' in [injection] (did you mean 'action'?",
        ),
        ('[injection]\naction = "allow"\n', None, "injection.action: unknown value 'allow'"),
        (
            '[injection]\nsources = ["results"]\n',
            None,
            "unknown source 'results' (did you mean 'result'?",
        ),
        ('[injection]\nbuiltin = "yes"\n', None, "injection.builtin is a text (true or false)"),
        ('[injection.patterns]\nmine = "("\n', None, "mine is not a regular expression"),
        ('[injection.patterns]\nmine = "a*"\n', None, "mine matches every text"),
        ("[secrets.patterns]\nmine = 3\n", None, "mine must be a regular expression"),
        ('[secrets]\nwithout = "x"\n', None, "secrets.without must be a list of texts"),
        (
            '[settings]\nmode = "monitr"\n',
            None,
            "settings.mode: unknown value 'monitr' (did you mean 'monitor'?",
        ),
        ("[settings]\napproval_seconds = 0\n", None, "a whole number from 1 to 3600"),
        ("[settings]\nwait_seconds = -1\n", None, "a whole number from 0 to 3600"),
        ("[settings]\nwait_seconds = '25'\n", None, "wait_seconds must be a whole number"),
        ("[settings]\napproval_seconds = true\n", None, "a whole number from 1 to 3600"),
        ("a = " + "[" * 5000 + "\n", None, "policy.toml: "),
    ],
)
def test_a_mistake_is_refused_with_its_place_and_what_to_write(
    text: str, rule: int | None, said: str
) -> None:
    error = refusal(text)
    place = "policy.toml: " if rule is None else f"policy.toml: rule {rule}: "
    assert error.rule == rule
    assert str(error).startswith(place)
    assert said in str(error)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{OK}args.{'a.' * 3000}b = 'x'", "rule 1: args nests deeper than any call"),
        (f"{OK}args.{'a.' * 100}b = 'x'", "rule 1: args nests deeper than any call"),
        (f"{OK}args.n = {'9' * 5000}", "contains a number with too many digits"),
        (f"a = {'[' * 5000}", "nests too deep"),
    ],
)
def test_what_is_too_large_to_read_is_refused_like_any_mistake(text: str, said: str) -> None:
    assert said in str(refusal(text))


def test_a_misspelt_argument_never_widens_a_rule() -> None:
    # Read leniently, this would allow every path.
    assert "did you mean 'args'" in str(refusal(OK + 'Args.path = "/home/**"\n'))


def test_a_policy_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(OK)
    assert read_policy(file).rules[0].name == "x"
    assert read_policy(file).source == str(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"missing\.toml: cannot be read: No such file"):
        read_policy(tmp_path / "missing.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(PolicyError, match="is not UTF-8"):
        read_policy(binary)


def test_a_byte_order_mark_is_no_part_of_a_policy(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_bytes(b"\xef\xbb\xbf" + OK.encode())
    assert read_policy(file).rules[0].name == "x"


lines = st.sampled_from(
    """[[rule]];[rule];action = "allow";action = "x";tool = "a";tool = 1;[args];args.path = "/x"
    args = 3;[settings];[injection];[secrets.patterns];x = "(";allowed_tools = ["mcp__a__b"]
    rule = [];sources = [1];args.a.b = [true];[[rule.x]]""".replace("\n    ", ";").split(";")
)


@settings(deadline=None)
@given(st.lists(lines | st.text(max_size=12), max_size=12).map("\n".join))
def test_any_text_is_a_policy_or_a_refusal(text: str) -> None:
    with suppress(PolicyError):
        assert isinstance(load_policy(text, source="policy.toml"), Policy)

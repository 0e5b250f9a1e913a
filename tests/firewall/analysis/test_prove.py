import os
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nacre.firewall.analysis.prove import Shape, deny_rule, prove
from nacre.firewall.rules.arguments.readings import readings
from nacre.firewall.rules.evaluate import Engine
from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.rule import NOWHERE, ArgumentTest, Subject, Surroundings
from tests.firewall.analysis.random_proofs import is_of, try_proofs
from tests.firewall.deciding import call, policy
from tests.firewall.rules.test_evaluate import SEED, globs
from tests.scaffolding.laws import examples

SSH = ArgumentTest(("path",), ("**/.ssh/**",))
ETC = ArgumentTest(("path",), ("/etc/**",))

DENY_FIRST = """
[[rule]]
action = "deny"
tool = "**"
args.path = "/etc/**"
[[rule]]
action = "allow"
tool = "fs_*"
"""


def test_the_policy_of_the_seed_document_never_allows_shells_or_etc() -> None:
    assert prove(policy(SEED), Shape("shell_execute")).holds
    assert prove(policy(SEED), Shape("filesystem_*", tests=(ETC,))).holds
    assert prove(policy(SEED), Shape("filesystem_write")).holds


def test_a_counterexample_is_a_call_that_is_allowed() -> None:
    proof = prove(policy(SEED), Shape("filesystem_*", tests=(SSH,)))
    assert proof.holds is False
    assert proof.rule == 3
    assert proof.counterexample is not None
    assert policy(SEED).decide(proof.counterexample).action == "allow"
    assert matches("/home/user/projects/**", proof.counterexample.arguments["path"])
    assert matches("**/.ssh/**", proof.counterexample.arguments["path"])


@pytest.mark.parametrize(
    ("text", "shape", "holds"),
    [
        (DENY_FIRST, Shape("fs_read", tests=(ETC,)), True),
        (DENY_FIRST, Shape("fs_read", tests=(SSH,)), False),
        (DENY_FIRST, Shape("fs_read", tests=(ArgumentTest(("file",), ("/etc/**",)),)), False),
        (
            DENY_FIRST.replace("args.path", 'args."*"'),
            Shape("fs_read", tests=(ArgumentTest(("file",), ("/etc/**",)),)),
            True,
        ),
        (DENY_FIRST, Shape("other"), True),
        (DENY_FIRST, Shape("mcp__fs__fs_read", tests=(ETC,)), True),
        (DENY_FIRST, Shape("mcp__fs__*"), False),
        ("", Shape("**"), True),
        ('[[rule]]\naction = "allow"\ntool = "a"\nserver = "x"\n', Shape("a", server="y"), True),
        ('[[rule]]\naction = "allow"\ntool = "a"\nserver = "x"\n', Shape("a", server="x*"), False),
        ('[[rule]]\naction = "allow"\nresource = "file:///a/**"\n', Shape("resources/read"), False),
        (
            '[[rule]]\naction = "allow"\nresource = "file:///a/**"\n',
            Shape("resources/read", tests=(ArgumentTest(("uri",), ("ssh://**",)),)),
            True,
        ),
        (
            '[[rule]]\naction = "deny"\ntool = "a*"\n[[rule]]\naction = "deny"\ntool = "b*"\n'
            '[[rule]]\naction = "allow"\ntool = "?*"\n',
            Shape("a*"),
            True,
        ),
        (
            '[[rule]]\naction = "allow"\ntool = "cfg"\nargs.a.b = "/srv/**"\n',
            Shape("cfg", tests=(ArgumentTest(("a", "b"), ("/srv/x/**",)),)),
            False,
        ),
    ],
)
def test_a_shape_is_proved_or_refuted(text: str, shape: Shape, holds: bool) -> None:
    proof = prove(policy(text), shape)
    assert proof.holds is holds, proof.reason
    if proof.counterexample is not None:
        assert policy(text).decide(proof.counterexample).action == "allow"


actions = st.sampled_from(["allow", "deny", "prompt"])


@st.composite
def path_rules(draw: st.DrawFn) -> str:
    text = f"[[rule]]\naction = '{draw(actions)}'\n"
    text += f"tool = '{draw(st.sampled_from(['read', 're*', '*', 'write']))}'\n"
    if draw(st.integers(0, 3)):
        place = draw(st.sampled_from(["p", "q", '"*"']))
        text += f"args.{place} = '{draw(globs)}'\n"
    return text


@settings(deadline=None, max_examples=examples(300))
@given(
    st.lists(path_rules(), max_size=6),
    globs,
    st.dictionaries(
        st.sampled_from("pq"),
        st.sampled_from(["/a/b", "/a/%2e./b", "/a", "b", "/x/b", "a b", "1", "~/a", "https://a/b"]),
        min_size=1,
    ),
)
def test_what_is_proved_never_happens(
    texts: list[str], glob: str, arguments: dict[str, Any]
) -> None:
    rules = policy("".join(texts))
    subject = call("read", arguments)
    assume("p" in arguments)
    read = readings(arguments["p"], NOWHERE).sure
    assume(any(matches(glob, text) for text in read))

    proof = prove(rules, Shape("read", tests=(ArgumentTest(("p",), (glob,)),)))
    if proof.holds:
        assert rules.decide(subject).action != "allow"
    if proof.counterexample is not None:
        assert rules.decide(proof.counterexample).action == "allow"


ALLOW_ONE_PATH = """
[[rule]]
action = "allow"
tool = "read"
args.path = "/srv/**"
"""


@pytest.mark.parametrize(
    ("text", "shape", "where"),
    [
        # `*` is every argument, those that a rule names and those that it does not.
        (ALLOW_ONE_PATH, Shape("read", tests=(ArgumentTest(("*",), ("/srv/x",)),)), NOWHERE),
        (ALLOW_ONE_PATH, Shape("read", tests=(ArgumentTest(("*",), ("/etc/**",)),)), NOWHERE),
        (
            ALLOW_ONE_PATH.replace("args.path", "args.a.b"),
            Shape("read", tests=(ArgumentTest(("a", "*"), ("/srv/x",)),)),
            NOWHERE,
        ),
        # `**` is every tool and every method.
        ('[[rule]]\naction = "allow"\nresource = "**"\n', Shape("**"), NOWHERE),
        ('[[rule]]\naction = "allow"\nprompt = "review"\n', Shape("**"), NOWHERE),
        ('[[rule]]\naction = "allow"\nmethod = "sampling/*"\n', Shape("**"), NOWHERE),
        ("[settings]\nmode = 'monitor'\n", Shape("shell"), NOWHERE),
        (
            "[settings]\nmode = 'monitor'\n",
            Shape("read", tests=(ArgumentTest(("path",), ("/etc/**",)),)),
            NOWHERE,
        ),
        # `~` is the home folder that the proxy knows.
        (
            ALLOW_ONE_PATH.replace("/srv/", "~/"),
            Shape("read", tests=(ArgumentTest(("path",), ("/home/ann/.ssh/**",)),)),
            Surroundings(home="/home/ann"),
        ),
    ],
)
def test_what_a_rule_allows_is_never_proved_away(
    text: str, shape: Shape, where: Surroundings
) -> None:
    proof = prove(policy(text), shape, where)

    assert proof.holds is False, proof.reason
    assert proof.counterexample is not None
    assert is_of(shape, proof.counterexample, where)


@pytest.mark.parametrize(
    ("text", "shape", "where"),
    [
        (ALLOW_ONE_PATH, Shape("read", tests=(ArgumentTest(("path",), ("/srv//a",)),)), NOWHERE),
        (ALLOW_ONE_PATH, Shape("read", tests=(ArgumentTest(("path",), ("https://**",)),)), NOWHERE),
        (
            ALLOW_ONE_PATH.replace("/srv/**", "etc/*"),
            Shape("read", tests=(ArgumentTest(("path",), ("/etc/*",)),)),
            NOWHERE,
        ),
        (
            ALLOW_ONE_PATH.replace('"read"', '"ﬁle"'),
            Shape("file"),
            NOWHERE,
        ),
        (
            ALLOW_ONE_PATH.replace('"/srv/**"', "5"),
            Shape("read", tests=(ArgumentTest(("path",), ("?",)),)),
            NOWHERE,
        ),
    ],
)
def test_readings_that_only_a_denying_rule_looks_at_are_not_proved_away(
    text: str, shape: Shape, where: Surroundings
) -> None:
    assert prove(policy(text), shape, where).holds is not True


@pytest.mark.parametrize(
    ("allowed", "never"),
    [
        ('command = "git log **"', "command=git push **"),
        ('command = "git status"', "command=**/etc/**"),
        ('url = "https://api.github.com/**"', "url=https://evil.example/**"),
        ('branch = "feature/**"', "branch=main"),
        ('name = "*.txt"', "name=**/*.key"),
        ('path = "~/work/**"', "path=~/.ssh/**"),
        ('path = "~/work/**"', "path=/etc/**"),
        ('path = "/srv/app/**"', "path=/etc/**"),
        ('path = "/srv/app/**"', "path.inner=/srv/**"),
        ('"*" = "/srv/app/**"', "*=/etc/**"),
    ],
)
def test_what_everyday_rules_rule_out_is_proved(allowed: str, never: str) -> None:
    rules = policy(f"[[rule]]\naction = 'allow'\ntool = 'use'\nargs.{allowed}\n")
    name, _, glob = never.partition("=")

    for where in (NOWHERE, Surroundings(home="/home/ann")):
        assert prove(
            rules, Shape("**", tests=(ArgumentTest(tuple(name.split(".")), (glob,)),)), where
        ).holds


def test_random_proofs_hold_against_the_engine() -> None:
    answers = try_proofs(7, 150)

    assert answers["True"] > 50
    assert answers["False"] > 25
    assert answers["None"] < 30


@pytest.mark.slow
def test_thousands_of_random_proofs_hold_against_the_engine() -> None:
    count = int(os.environ.get("NACRE_PROOFS", "5000"))

    answers = try_proofs(11, count)

    assert answers.total() == count
    assert answers["None"] < count / 5


@pytest.mark.parametrize("owner", ["a_", "a__b", "a__", "a__b_", "a_b", "_a", "__", "a"])
@pytest.mark.parametrize("server", ["**", "a*", "*_", None])
def test_a_qualified_name_is_proved_wherever_the_servers_name_ends(
    owner: str, server: str | None
) -> None:
    allowing = policy('[[rule]]\naction = "allow"\ntool = "read"\n')
    call = Subject("tool", "read", owner, {})
    shape = Shape(call.qualified, owner if server is None else server)
    if Engine((deny_rule(shape),), NOWHERE).position_of(call) is None:
        return

    proof = prove(allowing, shape)

    assert proof.holds is not True, "the call is allowed"
    assert proof.holds is False or server is not None


@pytest.mark.parametrize(
    ("allowed", "shaped"),
    [
        ("note:///", "note:"),
        ("note:///", "**/note:*"),
        ("//.", "http:///"),
        ("//..", "https://./"),
        ("../~C:", "/home/C:"),
        ("~./https~", "**/home/https~"),
        ("~bob/x", "/~bob/x"),
        ("~bob/x", "/b/~bob/x"),
    ],
)
def test_a_place_that_is_written_oddly_is_not_proved_to_be_no_other(
    allowed: str, shaped: str
) -> None:
    allowing = policy(f'[[rule]]\naction = "allow"\nresource = "{allowed}"\n')
    shape = Shape("resources/read", tests=(ArgumentTest(("uri",), (shaped,)),))
    read = Subject("method", "resources/read", "s", {"uri": allowed})

    for where in (NOWHERE, Surroundings(bases=("/b",))):
        caught = Engine((deny_rule(shape),), where).position_of(read) is not None
        if caught and allowing.decide(read, where).action == "allow":
            assert prove(allowing, shape, where).holds is not True, where

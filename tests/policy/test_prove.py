from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nacre.policy.matching import matches
from nacre.policy.prove import Shape, prove
from nacre.policy.readings import readings
from nacre.policy.rule import NOWHERE, ArgumentTest
from tests.policy.deciding import call, policy
from tests.policy.test_evaluate import SEED, globs

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
            Shape("resources/read", tests=(ArgumentTest(("uri",), ("https://**",)),)),
            True,
        ),
        (
            '[[rule]]\naction = "deny"\ntool = "a*"\n[[rule]]\naction = "deny"\ntool = "b*"\n'
            '[[rule]]\naction = "allow"\ntool = "?*"\n',
            Shape("a?"),
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


@settings(deadline=None, max_examples=300)
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

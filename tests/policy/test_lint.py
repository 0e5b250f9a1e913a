from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.policy.languages import Language, covers, memberships
from nacre.policy.lint import Kind, lint
from nacre.policy.packs import PACKS, text_of
from tests.policy.deciding import call, policy
from tests.policy.test_evaluate import rule_texts, values

CATCH_ALL = '[[rule]]\naction = "deny"\ntool = "**"\n'


def found(text: str) -> list[tuple[int, Kind]]:
    return [(finding.rule, finding.kind) for finding in lint(policy(text))]


def rules(*lines: str) -> str:
    """Write rules as `action tool key=value ...`."""
    text = ""
    for line in lines:
        action, tool, *rest = line.split("|")
        text += f"[[rule]]\naction = '{action}'\ntool = '{tool}'\n" + "".join(
            f"{each}\n" for each in rest
        )
    return text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rules("allow|read|args.path='/a/**'", "deny|write"), []),
        (rules("allow|mcp__fs"), [(1, "never-matches")]),
        (rules("allow|mcp__fs__read|server='git'"), [(1, "never-matches")]),
        (rules("allow|mcp__fs__read|server='f*'"), []),
        (rules("allow|resources/read|args.path='/a'"), [(1, "never-matches")]),
        (rules("allow|read|args.path='/a%20b'"), [(1, "never-matches")]),
        (rules("allow|read|args.path='/a/*/../b'"), [(1, "never-matches")]),
        (rules("deny|*", "allow|read"), [(2, "unreachable")]),
        (rules("deny|*|args.path='/a/**'", "allow|read|args.path='/a/b'"), [(2, "unreachable")]),
        (rules("deny|*|args.path='/a/b'", "allow|read|args.path='/a/**'"), []),
        (rules("deny|*|server='x'", "allow|read"), []),
        (rules("deny|*|server='x*'", "allow|mcp__xy__read"), [(2, "unreachable")]),
        (rules("prompt|a*", "prompt|ab"), [(2, "redundant")]),
        (rules("allow|fs_*", "deny|fs_write"), [(2, "deny-after-allow")]),
        (
            rules("allow|read|args.path='/a/**'", "deny|read|args.path='/a/.ssh/**'"),
            [(2, "deny-after-allow")],
        ),
        (rules("deny|read|args.path='/a/.ssh/**'", "allow|read|args.path='/a/**'"), []),
        (rules("allow|run|args.command='git *'"), [(1, "star-in-command")]),
        (rules("allow|run|args.text='git *'"), [(1, "star-in-command")]),
        (rules("allow|run|args.command='git **'"), []),
        (rules("allow|read|args.path='/a/?.txt'"), [(1, "question-mark")]),
        (rules("allow|**"), [(1, "broad-allow")]),
        (rules("allow|mcp__*"), [(1, "broad-allow")]),
        (rules("deny|fs_*|args.path='/a/**'", "allow|fs_*"), [(1, "one-argument")]),
        (rules("""deny|fs_*|args."*"='/a/**'""", "allow|fs_*"), []),
        (rules("deny|*|args.n=5", "deny|x|args.n=5"), [(2, "redundant")]),
        (rules("deny|*|args.n=5", "allow|x|args.n=6"), []),
        (rules("deny|*", "allow|resources/read"), []),
        (rules("deny|completion/complete"), [(1, "never-matches")]),
        (rules("deny|tools/call"), [(1, "never-matches")]),
        (rules("deny|resources/*", "deny|sampling/createMessage"), []),
        (rules("deny|team/read"), []),  # a tool may have a name with a slash
        ("[[rule]]\naction = 'deny'\nmethod = '*'\n", [(1, "never-matches")]),
        ("[[rule]]\naction = 'deny'\nmethod = 'resource/read'\n", [(1, "never-matches")]),
        ("[[rule]]\naction = 'deny'\nmethod = '**'\n", []),
    ],
)
def test_what_looks_wrong_is_found(text: str, expected: list[tuple[int, Kind]]) -> None:
    assert found(text) == expected


def test_a_finding_says_what_to_write() -> None:
    (finding,) = lint(policy(rules("allow|run|args.command='git *'")))
    assert str(finding) == (
        "rule 1: args.command = 'git *': '*' stops at '/', and commands hold paths (write 'git **')"
    )


def test_an_allowed_tool_behind_a_catch_all_is_unreachable() -> None:
    text = 'allowed_tools = ["mcp__a__b"]\n' + CATCH_ALL
    (finding,) = lint(policy(text))
    assert (finding.origin, finding.kind) == ("allowed_tools 1", "unreachable")


@pytest.mark.parametrize("name", PACKS)
def test_what_nacre_ships_is_clean(name: str) -> None:
    assert found(text_of(name)) == []  # type: ignore[arg-type]


@settings(deadline=None, max_examples=200)
@given(
    st.lists(rule_texts(), min_size=2, max_size=8),
    st.lists(
        st.tuples(
            st.sampled_from(["read", "write", "x"]),
            st.dictionaries(st.sampled_from("pqr"), values, max_size=3),
        ),
        min_size=1,
        max_size=8,
    ),
)
def test_a_rule_that_is_called_unreachable_or_redundant_can_be_left_out(
    texts: list[str], calls: list[tuple[str, dict[str, Any]]]
) -> None:
    whole = policy("".join(texts))
    hidden = [each.rule for each in lint(whole) if each.kind in ("unreachable", "redundant")]
    for number in hidden:
        rest = policy("".join(texts[: number - 1] + texts[number:]))
        for tool, arguments in calls:
            subject = call(tool, arguments)
            assert rest.decide(subject).action == whole.decide(subject).action


globs = st.text(alphabet="ab/*?", min_size=1, max_size=6)


@given(globs, globs)
@settings(max_examples=300, deadline=None)
def test_what_an_example_refutes_is_refuted_by_all_texts(wide: str, narrow: str) -> None:
    assert covers([wide], [narrow]) == (
        0 not in memberships([Language([narrow])], [Language([wide])])
    )

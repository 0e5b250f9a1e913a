import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.firewall.rules.globs.glob import literal_prefix, regex
from nacre.firewall.rules.globs.matching import Automaton, matches

segment = st.text(st.characters(exclude_characters="/*?", exclude_categories=["Cs"]), max_size=8)
glob = st.lists(
    st.sampled_from(["a", "b", "/", "*", "**", "?", "**/", "/**", ".", "é"]), min_size=1, max_size=6
).map("".join)
text = st.text("ab/.é\n", max_size=9)


@pytest.mark.requirement("004.glob")
@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("*", "a", True),
        ("*", "", True),
        ("*", "a/b", False),
        ("a*c", "abbbc", True),
        ("a*c", "ab/c", False),
        ("**", "a/b\nc", True),
        ("a**b", "a/x/b", True),
        ("?", "é", True),
        ("?", "😀", True),
        ("?", "", False),
        ("?", "ab", False),
        ("a?b", "a/b", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "a/xb", False),
        ("**/.env", ".env", True),
        ("**/.env", "a/.env", True),
        ("**/.env", "a.env", False),
        ("/etc/**", "/etc", True),
        ("/etc/**", "/etc/", True),
        ("/etc/**", "/etc2/x", False),
        ("/**", "/", True),
        ("/**", "", False),
        ("a/**/**", "a", True),
        ("[a].{b}!", "[a].{b}!", True),
        ("[a]", "a", False),
        ("a.c", "abc", False),
        ("A", "a", False),
        ("a", "xa", False),
        ("a", "ax", False),
        ("a", "a\n", False),
        ("*.txt", ".hidden.txt", True),
    ],
)
def test_a_glob_covers_exactly_this(pattern: str, value: str, expected: bool) -> None:
    assert matches(pattern, value) is expected


@given(segment, segment)
def test_a_single_star_never_crosses_a_slash(left: str, right: str) -> None:
    assert not matches("*", f"{left}/{right}")


@given(segment.filter(bool))
def test_a_text_without_wildcards_is_itself(value: str) -> None:
    assert matches(value, value)
    assert not matches(value, value + "x")


@given(glob, text)
def test_an_expression_and_an_automaton_agree(pattern: str, value: str) -> None:
    expected = re.fullmatch(regex(pattern), value, re.DOTALL) is not None
    assert matches(pattern, value) is expected
    assert Automaton(pattern).covers(value) is expected


@given(glob, text)
def test_what_matches_begins_with_the_prefix(pattern: str, value: str) -> None:
    if matches(pattern, value):
        assert value.startswith(literal_prefix(pattern))


@pytest.mark.parametrize(
    ("pattern", "letters"),
    [("**a**a**a**a**a**a**b", "a"), ("**/a/**/a/**/a/**/b", "a/"), ("*a" * 12 + "b", "a")],
)
def test_no_text_makes_a_glob_slow(pattern: str, letters: str) -> None:
    # A matcher that goes back and tries again would need years.
    assert not matches(pattern, letters * 50_000)


def test_every_short_glob_agrees_with_its_automaton() -> None:
    parts = ["a", "/", "*", "**", "?"]
    texts = ["".join(each) for size in range(5) for each in product("a/", repeat=size)]
    for size in range(1, 5):
        for each in product(parts, repeat=size):
            pattern = "".join(each)
            automaton = Automaton(pattern)
            for value in texts:
                assert automaton.covers(value) is matches(pattern, value), (pattern, value)

import re
import threading
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.core.limits import OWN_PATTERN_WINDOW
from nacre.firewall.content.custom_patterns import check_pattern, own_matches
from nacre.firewall.content.injection.rules import RULES
from nacre.firewall.content.secrets import RULES as SECRET_RULES
from nacre.firewall.rules.sections import NamedPattern


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bACME-[A-Z]{2,6}-\d+\b",
        r"(?i)project\W{0,3}nightingale",
        r"ignore\s+all\s+rules",
        r"foo.*bar",
        r"(?:ab){2,}",
        r"\w+@example\.com",
        r"password (?:is|was) \S{8}",
        r"[一-龥]{3}秘密",
    ],
)
def test_ordinary_patterns_are_accepted(pattern: str) -> None:
    assert check_pattern(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a+)+$", "changing length"),
        ("(a|aa)+$", "changing length"),
        ("(a|a)*b", "alternatives"),
        ("(?:a{1,9}){3}b", "changing length"),
        (".*a.*b.*c", "too many ways"),
        (r"(\w+)\1", "refers back"),
        ("(?<=a)b", "looks around"),
        ("a*", "empty"),
        ("[", "not a regular expression"),
        ("x" * 501, "longer than 500"),
    ],
)
def test_patterns_that_some_text_makes_slow_are_refused(pattern: str, why: str) -> None:
    problem = check_pattern(pattern)
    assert problem is not None
    assert why in problem


def test_matches_are_found_in_long_texts_and_across_windows() -> None:
    text = "x" * (OWN_PATTERN_WINDOW - 3) + "needle" + "y" * 5000 + "needle"
    matches = list(own_matches(text, [NamedPattern("n", "needle")]))
    first, second = OWN_PATTERN_WINDOW - 3, len(text) - 6
    assert matches == [("n", (first, first + 6)), ("n", (second, second + 6))]


def test_a_pattern_that_takes_too_long_is_stopped_and_said() -> None:
    assert check_pattern("[a-z]+0") is None
    matches = list(own_matches("a" * 2_000_000, [NamedPattern("slow", "[a-z]+0")]))
    assert matches == [None]


def test_time_in_which_others_had_the_processor_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nacre.firewall.content.custom_patterns.OWN_PATTERN_SECONDS", 0.05)
    matches = own_matches("ab" + "x" * OWN_PATTERN_WINDOW + "ab", [NamedPattern("n", "ab")])
    assert next(matches)
    threading.Event().wait(0.1)
    assert next(matches)


@given(st.text(alphabet="ab(|)*+?[]{}1,^$.\\", max_size=12))
def test_an_accepted_pattern_is_quick_on_a_text_made_against_it(pattern: str) -> None:
    if check_pattern(pattern) is None:
        started = process_time()
        re.compile(pattern).search("ab" * 60 + "a" * 120 + "b" * 120)
        assert process_time() - started < 2


def test_built_in_patterns_have_bounded_repeats() -> None:
    patterns = [pattern for rule in RULES for pattern in rule.patterns]
    for pattern in (*patterns, *(rule.pattern for rule in SECRET_RULES)):
        bare = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "x", pattern)
        assert not re.search(r"[*+]", bare), pattern

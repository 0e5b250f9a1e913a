"""A glob as an automaton reads a text as if it took each character by itself."""

from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.firewall.rules.globs.matching import Automaton
from tests.scaffolding.laws import examples

globs = st.lists(
    st.sampled_from(["**", "*", "?", "/", "a", "]", "^", "-", "\\", "**/", "/**", "é"])
)
texts = st.text(st.sampled_from("a]^-\\/bcé\n"), max_size=12)


@settings(max_examples=examples(300))
@given(globs.map("".join), texts)
def test_passing_over_what_a_glob_does_not_name_changes_nothing(glob: str, text: str) -> None:
    automaton = Automaton(glob)
    state = automaton.start
    for character in text:
        state = automaton.step(state, character)

    assert automaton.covers(text) == automaton.accepts(state)

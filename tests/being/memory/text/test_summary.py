import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.being.memory.text.summary import Summary
from tests.being.memory.keeping import a_node

some_texts = st.lists(st.text(max_size=8), max_size=3).map(tuple)
summaries = st.builds(
    Summary,
    actors=some_texts,
    created_at=st.text(min_size=1, max_size=24),
    event=st.text(max_size=16),
    stability=st.floats(0, 3650),
    clock0=st.integers(0, 10_000),
    superseded_by=st.none() | st.text(min_size=1, max_size=36),
    valid_until=st.none() | st.text(min_size=1, max_size=10),
    similar=some_texts,
    parents=some_texts,
)


@given(summaries)
def test_a_summary_comes_back_from_its_text(summary: Summary) -> None:
    assert Summary.from_text(summary.to_text()) == summary


@given(st.recursive(st.none() | st.integers() | st.text(max_size=4), st.lists, max_leaves=12))
def test_any_other_text_is_refused_or_is_a_summary(value: object) -> None:
    try:
        summary = Summary.from_text(json.dumps(value))
    except ValueError:
        return
    assert Summary.from_text(summary.to_text()) == summary


@pytest.mark.parametrize(
    "text", ["", "[", "{}", "[]", '["Ann"]', '[[1],"x"]', '[["Ann"],"x","",[]]']
)
def test_a_text_that_is_no_summary_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"summary|JSON|Expecting"):
        Summary.from_text(text)


def test_only_a_little_strength_may_differ_between_near_summaries() -> None:
    before = Summary.of(a_node(1, stability=16.0, clock0=5))

    assert before.is_near(Summary.of(a_node(1, stability=17.0, clock0=6)))
    assert not before.is_near(Summary.of(a_node(1, stability=16.0, clock0=60)))
    assert not before.is_near(Summary.of(a_node(1, stability=16.0, clock0=5, superseded_by="x")))
    assert not before.is_near(Summary.of(a_node(1, stability=16.0, clock0=5, similar=("x",))))

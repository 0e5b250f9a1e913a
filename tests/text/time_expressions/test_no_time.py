"""Words that could mean a time and do not, at this place."""

import pytest

from tests.text.time_expressions.test_time_expression import days_of, expressions


def test_words_that_only_look_like_a_time_are_left_alone() -> None:
    queries = [query for _, query, days in expressions() if days is None]

    assert len(queries) > 60
    assert [query for query in queries if days_of(query)] == []


@pytest.mark.parametrize(
    "query",
    ["what's the current apr for my card", "deals on black friday", "on Monday mornings I run"],
)
def test_habits_and_named_days_are_no_dates(query: str) -> None:
    assert days_of(query) is None

"""Expressions of time in eight languages; `expressions.tsv` holds the queries and their days."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.text.time_expressions.time_expression import find_time

NOW = datetime(2026, 11, 19, 15, tzinfo=UTC)  # a Thursday
LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "ja", "zh")


def days_of(query: str, now: datetime = NOW) -> tuple[str, str] | None:
    """Return the first and the last day that a query means, "-" for an open end."""
    expression = find_time(query, now)
    if expression is None:
        return None
    return str(expression.days.first or "-"), str(expression.days.last or "-")


def rest_of(query: str) -> str:
    expression = find_time(query, NOW)
    assert expression is not None
    return expression.rest


def expressions() -> Iterator[tuple[str, str, tuple[str, str] | None]]:
    text = (Path(__file__).parent / "expressions.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            language, query, first, *last = line.split("\t")
            yield language, query, (first, last[0]) if last else None


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_of_time_mean_days(language: str) -> None:
    cases = {query: days for spoken, query, days in expressions() if spoken == language and days}

    assert len(cases) > 30
    assert {query: days_of(query) for query in cases} == cases


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("what did I plan last week for the garden?", "what did I plan for the garden?"),
        ("What happened yesterday?", "What happened?"),
        ("Wer kam vergangene Woche zum Essen?", "Wer kam zum Essen?"),
        ("les visites en mars", "les visites"),
        ("昨日の夕食", "夕食"),
        ("我上周做了什么", "我做了什么"),
        ("last week", ""),
    ],
)
def test_the_rest_is_the_query_without_the_words_of_time(query: str, rest: str) -> None:
    assert rest_of(query) == rest


@pytest.mark.parametrize(
    "query",
    [
        "what happened yesterday?",
        "Was habe ich letzte Woche gemacht?",
        "qu'est-ce que j'ai fait hier",
        "qué pasó ayer",
        "cosa ho fatto ieri?",
        "o que aconteceu ontem",
        "先週何をしましたか",
        "昨天发生了什么",
        "last week",
    ],
)
def test_a_query_for_all_of_a_time_names_nothing_else(query: str) -> None:
    expression = find_time(query, NOW)

    assert expression is not None
    assert expression.is_all


def test_a_query_for_something_at_a_time_names_it() -> None:
    expression = find_time("what did I do with Ann yesterday", NOW)

    assert expression is not None
    assert not expression.is_all


def test_of_several_times_the_first_one_in_the_past_is_meant() -> None:
    query = "what did I plan last week for next month"

    assert days_of(query) == ("2026-11-09", "2026-11-15")
    assert rest_of(query) == "what did I plan for next month"
    assert days_of("for next month, what did I plan last week") == ("2026-11-09", "2026-11-15")


@pytest.mark.parametrize(
    ("now", "query", "days"),
    [
        ((2026, 1, 1), "yesterday", ("2025-12-31", "2025-12-31")),
        ((2026, 1, 1), "last week", ("2025-12-22", "2025-12-28")),
        ((2026, 1, 15), "this winter", ("2025-12-01", "2026-02-28")),
        ((2026, 1, 15), "last summer", ("2025-06-01", "2025-08-31")),
        ((2026, 3, 31), "last month", ("2026-02-01", "2026-02-28")),
        ((2026, 3, 31), "a month ago", ("2026-02-13", "2026-03-15")),
        ((2026, 3, 15), "in March", ("2026-03-01", "2026-03-31")),
        ((2026, 3, 15), "last March", ("2025-03-01", "2025-03-31")),
        ((2026, 5, 2), "on 3 May", ("2025-05-03", "2025-05-03")),
        ((2026, 11, 20), "on Friday", ("2026-11-20", "2026-11-20")),
        ((2026, 11, 20), "last Friday", ("2026-11-13", "2026-11-13")),
        ((2026, 11, 22), "last weekend", ("2026-11-14", "2026-11-15")),
        ((2026, 11, 22), "this weekend", ("2026-11-21", "2026-11-22")),
        ((2024, 2, 29), "a year ago", ("2023-01-01", "2023-12-31")),
        ((2026, 2, 1), "on 29 February", ("2024-02-29", "2024-02-29")),
        ((2026, 2, 10), "from November to January", ("2025-11-01", "2026-01-31")),
        ((2026, 11, 17), "from Friday to Monday", ("2026-11-13", "2026-11-16")),
        ((2026, 11, 19), "from June 2024 to February", ("2024-06-01", "2025-02-28")),
    ],
)
def test_the_calendar_decides(now: tuple[int, int, int], query: str, days: tuple[str, str]) -> None:
    assert days_of(query, datetime(*now, 12, tzinfo=UTC)) == days


@pytest.mark.parametrize(
    "query",
    [
        "in 99999 years",
        "9999 years ago",
        "999 years ago",
        "2026-13-45",
        "since",
        "",
        "   ",
        "last",
    ],
)
def test_days_that_the_calendar_does_not_have_are_no_time(query: str) -> None:
    assert days_of(query) is None


def test_a_pasted_text_has_no_time() -> None:
    assert days_of("yesterday " + "we painted the fence " * 20) is None


def test_a_new_sentence_may_begin_with_a_capital() -> None:
    assert days_of("I am ill. Yesterday I ate oysters") == ("2026-11-18", "2026-11-18")


@given(st.text(max_size=60))
def test_any_text_is_read_without_an_error(text: str) -> None:
    expression = find_time(text, NOW)

    assert expression is None or expression.words in text


_PHRASES = """
    last next this week month year Monday March May 3 10 2025 since before between and from to ago
    days three in on the of early summer weekend yesterday letzte Woche vor Tagen 先週 3日前
    """
_WORDS = st.sampled_from(_PHRASES.split())


@given(st.lists(_WORDS, max_size=8))
def test_a_range_never_ends_before_it_begins(words: list[str]) -> None:
    expression = find_time(" ".join(words), NOW)

    if expression is not None and expression.days.first and expression.days.last:
        assert expression.days.first <= expression.days.last

"""MaxSim: how well texts answer a query, word by word."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.adapters.embeddings.builtin_models import ENGLISH, MULTILINGUAL
from nacre.adapters.embeddings.static_embedder import StaticTable, StaticTokenSimilarity

ENGLISH_TOKENS = StaticTokenSimilarity(StaticTable(ENGLISH))
MULTILINGUAL_TOKENS = StaticTokenSimilarity(StaticTable(MULTILINGUAL))


@pytest.fixture(params=[ENGLISH_TOKENS, MULTILINGUAL_TOKENS], ids=["english", "multilingual"])
def tokens(request: pytest.FixtureRequest) -> StaticTokenSimilarity:
    similarity: StaticTokenSimilarity = request.param
    return similarity


def scored(tokens: StaticTokenSimilarity, query: str, texts: Sequence[str]) -> list[float]:
    return [score or 0.0 for score in tokens.score(query, texts)]


def test_a_text_with_every_word_scores_one_and_a_stranger_little(
    tokens: StaticTokenSimilarity,
) -> None:
    same, near, far = scored(
        tokens,
        "Where did Ann adopt a puppy?",
        [
            "I know where Ann did adopt a puppy, don't you?",
            "Ann got a little dog from the shelter",
            "The quarterly tax report is late",
        ],
    )

    assert same == pytest.approx(1, abs=1e-5)
    assert same > near > far


def test_rare_words_weigh_more_than_frequent_ones(tokens: StaticTokenSimilarity) -> None:
    rare, frequent = scored(tokens, "the giraffe", ["giraffe", "the"])

    assert rare > 2 * frequent


@pytest.mark.parametrize(
    ("query", "texts", "expected"),
    [
        ("cat", [], []),
        ("", ["cat", "dog"], [0, 0]),
        ("\u0000", ["cat"], [0]),
        ("cat", ["", "cat", " "], [0, 1, 0]),
        ("cat", ["", ""], [0, 0]),
    ],
)
def test_nothing_to_compare_scores_nothing(
    tokens: StaticTokenSimilarity, query: str, texts: list[str], expected: list[float]
) -> None:
    assert scored(tokens, query, texts) == pytest.approx(expected)


def test_a_japanese_answer_wins_in_the_multilingual_table() -> None:
    answer_score, other_score = scored(
        MULTILINGUAL_TOKENS,
        "寿司を食べたのはどこですか",
        ["昨日は東京で寿司を食べた", "来週は税金の書類を出す"],
    )

    assert answer_score > other_score


@settings(max_examples=50)
@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=6))
def test_every_score_lies_between_nothing_and_one_and_is_of_its_text_alone(
    query: str, texts: list[str]
) -> None:
    scores = scored(ENGLISH_TOKENS, query, texts)

    assert len(scores) == len(texts)
    assert all(0 <= score <= 1 for score in scores)
    alone = [scored(ENGLISH_TOKENS, query, [text])[0] for text in texts]
    assert scores == pytest.approx(alone, abs=1e-5)


def test_two_hundred_long_candidates_are_no_burden() -> None:
    scores = scored(ENGLISH_TOKENS, "giraffe " * 5000, ["tax report " * 5000 + "giraffe"] * 200)

    assert len(scores) == 200
    assert max(scores) < 0.9  # what lies far behind the beginning is not read


@pytest.mark.parametrize(
    ("query", "text", "is_comparable"),
    [
        ("Where do I keep the spare key?", "The spare key is under the flowerpot", True),
        ("Where do I keep the spare key?", "Der Schlüssel liegt unter dem Blumentopf", False),
        ("Wo ist der Schlüssel vom Gartenhaus?", "The spare key is under the flowerpot", False),
        ("Wo ist der Schlüssel vom Gartenhaus?", "Der Schlüssel liegt beim Nachbarn", True),
        ("鍵はどこにありますか", "予備の鍵は植木鉢の下にある", True),
        ("鍵はどこにありますか", "The spare key is under the flowerpot", False),
    ],
)
def test_words_of_two_languages_are_not_compared(
    query: str, text: str, is_comparable: bool
) -> None:
    [score] = ENGLISH_TOKENS.score(query, [text])

    assert (score is not None) is is_comparable

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.being.memory.search.recall_cards import (
    THRESHOLDS,
    WORDS_ALONE,
    RecallCard,
    recall_card_of,
)
from nacre.being.memory.search.recall_gate import Signals, match, verdict
from nacre.being.memory.search.recall_signals import names_in
from nacre.wiring.features.embeddings import builtin_embedder

CARD = RecallCard(threshold=0.5, cjk_threshold=0.7, coverage=0.4, unrelated=0.1)
UNKNOWN = recall_card_of("openai:a-model-of-next-year:99:1")

shares = st.floats(0, 1)
cosines = st.lists(st.floats(-1, 1), max_size=40).map(lambda each: sorted(each, reverse=True))


def signals(**given_signals: Any) -> Signals:
    return Signals(**{"words": 3, "shared": 0, "coverage": 0.0, "has_name": False} | given_signals)


def is_open(card: RecallCard = CARD, *, mostly_cjk: bool = False, **given_signals: Any) -> bool:
    return verdict(signals(**given_signals), card, mostly_cjk=mostly_cjk).is_open


def test_a_near_memory_that_stands_out_opens_the_gate() -> None:
    assert is_open(cosines=[0.4, *[0.2] * 9])
    assert not is_open(cosines=[0.4, *[0.35] * 9])
    assert not is_open(cosines=[0.25, *[0.1] * 9])


def test_a_message_in_cjk_has_a_threshold_of_its_own() -> None:
    assert is_open(cosines=[0.4, *[0.2] * 9])
    assert not is_open(cosines=[0.4, *[0.2] * 9], mostly_cjk=True)


def test_the_wording_of_a_message_moves_its_score() -> None:
    assert not is_open(cosines=[0.3, *[0.2] * 9])
    assert is_open(cosines=[0.3, *[0.2] * 9], need=0.11)
    assert not is_open(cosines=[0.4, *[0.2] * 9], need=-0.05)


def test_a_message_of_one_word_needs_a_name_or_a_close_match() -> None:
    near, nearer = [0.4, *[0.2] * 9], [0.5, *[0.2] * 9]

    assert is_open(words=2, cosines=near)
    assert not is_open(words=1, cosines=near)
    assert is_open(words=1, cosines=near, has_name=True)
    assert is_open(words=1, cosines=nearer)
    assert not is_open(words=0, cosines=nearer)  # such as emoji


def test_a_young_memory_counts_missing_hits_as_unrelated() -> None:
    scores = [
        verdict(signals(cosines=[0.4, *[0.1] * others]), CARD, mostly_cjk=False).score
        for others in (0, 2, 9)
    ]

    assert scores == pytest.approx([0.7] * 3)


def test_the_gate_of_an_unknown_model_goes_by_the_lead_alone() -> None:
    high, low = [0.9, *[0.85] * 9], [0.3, *[0.1] * 9]

    assert not is_open(UNKNOWN, cosines=high)
    assert is_open(UNKNOWN, cosines=low)
    assert not is_open(UNKNOWN, cosines=[0.9, 0.1, 0.1])  # too few to compare with


def test_without_a_model_two_rare_words_or_a_name_open_the_gate() -> None:
    assert is_open(WORDS_ALONE, shared=2, coverage=0.3)
    assert is_open(WORDS_ALONE, shared=1, coverage=0.3, has_name=True)
    assert not is_open(WORDS_ALONE, shared=2, coverage=0.1)


@given(
    words=st.integers(0, 50), coverage=shares, card=st.sampled_from([WORDS_ALONE, UNKNOWN, CARD])
)
def test_one_shared_word_opens_no_gate(words: int, coverage: float, card: RecallCard) -> None:
    assert not is_open(card, words=words, shared=1, coverage=coverage)
    assert not is_open(card, words=words, shared=1, coverage=coverage, cosines=[0.1] * 10)


@given(near=cosines, nearer=st.floats(0, 1), need=st.floats(-0.2, 0.2))
def test_a_nearer_memory_never_closes_the_gate(
    near: list[float], nearer: float, need: float
) -> None:
    best = max(near, default=0.0)
    raised = [min(1.0, best + nearer), *near[1:]]

    if is_open(cosines=near, need=need):
        assert is_open(cosines=raised, need=need)


@given(near=cosines, coverage=shares, shared=st.integers(0, 9), has_name=st.booleans())
def test_an_open_gate_shows_the_best_hit(
    near: list[float], coverage: float, shared: int, has_name: bool
) -> None:
    given_signals = signals(cosines=near, coverage=coverage, shared=shared, has_name=has_name)
    opened = verdict(given_signals, CARD, mostly_cjk=False)
    best = near[0] if near else None

    if opened.is_open and coverage > 0:
        assert match(best, coverage, given_signals, CARD, opened) is not None


def test_a_hit_says_how_well_it_matches() -> None:
    given_signals = signals(cosines=[0.5, 0.3, *[0.1] * 9])
    opened = verdict(given_signals, CARD, mostly_cjk=False)

    found = [match(cosine, 0.0, given_signals, CARD, opened) for cosine in (0.5, 0.3, 0.15)]

    assert found == ["close", "loose", None]
    assert match(None, 0.6, given_signals, CARD, opened) == "close"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Where is Miso?", {"miso"}),
        ("Thanks! Great.", set()),
        ("please ask Priya to call", {"priya"}),
        ("we saw NASA and Ann", {"ann"}),
        ("昨日、京都で抹茶を飲んだ", set()),
        ("SELECT name FROM orders", set()),
    ],
)
def test_capitals_within_a_sentence_are_names(text: str, names: set[str]) -> None:
    assert names_in(text) == names


def test_a_card_has_its_direction_as_numbers() -> None:
    card = recall_card_of("builtin:potion-base-8m:256:1")

    assert len(card.direction) == 256
    assert max(map(abs, card.direction)) < 1
    assert UNKNOWN.direction == WORDS_ALONE.direction == ()


@pytest.mark.slow  # each encoder reads hundreds of messages again
@pytest.mark.parametrize("emb_id", THRESHOLDS)
def test_a_direction_is_that_of_the_messages_that_it_was_made_of(emb_id: str) -> None:
    from infra.recall_cards import direction

    embedder = builtin_embedder(emb_id)
    assert embedder is not None

    numbers = direction(embedder)

    # Other processors may round the last digit differently.
    assert recall_card_of(emb_id).direction == pytest.approx(numbers.tolist(), abs=1e-3)

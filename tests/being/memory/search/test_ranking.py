from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.being.memory.search.ranking import (
    ACTOR_BOOST,
    BUSY_GROUP,
    LEXICAL,
    LOOKUP,
    RETENTION_SHARE,
    SURE_OF_PLACE,
    Candidate,
    named_actor,
    rank,
    shortlist,
)
from nacre.ports.vectors.embedder import Weights

HYBRID = Weights(dense=0.5, sparse=0.8, tokens=0.9)

share = st.floats(0, 1, allow_nan=False)
cosine = st.none() | st.floats(-1, 1, allow_nan=False)
words = st.none() | st.floats(0, 40, allow_nan=False)
groups = st.lists(st.sampled_from(["1", "2", "a"]), unique=True).map(tuple)
weights = st.builds(Weights, dense=share, sparse=share, tokens=share, lift=share)


@st.composite
def candidates(draw: st.DrawFn) -> list[Candidate]:
    ids = draw(st.lists(st.text("abc123", min_size=1, max_size=4), unique=True, max_size=12))
    return [
        draw(
            st.builds(
                Candidate,
                id=st.just(each),
                dense=cosine,
                sparse=words,
                coverage=share,
                tokens=cosine,
                groups=groups,
                actors=st.frozensets(st.sampled_from(["ann", "bo"])),
                length=st.integers(0, 40),
                asking=share,
                retention=share,
            )
        )
        for each in ids
    ]


def order(found: list[Candidate], by: Weights = HYBRID, named: str | None = None) -> list[str]:
    return [each.id for each in rank(found, by, named=named)]


@given(candidates(), weights, st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(
    found: list[Candidate], by: Weights, rng: Random
) -> None:
    shuffled = rng.sample(found, len(found))

    assert rank(shuffled, by) == rank(found, by)


@given(candidates(), weights, st.sampled_from([None, "ann"]))
def test_nothing_is_lost_and_every_score_lies_within_bounds(
    found: list[Candidate], by: Weights, named: str | None
) -> None:
    ranked = rank(found, by, named=named)

    assert sorted(each.id for each in ranked) == sorted(each.id for each in found)
    assert all(-1e-9 <= each.score <= 1 + 1e-9 for each in ranked)
    assert [each.score for each in ranked] == sorted((e.score for e in ranked), reverse=True)


@given(candidates(), weights)
def test_the_parts_of_a_score_add_up_to_it(found: list[Candidate], by: Weights) -> None:
    for each in rank(found, by):
        relevance = sum(part for name, part in each.parts.items() if name != "retention")
        assert each.score == pytest.approx(sum(each.parts.values()))
        assert {name for name, part in each.parts.items() if part < 0} <= {"asking", "retention"}
        assert -RETENTION_SHARE * relevance - 1e-9 <= each.parts["retention"] <= 0


@given(candidates(), weights, st.data())
def test_a_better_score_within_the_span_never_costs_a_place(
    found: list[Candidate], by: Weights, data: st.DataObject
) -> None:
    known = sorted(each.dense for each in found if each.dense is not None)
    if len(known) < 3:
        return
    inner = data.draw(
        st.sampled_from([e for e in found if e.dense is not None and e.dense in known[1:-1]])
    )
    assert inner.dense is not None
    raised = inner._replace(dense=data.draw(st.floats(inner.dense, known[-1])))
    after = order([raised if each is inner else each for each in found], by)

    before = [each.id for each in rank(found, by)]
    scores = {each.id: each.score for each in rank(found, by)}
    ahead = {name for name in before if scores[name] > scores[inner.id] + 1e-9}
    # Nobody that was strictly behind is in front now.
    behind = {name for name in before if scores[name] < scores[inner.id] - 1e-9}
    assert not behind & set(after[: after.index(inner.id)])
    assert ahead | behind | {inner.id} <= set(after)


def test_equals_stand_in_the_order_of_their_ids() -> None:
    assert order([Candidate("b", dense=0.5), Candidate("a", dense=0.5)]) == ["a", "b"]


def test_both_channels_together_beat_either_alone() -> None:
    found = [
        Candidate("vector only", dense=0.9),
        Candidate("words only", sparse=8.0),
        Candidate("both", dense=0.8, sparse=7.0),
        Candidate("neither much", dense=0.1, sparse=1.0),
    ]

    assert order(found)[0] == "both"


def test_an_accidental_word_does_not_count_as_much_as_all_words() -> None:
    """The best score by words is measured by what all words would score together."""
    found = [
        Candidate("by meaning", dense=0.6),
        Candidate("an accident", dense=0.1, sparse=2.0, coverage=0.2),
        Candidate("neither", dense=0.1),
    ]
    best, pool = shortlist(found, HYBRID, limit=3, rarity=10.0)

    assert rank(best, HYBRID, pool=pool)[0].id == "by meaning"
    assert pool.word_share(2.0) == pytest.approx(0.2)
    assert rank(found, HYBRID)[0].id == "an accident"


def test_token_similarities_of_unrelated_texts_count_nothing() -> None:
    low, high = rank([Candidate("high", tokens=0.29), Candidate("low", tokens=0.1)], HYBRID)

    assert low.parts["tokens"] == high.parts["tokens"] == 0


def test_a_memory_that_is_alone_on_its_day_loses_nothing_by_it() -> None:
    found = [
        Candidate("alone", sparse=6.0, groups=("1",)),
        Candidate("in company", sparse=5.9, groups=("2",)),
        Candidate("the company", sparse=1.0, groups=("2",)),
    ]

    assert order(found, LEXICAL)[0] == "alone"


def test_a_busy_day_lifts_its_members_less() -> None:
    def lift(size: int) -> float:
        day = [Candidate(f"c{number:03}", sparse=1.0, groups=("d",)) for number in range(size)]
        best = [Candidate(name, sparse=9.0, groups=("d",)) for name in ("a", "b")]
        ranked = rank([*day, *best], LEXICAL)
        return next(each for each in ranked if each.id == "c000").parts["session"]

    assert lift(3) == lift(BUSY_GROUP - 2) > 1.5 * lift(4 * BUSY_GROUP)


def test_the_best_of_a_busy_day_is_not_pushed_down() -> None:
    day = [Candidate(f"c{number:03}", sparse=1.0, groups=("d",)) for number in range(90)]
    found = [*day, Candidate("best", sparse=9.0, groups=("d",)), Candidate("other", sparse=8.5)]

    assert order(found, LEXICAL)[:2] == ["best", "other"]


def test_the_only_memory_with_a_word_comes_first_when_the_word_is_asked_alone() -> None:
    """A long memory scores low by BM25, and others may be nearer by meaning and by pieces."""
    found = [
        Candidate("has it", dense=0.0, sparse=0.1, coverage=1.0, tokens=0.2),
        *(Candidate(f"c{number}", dense=0.9, tokens=1.0, groups=("d",)) for number in range(50)),
    ]
    best, pool = shortlist(found, HYBRID, limit=40, rarity=8.0)

    assert rank(best, LOOKUP, pool=pool)[0].id == "has it"


def test_the_best_of_each_channel_are_ranked_in_full() -> None:
    found = [
        *(Candidate(f"c{number}", dense=0.9 + number / 1000) for number in range(50)),
        *(Candidate(f"w{number}", sparse=0.1 + number / 1000) for number in range(10)),
    ]
    best, _ = shortlist(found, HYBRID, limit=20, rarity=100.0)

    listed = {each.id for each in best}
    assert {f"w{number}" for number in range(10 - SURE_OF_PLACE, 10)} <= listed
    assert {f"c{number}" for number in range(50 - SURE_OF_PLACE, 50)} <= listed


def test_what_happened_together_lifts_each_other() -> None:
    day = ("2024-05-01",)
    found = [
        Candidate("a stranger", sparse=5.0),
        Candidate("of the day", sparse=5.0, groups=day),
        Candidate("the day's best", sparse=9.0, groups=day),
    ]

    assert order(found, LEXICAL) == ["the day's best", "of the day", "a stranger"]


def test_a_memory_of_the_named_person_comes_first() -> None:
    found = [
        Candidate("hers", sparse=5.0, actors=frozenset({"ann"})),
        Candidate("his", sparse=5.5, actors=frozenset({"bo"})),
    ]

    assert order(found, LEXICAL) == ["his", "hers"]
    assert order(found, LEXICAL, named="ann") == ["hers", "his"]
    assert rank(found, LEXICAL, named="ann")[0].parts["actor"] > ACTOR_BOOST / 4


def test_long_unused_memories_stand_lower_but_never_below_what_is_more_relevant() -> None:
    faded = Candidate("faded", sparse=9.0, retention=0.0)
    fresh = Candidate("fresh", sparse=9.0)
    other = Candidate("other", sparse=7.0)

    assert order([faded, fresh, other], LEXICAL) == ["fresh", "faded", "other"]


@given(candidates(), weights, st.integers(1, 12))
def test_the_field_stands_in_for_those_that_are_not_ranked(
    found: list[Candidate], by: Weights, limit: int
) -> None:
    plain = [Candidate(each.id, each.dense, each.sparse, groups=each.groups) for each in found]
    best, field = shortlist(plain, by, limit=limit)
    scores = {each.id: each.score for each in rank(plain, by)}

    assert {each.id: each.score for each in rank(best, by, pool=field)} == pytest.approx(
        {each.id: scores[each.id] for each in best}
    )


KNOWN = {"ann": ("ann",), "ann lee": ("ann", "lee"), "bo cho": ("bo", "cho"), "i": ()}


@pytest.mark.parametrize(
    ("query", "named"),
    [
        (["bo", "like"], "bo cho"),
        (["bo", "cho"], "bo cho"),
        (["ann", "bo"], None),  # two are named
        (["ann", "like"], "ann"),
        (["lee"], None),  # the last word alone names nobody
        (["weather"], None),
        ([], None),
    ],
)
def test_the_one_actor_that_a_query_names(query: list[str], named: str | None) -> None:
    assert named_actor(query, KNOWN) == named


def test_a_memory_in_another_language_is_found_by_its_meaning_alone() -> None:
    weights = Weights(dense=0.6, sparse=1.0, tokens=0.9, foreign=2.0)
    found_by_words = Candidate("a", dense=0.3, tokens=0.8)
    foreign = Candidate("b", dense=0.6, tokens=None)
    others = [Candidate(f"c{number}", dense=0.1, tokens=0.2) for number in range(5)]

    hits = rank([found_by_words, foreign, *others], weights)
    plain = rank([found_by_words, foreign._replace(tokens=0.0), *others], weights)

    assert (hits[0].id, plain[0].id) == ("b", "a")
    [doubled], [single] = ([h.parts["dense"] for h in r if h.id == "b"] for r in (hits, plain))
    assert doubled == pytest.approx(2 * single)

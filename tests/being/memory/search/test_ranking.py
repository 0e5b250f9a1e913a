from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.being.memory.search.ranking import (
    ACTOR_BOOST,
    LEXICAL,
    RETENTION_SHARE,
    Candidate,
    is_relevant,
    named_actor,
    rank,
    shortlist,
)
from nacre.ports.embedder import Weights

HYBRID = Weights(dense=0.5, sparse=0.4, tokens=0.4)

share = st.floats(0, 1, allow_nan=False)
cosine = st.none() | st.floats(-1, 1, allow_nan=False)
words = st.none() | st.floats(0, 40, allow_nan=False)
groups = st.lists(st.sampled_from(["1", "2", "a"]), unique=True).map(tuple)
weights = st.builds(Weights, dense=share, sparse=share, tokens=share)


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
                tokens=cosine,
                groups=groups,
                actors=st.frozensets(st.sampled_from(["ann", "bo"])),
                length=st.integers(0, 40),
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
    assert all(each.parts["retention"] <= RETENTION_SHARE for each in ranked)
    assert [each.score for each in ranked] == sorted((e.score for e in ranked), reverse=True)


@given(candidates(), weights)
def test_the_parts_of_a_score_add_up_to_it(found: list[Candidate], by: Weights) -> None:
    for each in rank(found, by):
        assert each.score == pytest.approx(sum(each.parts.values()))
        assert min(each.parts.values()) >= 0


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
    assert rank(found, LEXICAL, named="ann")[0].parts["actor"] > ACTOR_BOOST / 2


def test_long_unused_memories_stand_lower_but_never_below_what_is_more_relevant() -> None:
    faded = Candidate("faded", sparse=9.0, retention=0.0)
    fresh = Candidate("fresh", sparse=9.0)
    other = Candidate("other", sparse=4.0)

    assert order([faded, fresh, other], LEXICAL) == ["fresh", "faded", "other"]


def test_a_candidate_counts_by_a_word_or_by_a_cosine_from_the_floor() -> None:
    assert is_relevant(-0.2, 0.1, floor=0.3)
    assert is_relevant(0.3, None, floor=0.3)
    assert not is_relevant(0.29, None, floor=0.3)
    assert not is_relevant(None, 0.0, floor=0.3)


@given(candidates(), weights, st.integers(0, 12))
def test_the_promising_are_those_that_a_ranking_puts_first(
    found: list[Candidate], by: Weights, limit: int
) -> None:
    plain = [Candidate(each.id, each.dense, each.sparse, None, each.groups) for each in found]
    best = {each.id for each in shortlist(plain, by, limit=limit)[0]}
    scores = {each.id: each.score for each in rank(plain, by)}

    assert len(best) == min(limit, len(found))
    others = [score for name, score in scores.items() if name not in best]
    assert all(scores[name] >= max(others, default=0) - 1e-9 for name in best)


@given(candidates(), weights, st.integers(1, 12))
def test_the_field_stands_in_for_those_that_are_not_ranked(
    found: list[Candidate], by: Weights, limit: int
) -> None:
    plain = [Candidate(each.id, each.dense, each.sparse, None, each.groups) for each in found]
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

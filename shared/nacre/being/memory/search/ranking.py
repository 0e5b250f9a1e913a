"""Ranking of search hits by one score, whose parts are kept.

Each channel is scaled to 0..1 over the candidates and weighted. Candidates of one group lift
each other, and the one person that a query names lifts a candidate. Memories that were not
recalled for a long time score up to a tenth lower.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.embedder import Weights

# Words alone are less reliable, so the boosts count for more next to them.
LEXICAL = Weights(dense=0.0, sparse=0.6, tokens=0.0)
"""The weights of a search without vectors."""

_id = attrgetter("id")

SESSION_BOOST = 0.5  # several matches on one day are rarely an accident
SESSION_BEST = 2  # best of a group that count; with three, recall is .785 instead of .793
ACTOR_BOOST = 0.2
LENGTH_BOOST = 0.05  # "Thanks!" matches a lot and says little
FULL_LENGTH = 12  # terms from which a memory is long enough
RETENTION_SHARE = 0.1  # relevance first

PARTS = ("dense", "sparse", "tokens", "session", "actor", "length", "retention")
"""The parts of a score."""


class Candidate(NamedTuple):
    """A memory in a search: its raw channel scores, and what its boosts depend on.

    A channel that did not find it is None. `groups` are its days and its cluster, `actors`
    have the form that `named_actor` returns.
    """

    id: str
    dense: float | None = None
    sparse: float | None = None
    tokens: float | None = None
    groups: tuple[str, ...] = ()
    actors: frozenset[str] = frozenset()
    length: int = FULL_LENGTH
    retention: float = 1.0


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranked candidate: its score from 0 to 1, and what each part adds to it."""

    id: str
    score: float
    parts: Mapping[str, float]


def is_relevant(dense: float | None, sparse: float | None, floor: float) -> bool:
    """Return whether a candidate shares a word with the query, or its cosine reaches the floor."""
    return (sparse is not None and sparse > 0) or (dense is not None and dense >= floor)


class PoolStatistics(NamedTuple):
    """Statistics of all candidates: the span of each channel, and the best scores of groups.

    `best` has the scores of candidates that are not on the shortlist.
    """

    dense: tuple[float, float]
    sparse: tuple[float, float]
    best: Mapping[str, Sequence[float]]


def shortlist(
    candidates: Iterable[Candidate], weights: Weights, *, limit: int
) -> tuple[list[Candidate], PoolStatistics]:
    """Return the best candidates by channels and groups alone, and statistics of all."""
    ordered = sorted(candidates, key=_id)
    dense = _span([candidate.dense for candidate in ordered])
    # No shared word is a score of zero, whatever the lowest candidate has.
    sparse = (0.0, _span([candidate.sparse for candidate in ordered])[1])
    scores = _fused(ordered, weights, dense, sparse)
    boosts = _group_boosts(ordered, scores, {})
    order = sorted(
        range(len(ordered)), key=lambda place: -scores[place] - SESSION_BOOST * boosts[place]
    )
    unlisted = order[limit:]
    best = _best_of(
        [ordered[place] for place in unlisted], [scores[place] for place in unlisted], {}
    )
    return [ordered[place] for place in order[:limit]], PoolStatistics(dense, sparse, best)


def rank(
    candidates: Iterable[Candidate],
    weights: Weights,
    *,
    named: str | None = None,
    limit: int | None = None,
    pool: PoolStatistics | None = None,
) -> list[Ranked]:
    """Return the best candidates, best first; equal scores are in the order of their ids.

    With `pool`, scores are scaled and grouped over all candidates, not only over these.
    """
    ordered = sorted(candidates, key=_id)
    if pool is None:
        _, pool = shortlist(ordered, weights, limit=len(ordered))
    dense = _scaled([candidate.dense for candidate in ordered], weights.dense, pool.dense)
    sparse = _scaled([candidate.sparse for candidate in ordered], weights.sparse, pool.sparse)
    similarities = [candidate.tokens for candidate in ordered]
    tokens = _scaled(similarities, weights.tokens, _span(similarities))
    fused = [sum(scores) for scores in zip(dense, sparse, tokens, strict=True)]
    boosts = _group_boosts(ordered, fused, pool.best)
    share = (1 - RETENTION_SHARE) / _bound(weights)
    parts = [
        (
            share * dense[place],
            share * sparse[place],
            share * tokens[place],
            share * SESSION_BOOST * boosts[place],
            share * ACTOR_BOOST if named is not None and named in candidate.actors else 0.0,
            share * LENGTH_BOOST * min(candidate.length, FULL_LENGTH) / FULL_LENGTH,
            RETENTION_SHARE * candidate.retention,
        )
        for place, candidate in enumerate(ordered)
    ]
    scores = [sum(candidate_parts) for candidate_parts in parts]
    # Sorting is stable, so ids decide between equal scores.
    order = sorted(range(len(ordered)), key=lambda place: -scores[place])
    return [
        Ranked(ordered[place].id, scores[place], dict(zip(PARTS, parts[place], strict=True)))
        for place in order[:limit]
    ]


def named_actor(query: Collection[str], actors: Mapping[str, Sequence[str]]) -> str | None:
    """Return the actor that a query names, or None for none or several.

    `query` and the names are terms from the same analysis. An actor is named by all words, or
    by the first one if no other actor shares it.
    """
    words = set(query)
    first = Counter(name[0] for name in actors.values() if name)
    named = [
        actor
        for actor, name in actors.items()
        if name and (words.issuperset(name) or (name[0] in words and first[name[0]] == 1))
    ]
    return named[0] if len(named) == 1 else None


def _span(values: Iterable[float | None]) -> tuple[float, float]:
    scores = [value for value in values if value is not None]
    return (min(scores), max(scores)) if scores else (0.0, 0.0)


def _fused(
    candidates: Sequence[Candidate],
    weights: Weights,
    dense: tuple[float, float],
    sparse: tuple[float, float],
) -> list[float]:
    """Return the weighted sum of the vector and word channels for each candidate."""
    meaning = _scaled([candidate.dense for candidate in candidates], weights.dense, dense)
    words = _scaled([candidate.sparse for candidate in candidates], weights.sparse, sparse)
    return [sum(scores) for scores in zip(meaning, words, strict=True)]


def _scaled(
    values: Sequence[float | None], weight: float, span: tuple[float, float]
) -> list[float]:
    """Return the values scaled from 0 (bottom of the span, or None) to the weight (top)."""
    bottom, top = span
    if not weight:
        return [0.0] * len(values)
    if top <= bottom:
        return [0.0 if value is None or value < bottom else weight for value in values]
    factor = weight / (top - bottom)
    return [
        0.0 if value is None or value <= bottom else min(weight, (value - bottom) * factor)
        for value in values
    ]


def _best_of(
    candidates: Sequence[Candidate], scores: Sequence[float], before: Mapping[str, Sequence[float]]
) -> dict[str, list[float]]:
    """Return the best scores of each group, highest first, including those in `before`."""
    members = defaultdict(list, {group: list(best) for group, best in before.items()})
    for candidate, score in zip(candidates, scores, strict=True):
        for group in candidate.groups:
            members[group].append(score)
    return {  # most groups have one member
        group: sorted(group_scores, reverse=True)[:SESSION_BEST]
        if len(group_scores) > 1
        else group_scores
        for group, group_scores in members.items()
    }


def _group_boosts(
    candidates: Sequence[Candidate], scores: Sequence[float], others: Mapping[str, Sequence[float]]
) -> list[float]:
    """Return the mean of the best scores in the best group of each candidate.

    A group with fewer members is filled up with zeros, so a single member gets little.
    """
    strength = {
        group: sum(best) / SESSION_BEST
        for group, best in _best_of(candidates, scores, others).items()
    }
    return [
        max([strength[group] for group in candidate.groups], default=0.0)
        for candidate in candidates
    ]


def _bound(weights: Weights) -> float:
    """Return the highest possible score before scaling."""
    channels = weights.dense + weights.sparse + weights.tokens
    return channels * (1 + SESSION_BOOST) + ACTOR_BOOST + LENGTH_BOOST

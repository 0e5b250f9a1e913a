"""Ranking of search hits by one score, whose parts are kept.

The vector channel is scaled over the best cosines. The other channels keep their absolute scale,
so that an accidental word or piece of a word never gets full weight for being the best of
nothing. Candidates of one day or cluster lift each other, and the one person that a query names
lifts a candidate. Memories that were not recalled for a long time score up to a tenth lower.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import chain
from math import sqrt
from operator import add, itemgetter
from typing import NamedTuple

from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.vectors.embedder import Weights

LEXICAL = Weights(dense=0.0, sparse=1.0, tokens=0.0, lift=0.8)
"""The weights of a search without vectors."""

LOOKUP = Weights(dense=0.1, sparse=0.8, tokens=0.1, lift=0.8, coverage=1.0)
"""The weights for a word that is asked alone: memories that have it come first."""

_id = itemgetter(0)  # of a candidate; by its name it would take twice as long

# The exponents flatten weak hits of a channel, which are mostly accidents.
DENSE_POWER = 3.0
SPARSE_POWER = 1.5
TOKENS_FROM, TOKENS_SPAN = 0.3, 0.5  # similarities of .3 are usual between unrelated texts
ACTOR_BOOST = 0.7
LENGTH_BOOST = 0.05  # "Thanks!" matches a lot and says little
FULL_LENGTH = 12  # terms from which a memory is long enough
BUSY_GROUP = 30  # candidates of one group from which each of them is lifted less
RETENTION_SHARE = 0.1  # relevance first
ASKING_SHARE = 0.3  # of its score, that a memory loses that only asks something
# Of the query's words, by their rarity: a hit with less, and with a low cosine, is weak.
WEAK_COVERAGE = 0.5
SURE_OF_PLACE = 5  # best by meaning and by words that are always ranked in full

PARTS = (
    *("dense", "sparse", "coverage", "tokens", "session", "asking", "actor", "length"),
    "retention",
)
"""The parts of a score. Those of asking and retention are negative."""


class Candidate(NamedTuple):
    """A memory in a search: its raw channel scores, and what its boosts depend on.

    A channel that did not find it is None. `coverage` is the share of the query's words in it,
    by their rarity. `groups` are its days and its cluster, `actors` have the form that
    `named_actor` returns. `asking` is how much of it only asks, from 0 to 1.
    """

    id: str
    dense: float | None = None
    sparse: float | None = None
    coverage: float = 0.0
    tokens: float | None = None
    groups: tuple[str, ...] = ()
    actors: frozenset[str] = frozenset()
    length: int = FULL_LENGTH
    asking: float = 0.0
    retention: float = 1.0


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ranked candidate: its score from 0 to 1, and what each part adds to it."""

    id: str
    score: float
    parts: Mapping[str, float]


class PoolStatistics(NamedTuple):
    """Statistics of all candidates: the scales of the channels, and the groups.

    `sparse` is the score that a memory with every word of the query would have. `best` has the
    scores of candidates that are not on the shortlist, and `sizes` the sizes of all groups.
    """

    dense: tuple[float, float]
    sparse: float
    best: Mapping[str, Sequence[float]]
    sizes: Mapping[str, int]

    def word_share(self, sparse: float | None) -> float:
        """Return a score by words on a scale from 0 to 1."""
        return 0.0 if sparse is None or self.sparse <= 0 else min(1.0, sparse / self.sparse)


class Columns(NamedTuple):
    """Candidates whose texts are not known yet, as columns.

    A search has up to 600 candidates and ranks a tenth of them in full, so only those become a
    `Candidate`. `sparse` is 0 for a candidate that the words did not find.
    """

    ids: Sequence[str]
    dense: Sequence[float | None]
    sparse: Sequence[float]
    groups: Sequence[tuple[str, ...]]


def shortlist(
    candidates: Iterable[Candidate],
    weights: Weights,
    *,
    limit: int,
    rarity: float = 0.0,
    sure_words: int = SURE_OF_PLACE,
) -> tuple[list[Candidate], PoolStatistics]:
    """Return the best candidates by vector, words and groups alone, and statistics of all.

    See `shortlisted`.
    """
    ordered = sorted(candidates, key=_id)
    columns = Columns(
        [candidate.id for candidate in ordered],
        [candidate.dense for candidate in ordered],
        [candidate.sparse or 0.0 for candidate in ordered],
        [candidate.groups for candidate in ordered],
    )
    places, pool = shortlisted(columns, weights, limit=limit, rarity=rarity, sure_words=sure_words)
    return [ordered[place] for place in places], pool


def shortlisted(
    columns: Columns,
    weights: Weights,
    *,
    limit: int,
    rarity: float = 0.0,
    sure_words: int = SURE_OF_PLACE,
) -> tuple[list[int], PoolStatistics]:
    """Return the places of the best candidates by vector, words and groups alone, best first.

    `columns` are in the order of the ids, and the statistics are of all candidates. `rarity` is
    the sum of the rarities of the query's words. The best few by vector and the best `sure_words`
    by words are on the list in any case, as far as the limit allows.
    """
    _, dense, sparse, groups = columns
    sizes = Counter(chain.from_iterable(groups))
    pool = PoolStatistics(_span(dense), max([rarity, *sparse]), {}, sizes)
    scores = list(map(add, *_first_channels(dense, sparse, weights, pool)))
    lifts = _lifts(groups, scores, pool)
    lift = weights.lift
    totals = [score + lift * own for score, own in zip(scores, lifts, strict=True)]
    places = range(len(scores))
    cosines = [-2.0 if cosine is None else cosine for cosine in dense]
    sure = {
        *nlargest(SURE_OF_PLACE, places, key=cosines.__getitem__),
        *nlargest(sure_words, places, key=sparse.__getitem__),
    }
    best_first = sorted(places, key=totals.__getitem__, reverse=True)
    order = [place for place in best_first if place in sure]
    order += [place for place in best_first if place not in sure]
    unlisted = order[limit:]
    best = _best_of([groups[place] for place in unlisted], [scores[place] for place in unlisted])
    return order[:limit], pool._replace(best=best)


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
    first_channels = _first_channels(
        [candidate.dense for candidate in ordered],
        [candidate.sparse or 0.0 for candidate in ordered],
        weights,
        pool,
    )
    channels = [
        (
            dense if candidate.tokens is not None else weights.foreign * dense,
            sparse,
            weights.coverage * candidate.coverage**2,
            weights.tokens * _token_share(candidate.tokens),
        )
        for candidate, dense, sparse in zip(ordered, *first_channels, strict=True)
    ]
    groups = [candidate.groups for candidate in ordered]
    lifts = _lifts(groups, [sum(values) for values in channels], pool)
    share = 1 / _bound(weights)
    parts = []
    for candidate, values, lift in zip(ordered, channels, lifts, strict=True):
        lifted = weights.lift * lift
        boosts = (
            lifted,
            0.0 - ASKING_SHARE * candidate.asking * (sum(values) + lifted),
            ACTOR_BOOST if named is not None and named in candidate.actors else 0.0,
            LENGTH_BOOST * min(candidate.length, FULL_LENGTH) / FULL_LENGTH,
        )
        relevance = [share * part for part in (*values, *boosts)]
        faded = RETENTION_SHARE * (1 - candidate.retention) * sum(relevance)
        parts.append((*relevance, 0.0 - faded))
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


def _first_channels(
    dense: Sequence[float | None], sparse: Sequence[float], weights: Weights, pool: PoolStatistics
) -> tuple[list[float], list[float]]:
    """Return the weighted scores by vector and by words, which need no text."""
    bottom, top = pool.dense
    span, scale = top - bottom, max(pool.sparse, max(sparse, default=0.0)) or 1.0
    weight = weights.dense
    if span > 0:
        meaning = [
            0.0
            if cosine is None or cosine <= bottom
            else weight * ((cosine - bottom) / span) ** DENSE_POWER
            if cosine < top
            else weight
            for cosine in dense
        ]
    else:
        meaning = [0.0 if cosine is None else weight for cosine in dense]
    weight = weights.sparse
    words = [weight * (score / scale) ** SPARSE_POWER if score > 0 else 0.0 for score in sparse]
    return meaning, words


def _token_share(similarity: float | None) -> float:
    if similarity is None:
        return 0.0
    return min(1.0, max(0.0, (similarity - TOKENS_FROM) / TOKENS_SPAN))


def _span(values: Iterable[float | None]) -> tuple[float, float]:
    scores = [value for value in values if value is not None]
    return (min(scores), max(scores)) if scores else (0.0, 0.0)


def _best_of(
    groups: Sequence[tuple[str, ...]], scores: Sequence[float]
) -> dict[str, tuple[float, ...]]:
    """Return the two best scores of each group, or its only one, highest first.

    `groups` has those of each candidate.
    """
    best: dict[str, tuple[float, ...]] = {}
    for own, score in zip(groups, scores, strict=True):
        for group in own:
            before = best.get(group)
            if before is None:
                best[group] = (score,)
            elif score > before[0]:
                best[group] = (score, before[0])
            elif len(before) == 1 or score > before[1]:
                best[group] = (before[0], score)
    return best


def _lifts(
    groups: Sequence[tuple[str, ...]], scores: Sequence[float], pool: PoolStatistics
) -> list[float]:
    """Return for each candidate how much its best group lifts it.

    The mean of the two best scores of a group lifts its members, and the better ones lift
    themselves. Members of a busy group are lifted less, because more of them are there by
    accident.
    """
    lifts = {}
    for group, best in _best_of(groups, scores).items():
        if group in pool.best:
            best = tuple(sorted((*best, *pool.best[group]), reverse=True)[:2])
        crowd = pool.sizes.get(group, 1)
        share = sqrt(BUSY_GROUP / crowd) if crowd > BUSY_GROUP else 1.0
        lifts[group] = share * sum(best) / len(best)
    lifted = []
    for own, score in zip(groups, scores, strict=True):
        for group in own:
            lift = lifts[group]
            if (
                lift > score
            ):  # of 600 candidates and their groups: a call of max takes twice as long
                score = lift
        lifted.append(score)
    return lifted


def _bound(weights: Weights) -> float:
    """Return the highest possible score before scaling."""
    channels = weights.dense + weights.sparse + weights.tokens + weights.coverage
    return channels * (1 + weights.lift) + ACTOR_BOOST + LENGTH_BOOST


def is_weak(dense: float | None, coverage: float, floor: float) -> bool:
    """Return whether neither the cosine nor the words show that a hit relates to its query.

    `floor` is the cosine above which unrelated texts rarely are.
    """
    return (dense is None or dense < floor) and coverage < WEAK_COVERAGE

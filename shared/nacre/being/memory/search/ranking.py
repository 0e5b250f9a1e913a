"""How what a search found becomes one order, with every part of a score kept.

Each channel is scaled to 0..1 over the candidates and weighted; what belongs together lifts
each other, so does the one person a query names. What was long not thought of stands a little
lower: a tenth of the score at most.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from nacre.ports.embedder import Weights

# Words alone are less sure of themselves, so what lifts a memory counts for more beside them.
LEXICAL = Weights(dense=0.0, sparse=0.6, tokens=0.0)
"""The weights where there are no vectors."""

_id = attrgetter("id")

SESSION_BOOST = 0.5  # what several memories of one day agree on is rarely an accident
SESSION_BEST = 2  # three of a day are rarer, and find less: .785 instead of .793 with an encoder
ACTOR_BOOST = 0.2
LENGTH_BOOST = 0.05  # "Thanks!" matches a lot and says little
FULL_LENGTH = 12  # terms from which a memory is long enough
RETENTION_SHARE = 0.1  # relevance first

PARTS = ("dense", "sparse", "tokens", "session", "actor", "length", "retention")
"""What a score is the sum of."""


class Candidate(NamedTuple):
    """A memory that a search found: its raw channel scores and what lifts it.

    A channel that did not find it is None. `groups` are what it happened together with (its
    days, its cluster), `actors` who took part, in the form that `named_actor` returns.
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
    """A candidate's place: its score from 0 to 1, and what each part adds to it."""

    id: str
    score: float
    parts: Mapping[str, float]


def is_relevant(dense: float | None, sparse: float | None, floor: float) -> bool:
    """Whether something counts at all: by a word, or by a cosine that is no accident."""
    return (sparse is not None and sparse > 0) or (dense is not None and dense >= floor)


class Field(NamedTuple):
    """All that a search found: how far each channel reaches, and the best of each group.

    `best` holds the scores of those that are not ranked themselves.
    """

    dense: tuple[float, float]
    sparse: tuple[float, float]
    best: Mapping[str, Sequence[float]]


def promising(
    candidates: Iterable[Candidate], weights: Weights, *, limit: int
) -> tuple[list[Candidate], Field]:
    """Return the best candidates by channels and groups alone, and the field they come from."""
    found = sorted(candidates, key=_id)
    dense = _span([each.dense for each in found])
    # No shared word is a score of zero, so words have a zero of their own.
    sparse = (0.0, _span([each.sparse for each in found])[1])
    scores = _fused(found, weights, dense, sparse)
    lifts = _together(found, scores, {})
    order = sorted(
        range(len(found)), key=lambda place: -scores[place] - SESSION_BOOST * lifts[place]
    )
    others = order[limit:]
    best = _best_of([found[place] for place in others], [scores[place] for place in others], {})
    return [found[place] for place in order[:limit]], Field(dense, sparse, best)


def rank(
    candidates: Iterable[Candidate],
    weights: Weights,
    *,
    named: str | None = None,
    limit: int | None = None,
    field: Field | None = None,
) -> list[Ranked]:
    """Return the best candidates, best first; equal scores stand in the order of their ids.

    With the field they come from, others count for what is high and what goes together.
    """
    found = sorted(candidates, key=_id)
    if field is None:
        _, field = promising(found, weights, limit=len(found))
    dense = _scaled([each.dense for each in found], weights.dense, field.dense)
    sparse = _scaled([each.sparse for each in found], weights.sparse, field.sparse)
    alike = [each.tokens for each in found]
    tokens = _scaled(alike, weights.tokens, _span(alike))
    fused = [sum(each) for each in zip(dense, sparse, tokens, strict=True)]
    together = _together(found, fused, field.best)
    share = (1 - RETENTION_SHARE) / _bound(weights)
    parts = [
        (
            share * dense[place],
            share * sparse[place],
            share * tokens[place],
            share * SESSION_BOOST * together[place],
            share * ACTOR_BOOST if named is not None and named in candidate.actors else 0.0,
            share * LENGTH_BOOST * min(candidate.length, FULL_LENGTH) / FULL_LENGTH,
            RETENTION_SHARE * candidate.retention,
        )
        for place, candidate in enumerate(found)
    ]
    scores = [sum(each) for each in parts]
    # Sorting is stable, so the ids decide between equals.
    order = sorted(range(len(found)), key=lambda place: -scores[place])
    return [
        Ranked(found[place].id, scores[place], dict(zip(PARTS, parts[place], strict=True)))
        for place in order[:limit]
    ]


def named_actor(query: Collection[str], actors: Mapping[str, Sequence[str]]) -> str | None:
    """Return the one known actor that a query names, None for none or several.

    Both sides are terms of the same analyzer. An actor is named by the whole name, or by its
    first word where no other actor shares it.
    """
    words = set(query)
    first: dict[str, int] = {}
    for name in actors.values():
        for word in name[:1]:
            first[word] = first.get(word, 0) + 1
    named = [
        actor
        for actor, name in actors.items()
        if name and (words.issuperset(name) or (name[0] in words and first[name[0]] == 1))
    ]
    return named[0] if len(named) == 1 else None


def _span(values: Iterable[float | None]) -> tuple[float, float]:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else (0.0, 0.0)


def _fused(
    found: Sequence[Candidate],
    weights: Weights,
    dense: tuple[float, float],
    sparse: tuple[float, float],
) -> list[float]:
    """Return what the stored channels say of each candidate."""
    meaning = _scaled([each.dense for each in found], weights.dense, dense)
    words = _scaled([each.sparse for each in found], weights.sparse, sparse)
    return [one + other for one, other in zip(meaning, words, strict=True)]


def _scaled(
    values: Sequence[float | None], weight: float, span: tuple[float, float]
) -> list[float]:
    """Return the values from 0 (the lowest of the span, or none) to the weight (the highest)."""
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
    found: Sequence[Candidate], scores: Sequence[float], before: Mapping[str, Sequence[float]]
) -> dict[str, list[float]]:
    """Return the best scores of each group, the highest first; `before` are there already."""
    members = defaultdict(list, {group: list(best) for group, best in before.items()})
    for candidate, score in zip(found, scores, strict=True):
        for group in candidate.groups:
            members[group].append(score)
    return {  # most groups have one member
        group: sorted(all_of, reverse=True)[:SESSION_BEST] if len(all_of) > 1 else all_of
        for group, all_of in members.items()
    }


def _together(
    found: Sequence[Candidate], scores: Sequence[float], beside: Mapping[str, Sequence[float]]
) -> list[float]:
    """Return for each candidate the mean of the best of its best group.

    Places that a small group leaves empty count as nothing: alone there is no together.
    """
    strength = {
        group: sum(best) / SESSION_BEST for group, best in _best_of(found, scores, beside).items()
    }
    return [
        max([strength[group] for group in candidate.groups], default=0.0) for candidate in found
    ]


def _bound(weights: Weights) -> float:
    """Return what the best possible candidate has before it is scaled."""
    channels = weights.dense + weights.sparse + weights.tokens
    return channels * (1 + SESSION_BOOST) + ACTOR_BOOST + LENGTH_BOOST

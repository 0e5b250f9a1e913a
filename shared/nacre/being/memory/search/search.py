"""Finding memories: what the index proposes, read back from the items and ranked.

The items are the truth. What the index still holds but the items no longer do, or what is in
another state there, is dropped here; nothing else has to be in step.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log
from typing import Literal

from nacre.being.memory.index.sync import Reading
from nacre.being.memory.search.candidates import Remembered, Shelf, groups_of
from nacre.being.memory.search.embedding_cards import card_of
from nacre.being.memory.search.ranking import (
    LEXICAL,
    Candidate,
    Field,
    is_relevant,
    named_actor,
    promising,
    rank,
)
from nacre.core.errors import UnavailableError
from nacre.core.limits import MAX_QUERY, SEARCH_CANDIDATES
from nacre.ports.embedder import Card, TokenSimilarity, Vector, Weights
from nacre.ports.vectors import Candidates, Filter, Kind
from nacre.text.analysis import mostly_cjk, terms

SearchKind = Literal["vector", "words", "scan"]
Mode = Literal["or", "and"]

LIVING = Filter(states=frozenset({"active", "dying", "pending"}))
"""What a recall looks at: living nodes, and scenes that no patrol has taken yet."""

FINDABLE = Filter(states=frozenset({"active", "dying", "pending", "dead"}))
"""What a search looks at: a dead node that is asked for may come back."""

_POOL = 40  # of what both channels propose: what is read back and ranked in full
_EVERY_WORD_POOL = SEARCH_CANDIDATES  # only the items tell which have every word of a query


@dataclass(frozen=True, slots=True)
class Found:
    """A hit: the memory, its score, what each part adds to it, and the raw channel scores."""

    memory: Remembered
    score: float
    parts: Mapping[str, float]
    channels: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits, best first; how they were found, and what a reader must know about that."""

    hits: tuple[Found, ...]
    kind: SearchKind
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Proposals:
    """What the channels found: what of it is worth reading, by id, and all of it as a field."""

    kinds: Mapping[str, Kind]
    worth: Mapping[str, Candidate]
    field: Field | None = None


class Search:
    """Finds a Being's memories by meaning and by words, or by whichever can answer.

    `reading` names what answers a Being's searches now, `card` what is known about a model.
    """

    def __init__(
        self,
        shelf: Shelf,
        reading: Callable[[str], Reading],
        *,
        tokens: TokenSimilarity | None = None,
        card: Callable[[str], Card] = card_of,
    ) -> None:
        self._shelf = shelf
        self._reading = reading
        self._tokens = tokens
        self._card = card

    def find(
        self,
        being_id: str,
        query: str,
        *,
        limit: int,
        where: Filter = LIVING,
        mode: Mode = "or",
        superseded: bool = False,
    ) -> Answer:
        """Return the best memories for a query, at most `limit`.

        `mode` counts where there are no vectors: "and" wants every word of the query. What a
        newer memory has superseded stays out unless asked for. Whatever cannot answer does
        not stop the search; the remarks name it. Of a very long query the beginning counts.
        """
        query = query[:MAX_QUERY]
        words = tuple(dict.fromkeys(terms(query)))
        reading = self._reading(being_id)
        vector, remarks = _embedded(reading, query)
        scale = _Scale.of(None if vector is None else self._card(reading.index.emb_id), query)
        try:
            candidates = reading.index.search(
                being_id, dense=vector, sparse=words, where=where, limit=SEARCH_CANDIDATES
            )
        except UnavailableError:
            kind: SearchKind = "scan"
            scale = _Scale.of(None, query)
            memories, proposals, more = self._scanned(being_id, words, where)
            remarks += more
        else:
            kind = "words" if vector is None else "vector"
            remarks += ["only the newest memories were looked at"] * candidates.truncated
            pool = _EVERY_WORD_POOL if mode == "and" and kind == "words" else _POOL
            proposals = _proposals(candidates, scale, pool)
            memories, proposals = self._read(being_id, proposals)
        memories = [
            memory
            for memory in memories
            if memory.fits(where) and (superseded or memory.is_current)
        ]
        if kind != "vector" and mode == "and":
            memories = [each for each in memories if set(words).issubset(terms(each.text))]
        hits = self._ranked(query, words, memories, proposals, scale.weights, limit)
        return Answer(tuple(hits), kind, tuple(remarks))

    def _read(self, being_id: str, proposals: _Proposals) -> tuple[list[Remembered], _Proposals]:
        """Read what is worth it, and in its place what has just been made of it.

        While a patrol runs, the index may still hold a scene or a source of a merge whose node
        it does not know yet.
        """
        memories = self._shelf.read(
            being_id, {each: proposals.kinds[each] for each in proposals.worth}
        )
        worth = dict(proposals.worth)
        last = memories
        while successors := _successors(last, worth):
            last = self._shelf.read(being_id, dict.fromkeys(successors, "node"))
            memories += last
            worth |= successors
        return memories, replace(proposals, worth=worth)

    def _scanned(
        self, being_id: str, words: Sequence[str], where: Filter
    ) -> tuple[list[Remembered], _Proposals, list[str]]:
        memories, truncated = self._shelf.newest(being_id, where)
        remarks = ["the search index cannot be reached"]
        remarks += ["truncated: only the newest memories were looked at"] * truncated
        scores = _word_scores(words, [memory.text for memory in memories])
        worth = {
            memory.id: Candidate(memory.id, sparse=score)
            for memory, score in zip(memories, scores, strict=True)
            if score > 0
        }
        return [memory for memory in memories if memory.id in worth], _Proposals({}, worth), remarks

    def _ranked(
        self,
        query: str,
        words: Sequence[str],
        memories: Sequence[Remembered],
        proposals: _Proposals,
        weights: Weights,
        limit: int,
    ) -> list[Found]:
        tokens: Sequence[float | None] = [None] * len(memories)
        if self._tokens is not None and weights.tokens > 0:
            tokens = self._tokens.score(query, [memory.text for memory in memories])
        candidates = {
            memory.id: proposals.worth[memory.id]._replace(
                tokens=alike,
                groups=memory.groups,
                actors=frozenset(map(str.casefold, memory.told.actors)),
                length=_length(memory.told.action),
                retention=memory.retention,
            )
            for memory, alike in zip(memories, tokens, strict=True)
        }
        known = {actor for candidate in candidates.values() for actor in candidate.actors}
        named = named_actor(words, {actor: _terms_of(actor) for actor in known})
        by_id = {memory.id: memory for memory in memories}
        ranked = rank(candidates.values(), weights, named=named, limit=limit, field=proposals.field)
        return [
            Found(by_id[each.id], each.score, each.parts, _channels(candidates[each.id]))
            for each in ranked
        ]


@dataclass(frozen=True, slots=True)
class _Scale:
    """What scores are worth for a query: the channels' weights, and the least cosine."""

    weights: Weights
    floor: float

    @classmethod
    def of(cls, card: Card | None, query: str) -> "_Scale":
        if card is None:
            return cls(LEXICAL, 1.0)
        cjk = mostly_cjk(query)
        return cls(card.weights_for(mostly_cjk=cjk), card.cosines_for(mostly_cjk=cjk).floor)


def _embedded(reading: Reading, query: str) -> tuple[Vector | None, list[str]]:
    remarks = [] if reading.remark is None else [reading.remark]
    if reading.embedder is None:
        return None, remarks
    try:
        vector = reading.embedder.query(query)
    except UnavailableError:
        return None, [*remarks, "the embedder cannot answer"]
    # A text without anything to embed has no direction.
    return (vector if any(vector) else None), remarks


def _proposals(candidates: Candidates, scale: _Scale, pool: int) -> _Proposals:
    """Return the most promising of what may count at all, so that few items are read."""
    hits = {hit.id: hit for hit in (*candidates.dense, *candidates.sparse)}
    dense = {hit.id: hit.score for hit in candidates.dense}
    sparse = {hit.id: hit.score for hit in candidates.sparse}
    relevant = [
        Candidate(id_, dense.get(id_), sparse.get(id_), None, groups_of(hit.days, hit.cluster_id))
        for id_, hit in hits.items()
        if is_relevant(dense.get(id_), sparse.get(id_), scale.floor)
    ]
    best, field = promising(relevant, scale.weights, limit=pool)
    return _Proposals(
        {each.id: hits[each.id].kind for each in best}, {each.id: each for each in best}, field
    )


def _successors(
    memories: Sequence[Remembered], worth: Mapping[str, Candidate]
) -> dict[str, Candidate]:
    """Return what became of memories and is not among the proposals, with their scores."""
    found: dict[str, Candidate] = {}
    for memory in memories:
        if memory.became is not None and memory.became not in worth:
            found.setdefault(memory.became, worth[memory.id]._replace(id=memory.became))
    return found


def _channels(candidate: Candidate) -> dict[str, float]:
    scores = {
        "vector": candidate.dense,
        "words": candidate.sparse,
        "tokens": candidate.tokens,
    }
    return {name: score for name, score in scores.items() if score is not None}


def _word_scores(words: Sequence[str], texts: Sequence[str]) -> list[float]:
    """Return for each text what the query's words in it are worth: rare ones are worth more."""
    wanted = set(words)
    shared = [wanted.intersection(terms(text)) for text in texts]
    in_texts = {word: sum(word in each for each in shared) for word in words}
    worth = {word: log(1 + len(texts) / count) for word, count in in_texts.items() if count}
    return [sum(worth[word] for word in sorted(each)) for each in shared]


def _length(action: str) -> int:
    # Scripts without spaces have words too; eight characters are more than most words have.
    return max(len(action.split()), len(action) // 8)


@lru_cache(4096)
def _terms_of(actor: str) -> tuple[str, ...]:
    return terms(actor)

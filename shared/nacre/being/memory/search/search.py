"""Search: candidates from the index, read from the items and ranked.

The items are the source of truth. Candidates that the items no longer have, or that have
another state there, are dropped here, so the index may lag behind.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import Literal

from nacre.being.memory.index.sync import ActiveIndex
from nacre.being.memory.search.candidates import Memory, MemoryReader, groups_of
from nacre.being.memory.search.embedding_cards import card_of
from nacre.being.memory.search.ranking import (
    LEXICAL,
    Candidate,
    PoolStatistics,
    is_relevant,
    named_actor,
    rank,
    shortlist,
)
from nacre.core.errors import UnavailableError
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import MAX_QUERY, SEARCH_CANDIDATES
from nacre.ports.embedder import Card, TokenSimilarity, Vector, Weights
from nacre.ports.vectors import Candidates, Filter, Kind, Question
from nacre.text.analysis import mostly_cjk, terms

SearchKind = Literal["vector", "words", "scan"]
Mode = Literal["or", "and"]

LIVING = Filter(states=frozenset({"active", "dying", "pending"}))
"""The filter of a recall: living nodes, and scenes that no patrol has taken yet."""

FINDABLE = Filter(states=frozenset({"active", "dying", "pending", "dead"}))
"""The filter of a search: dead nodes too, because a search may bring them back."""

_POOL = 40  # candidates that are read from the items and ranked in full
_EVERY_WORD_POOL = SEARCH_CANDIDATES  # only the items show which have every word of a query


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A memory with its score, the parts of the score, and the raw channel scores."""

    memory: Memory
    score: float
    parts: Mapping[str, float]
    channels: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits, best first, how they were found, and remarks on the search."""

    hits: tuple[SearchHit, ...]
    kind: SearchKind
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Shortlist:
    """The candidates to load from the store, by id, and statistics of all candidates."""

    kinds: Mapping[str, Kind]
    candidates: Mapping[str, Candidate]
    pool: PoolStatistics | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """Finds memories by meaning and by words, or by whichever is available.

    `active_index` returns the index of a Being, `card` the card of an embedding model.
    """

    reader: MemoryReader
    active_index: Callable[[str], ActiveIndex]
    tokens: TokenSimilarity | None = None
    card: Callable[[str], Card] = card_of

    def find(
        self,
        being_id: str,
        query: str,
        *,
        limit: int,
        where: Filter = LIVING,
        mode: Mode = "or",
        superseded: bool = False,
    ) -> SearchResult:
        """Return the best memories for a query, at most `limit`.

        Without vectors, the mode "and" requires every word of the query. Superseded memories
        are left out unless `superseded` is set. If the embedder or the index cannot answer,
        the search goes on without it, and a remark says so. A very long query is cut.
        """
        query = query[:MAX_QUERY]
        words = tuple(dict.fromkeys(terms(query)))
        active = self.active_index(being_id)
        vector, remarks = _embedded(active, query)
        scoring = _Scoring.of(None if vector is None else self.card(active.index.emb_id), query)
        try:
            candidates = active.index.search(
                being_id, Question(dense=vector, sparse=words, where=where, limit=SEARCH_CANDIDATES)
            )
        except UnavailableError:
            kind: SearchKind = "scan"
            scoring = _Scoring.of(None, query)
            memories, shortlisted, scan_remarks = self._scan(being_id, words, where)
            remarks += scan_remarks
        else:
            kind = "words" if vector is None else "vector"
            remarks += ["only the newest memories were looked at"] * candidates.truncated
            pool = _EVERY_WORD_POOL if mode == "and" and kind == "words" else _POOL
            shortlisted = _shortlisted(candidates, scoring, pool)
            memories, shortlisted = self._read(being_id, shortlisted)
        memories = [
            memory
            for memory in memories
            if memory.fits(where) and (superseded or memory.is_current)
        ]
        if kind != "vector" and mode == "and":
            memories = [memory for memory in memories if set(words).issubset(terms(memory.text))]
        hits = self._ranked(query, words, memories, shortlisted, scoring.weights, limit)
        return SearchResult(tuple(hits), kind, tuple(remarks))

    def _read(self, being_id: str, shortlisted: _Shortlist) -> tuple[list[Memory], _Shortlist]:
        """Load the shortlisted memories, and the nodes that some of them have just become.

        While a patrol runs, the index may still have a scene or a source of a merge, and not
        yet its node.
        """
        memories = self.reader.read(being_id, shortlisted.kinds)
        candidates = dict(shortlisted.candidates)
        newest = memories
        while successors := _successors(newest, candidates):
            newest = self.reader.read(being_id, dict.fromkeys(successors, "node"))
            memories += newest
            candidates |= successors
        return memories, replace(shortlisted, candidates=candidates)

    def _scan(
        self, being_id: str, words: Sequence[str], where: Filter
    ) -> tuple[list[Memory], _Shortlist, list[str]]:
        memories, truncated = self.reader.newest(being_id, where)
        remarks = ["the search index cannot be reached"]
        remarks += ["truncated: only the newest memories were looked at"] * truncated
        scores = _word_scores(words, [memory.text for memory in memories])
        candidates = {
            memory.id: Candidate(memory.id, sparse=score)
            for memory, score in zip(memories, scores, strict=True)
            if score > 0
        }
        matching = [memory for memory in memories if memory.id in candidates]
        return matching, _Shortlist({}, candidates), remarks

    def _ranked(
        self,
        query: str,
        words: Sequence[str],
        memories: Sequence[Memory],
        shortlisted: _Shortlist,
        weights: Weights,
        limit: int,
    ) -> list[SearchHit]:
        tokens: Sequence[float | None] = [None] * len(memories)
        if self.tokens is not None and weights.tokens > 0:
            tokens = self.tokens.score(query, [memory.text for memory in memories])
        candidates = {
            memory.id: shortlisted.candidates[memory.id]._replace(
                tokens=similarity,
                groups=memory.groups,
                actors=frozenset(map(str.casefold, memory.record.actors)),
                length=_length(memory.record.action),
                retention=memory.retention,
            )
            for memory, similarity in zip(memories, tokens, strict=True)
        }
        actors = {actor for candidate in candidates.values() for actor in candidate.actors}
        named = named_actor(words, {actor: _terms_of(actor) for actor in actors})
        by_id = {memory.id: memory for memory in memories}
        ranked = rank(candidates.values(), weights, named=named, limit=limit, pool=shortlisted.pool)
        return [
            SearchHit(by_id[hit.id], hit.score, hit.parts, _channels(candidates[hit.id]))
            for hit in ranked
        ]


@dataclass(frozen=True, slots=True)
class _Scoring:
    """The scoring of a query: the weights of the channels, and the least relevant cosine."""

    weights: Weights
    floor: float

    @classmethod
    def of(cls, card: Card | None, query: str) -> "_Scoring":
        if card is None:
            return cls(LEXICAL, 1.0)
        cjk = mostly_cjk(query)
        return cls(card.weights_for(mostly_cjk=cjk), card.cosines_for(mostly_cjk=cjk).floor)


def _embedded(active: ActiveIndex, query: str) -> tuple[Vector | None, list[str]]:
    remarks = [] if active.remark is None else [active.remark]
    if active.embedder is None:
        return None, remarks
    try:
        vector = active.embedder.query(query)
    except UnavailableError:
        return None, [*remarks, "the embedder cannot answer"]
    # The vector of a text with nothing to embed is zero.
    return (vector if any(vector) else None), remarks


def _shortlisted(candidates: Candidates, scoring: _Scoring, limit: int) -> _Shortlist:
    """Return the best of the relevant candidates, so that few items are read."""
    hits = {hit.id: hit for hit in (*candidates.dense, *candidates.sparse)}
    dense = {hit.id: hit.score for hit in candidates.dense}
    sparse = {hit.id: hit.score for hit in candidates.sparse}
    relevant = [
        Candidate(id_, dense.get(id_), sparse.get(id_), None, groups_of(hit.days, hit.cluster_id))
        for id_, hit in hits.items()
        if is_relevant(dense.get(id_), sparse.get(id_), scoring.floor)
    ]
    best, pool = shortlist(relevant, scoring.weights, limit=limit)
    return _Shortlist(
        {candidate.id: hits[candidate.id].kind for candidate in best},
        {candidate.id: candidate for candidate in best},
        pool,
    )


def _successors(
    memories: Sequence[Memory], candidates: Mapping[str, Candidate]
) -> dict[str, Candidate]:
    """Return candidates for the nodes that memories became, with the scores of these memories."""
    successors: dict[str, Candidate] = {}
    for memory in memories:
        successor = memory.successor
        if successor is not None and successor not in candidates:
            successors.setdefault(successor, candidates[memory.id]._replace(id=successor))
    return successors


def _channels(candidate: Candidate) -> dict[str, float]:
    scores = {
        "vector": candidate.dense,
        "words": candidate.sparse,
        "tokens": candidate.tokens,
    }
    return {name: score for name, score in scores.items() if score is not None}


def _word_scores(words: Sequence[str], texts: Sequence[str]) -> list[float]:
    """Return the score of each text by the words of the query in it; rare words count for more."""
    distinct = set(words)
    shared = [distinct.intersection(terms(text)) for text in texts]
    counts = Counter(term for shared_terms in shared for term in shared_terms)
    weights = {term: log(1 + len(texts) / count) for term, count in counts.items()}
    return [sum(weights[term] for term in sorted(shared_terms)) for shared_terms in shared]


def _length(action: str) -> int:
    # For scripts without spaces, eight characters count as a word, more than most words have.
    return max(len(action.split()), len(action) // 8)


@lru_cache(4096)
def _terms_of(actor: str) -> tuple[str, ...]:
    return terms(actor)

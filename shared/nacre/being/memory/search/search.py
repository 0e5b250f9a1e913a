"""Search: candidates from the index, read from the items and ranked.

The items are the source of truth. Candidates that the items no longer have, or that have
another state there, are dropped here, so the index may lag behind.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import repeat
from math import log
from typing import Literal, Protocol, TypeVar

from nacre.being.memory.index.sync import ActiveIndex
from nacre.being.memory.search.candidates import (
    Memory,
    MemoryReader,
    groups_of,
    indexed_memory,
)
from nacre.being.memory.search.embedding_cards import card_of
from nacre.being.memory.search.questions import asking_share, without_question
from nacre.being.memory.search.ranking import (
    LEXICAL,
    LOOKUP,
    SURE_OF_PLACE,
    Candidate,
    Columns,
    PoolStatistics,
    is_weak,
    named_actor,
    rank,
    shortlist,
    shortlisted,
)
from nacre.core.errors import UnavailableError
from nacre.core.lazy_dataclasses import dataclass, field, replace
from nacre.core.limits import MAX_QUERY, SEARCH_CANDIDATES
from nacre.ports.vectors.embedder import Card, Cosines, TokenSimilarity, Vector, Weights
from nacre.ports.vectors.vector_index import Candidates, Filter, Hit, Kind, Question
from nacre.text.analysis import distinct_terms, mostly_cjk, terms

SearchKind = Literal["vector", "words", "scan", "date"]
Mode = Literal["or", "and"]

LIVING = Filter(states=frozenset({"active", "dying", "pending"}))
"""The filter of a recall: living nodes, and scenes that no patrol has taken yet."""

FINDABLE = Filter(states=frozenset({"active", "dying", "pending", "dead"}))
"""The filter of a search: dead nodes too, because a search may bring them back."""

NO_EMBEDDER = "the embedder cannot answer"
"""The remark on a search that went on without vectors."""

_POOL = 60  # candidates that are read from the items and ranked in full
_STEM_ONLY = 0.5  # of the coverage, for a memory with another form of the one word
_WORD_TERMS = 3  # of one word, such as XY-17-b or four Japanese letters


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A memory with its score, the parts of the score, and the raw channel scores.

    The channels are the cosine (`vector`), BM25 (`words`) and its share of the best possible
    (`share`), the share of the query's words that it has (`coverage`), and the similarity word
    by word (`tokens`). A channel that did not find it is left out. `is_weak` says that neither
    its cosine nor its words show that it relates to the query.
    """

    memory: Memory
    score: float
    parts: Mapping[str, float]
    channels: Mapping[str, float]
    is_weak: bool = False
    newer: str | None = None  # the id of the memory that is true now instead of it


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition on the memories of a search, and the Being's clock at its time."""

    where: Filter
    superseded: bool = False  # whether superseded memories may be among them
    clock: int | None = None

    def holds_for(self, memory: Memory) -> bool:
        """Return whether a memory fulfils it."""
        return memory.fits(self.where) and (self.superseded or memory.is_current)


class Choice(Protocol):
    """Some hits of a result."""

    @property
    def hits(self) -> Sequence[SearchHit]:
        """Return the hits, which are to be as the store has them."""
        ...


C = TypeVar("C", bound=Choice)

ANY = Condition(Filter(), superseded=True)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits, best first, how they were found, and remarks on the search.

    `cosines` says what the cosines of a search by vectors mean, `vector` is that of the query, and
    `emb_id` its model. `condition` is what every hit must fulfil. `kept_with` is the embedding to
    keep the question with, or None if it is not kept: the owner does not want it, or the index or
    the embedder could not answer.
    """

    hits: tuple[SearchHit, ...]
    kind: SearchKind
    remarks: tuple[str, ...] = ()
    cosines: Cosines | None = None
    vector: Vector | None = field(default=None, compare=False)
    emb_id: str = field(default="none", compare=False)
    condition: "Condition" = field(default=ANY, compare=False)
    kept_with: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class _Shortlist:
    """The candidates to load from the store, by id, and statistics of all candidates."""

    kinds: Mapping[str, Kind]
    candidates: Mapping[str, Candidate]
    pool: PoolStatistics
    rarity: Mapping[str, float]  # of each word of the query
    has_all_words: bool = False  # all memories that share a word with the query were found by it


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
        """Return the best memories for a query as the store has them, at most `limit`.

        Without vectors, the mode "and" requires every word of the query. Superseded memories
        are left out unless `superseded` is set. If the embedder or the index cannot answer,
        the search goes on without it, and a remark says so. A very long query is cut.
        """
        ranked = self.rank(being_id, query, where=where, mode=mode, superseded=superseded)
        return self.stored(
            being_id, ranked, lambda result: replace(result, hits=result.hits[:limit])
        )

    def rank(
        self,
        being_id: str,
        query: str,
        *,
        limit: int | None = None,
        where: Filter = LIVING,
        mode: Mode = "or",
        superseded: bool = False,
    ) -> SearchResult:
        """Return the same hits as the index knows them, which reads few items or none.

        Pass those that are shown through `stored`.
        """
        query = query[:MAX_QUERY]
        words = tuple(dict.fromkeys(terms(query)))
        active = self.active_index(being_id)
        vector, remarks = _embedded(active, query)
        scoring = _Scoring.of(None if vector is None else self.card(active.index.emb_id), query)
        try:
            candidates = active.index.search(
                being_id,
                Question(
                    dense=vector and without_question(vector, active.index.emb_id),
                    sparse=words,
                    where=where,
                    limit=SEARCH_CANDIDATES,
                ),
            )
        except UnavailableError:
            kind: SearchKind = "scan"
            scoring = _Scoring.of(None, query)
            memories, shortlisted, scan_remarks = self._scan(being_id, words, where)
            remarks += scan_remarks
        else:
            kind = "words" if vector is None else "vector"
            remarks += ["only the newest memories were looked at"] * candidates.truncated
            all_words = (mode == "and" and kind == "words") or _is_one_word(query, words)
            shortlisted = _shortlisted(candidates, scoring.weights, all_words=all_words)
            memories, shortlisted = self._read(being_id, candidates, shortlisted, active.clock)
            if vector is None and active.embedder is not None and not memories and query.strip():
                memories, shortlisted = self._newest(being_id, where, limit or _POOL)
                remarks += ["nothing compares with this query, so these are the newest"] * bool(
                    memories
                )
        condition = Condition(where, superseded, active.clock)
        memories = [memory for memory in memories if condition.holds_for(memory)]
        if kind != "vector" and mode == "and":
            memories = [
                memory for memory in memories if distinct_terms(memory.text).issuperset(words)
            ]
        hits = self._ranked(query, memories, shortlisted, scoring, limit)
        is_kept = active.keeps_questions and kind != "scan" and NO_EMBEDDER not in remarks
        result = SearchResult(
            tuple(hits),
            kind,
            tuple(remarks),
            scoring.cosines,
            condition=condition,
            kept_with=active.index.emb_id if is_kept else None,
        )
        if kind != "vector":
            return result
        return replace(result, vector=vector, emb_id=active.index.emb_id)

    def stored(
        self,
        being_id: str,
        result: SearchResult,
        choose: Callable[[SearchResult], C],
    ) -> C:
        """Return the choice of `choose` with its hits as the store has them.

        A hit that does not fulfil the condition any more is left out, and one that has become
        another memory is that memory. Then it is chosen again.
        """
        while True:
            choice = choose(result)
            unread = {
                hit.memory.id: hit.memory.kind for hit in choice.hits if not hit.memory.is_stored
            }
            if not unread:
                return choice
            stored = self._latest(being_id, unread, result.condition.clock)
            hits: dict[str, SearchHit] = {}
            for hit in result.hits:
                memory = stored.get(hit.memory.id) if hit.memory.id in unread else hit.memory
                if memory is not None and result.condition.holds_for(memory):
                    hits.setdefault(memory.id, replace(hit, memory=memory))
            result = replace(result, hits=tuple(hits.values()))

    def _latest(
        self, being_id: str, kinds: Mapping[str, Kind], clock: int | None
    ) -> dict[str, Memory]:
        """Return the memories of these ids, or those that they have become, by the given ids."""
        latest = {memory.id: memory for memory in self.reader.read(being_id, kinds, clock=clock)}
        visited = set(latest)
        while successors := {
            successor: id_
            for id_, memory in latest.items()
            if (successor := memory.successor) is not None and successor not in visited
        }:
            visited |= successors.keys()
            nodes: dict[str, Kind] = dict.fromkeys(successors, "node")
            for memory in self.reader.read(being_id, nodes, clock=clock):
                latest[successors[memory.id]] = memory
        return latest

    def _read(
        self, being_id: str, candidates: Candidates, shortlisted: _Shortlist, clock: int
    ) -> tuple[list[Memory], _Shortlist]:
        """Load the shortlisted memories, and the nodes that some of them have just become.

        Those of which the index has a summary are not read. While a patrol runs, the index may
        still have a scene or a source of a merge, and not yet its node.
        """
        memories = _indexed(candidates, shortlisted.kinds, clock)
        indexed = {memory.id for memory in memories}
        unknown = {id_: kind for id_, kind in shortlisted.kinds.items() if id_ not in indexed}
        newest = self.reader.read(being_id, unknown, clock=clock) if unknown else []
        memories += newest
        with_successors = dict(shortlisted.candidates)
        while successors := _successors(newest, with_successors):
            newest = self.reader.read(being_id, dict.fromkeys(successors, "node"), clock=clock)
            memories += newest
            with_successors |= successors
        return memories, replace(shortlisted, candidates=with_successors)

    def _newest(self, being_id: str, where: Filter, limit: int) -> tuple[list[Memory], _Shortlist]:
        """Return the newest memories, for a query that has neither a vector nor known words."""
        memories, _ = self.reader.newest(being_id, where)
        newest = [memory for memory in memories if memory.is_current][:limit]
        best, pool = shortlist(
            [Candidate(memory.id) for memory in newest], LEXICAL, limit=len(newest)
        )
        return newest, _Shortlist({}, {candidate.id: candidate for candidate in best}, pool, {})

    def _scan(
        self, being_id: str, words: Sequence[str], where: Filter
    ) -> tuple[list[Memory], _Shortlist, list[str]]:
        memories, truncated = self.reader.newest(being_id, where)
        remarks = ["the search index cannot be reached"]
        remarks += ["truncated: only the newest memories were looked at"] * truncated
        scores, rarity = _word_scores(words, [memory.text for memory in memories])
        candidates = [
            Candidate(memory.id, sparse=score, groups=memory.groups)
            for memory, score in zip(memories, scores, strict=True)
            if score > 0
        ]
        best, pool = shortlist(
            candidates, LEXICAL, limit=len(candidates), rarity=sum(rarity.values())
        )
        by_id = {candidate.id: candidate for candidate in best}
        matching = [memory for memory in memories if memory.id in by_id]
        return matching, _Shortlist({}, by_id, pool, rarity), remarks

    def _ranked(
        self,
        query: str,
        memories: Sequence[Memory],
        shortlisted: _Shortlist,
        scoring: "_Scoring",
        limit: int | None,
    ) -> list[SearchHit]:
        tokens: Sequence[float | None] = [None] * len(memories)
        if self.tokens is not None and scoring.weights.tokens > 0:
            tokens = self.tokens.score(query, [memory.text for memory in memories])
        coverage = [
            0.0
            if shortlisted.has_all_words and shortlisted.candidates[memory.id].sparse is None
            else _coverage(shortlisted.rarity, memory.text)
            for memory in memories
        ]
        # A word that is asked alone is looked up: memories with exactly this word come first.
        is_lookup = _is_one_word(query, list(shortlisted.rarity)) and 1.0 in coverage
        if is_lookup:
            is_literal = _literal(query.strip())
            coverage = [
                share if is_literal(memory.text) else share * _STEM_ONLY
                for share, memory in zip(coverage, memories, strict=True)
            ]
        candidates = {
            memory.id: shortlisted.candidates[memory.id]._replace(
                coverage=share,
                tokens=similarity,
                groups=memory.groups,
                actors=frozenset(map(str.casefold, memory.record.actors)),
                length=_length(memory.record.action),
                asking=asking_share(memory.record.action),
                retention=memory.retention,
            )
            for memory, share, similarity in zip(memories, coverage, tokens, strict=True)
        }
        actors = {actor for candidate in candidates.values() for actor in candidate.actors}
        words = list(shortlisted.rarity)
        named = named_actor(words, {actor: _terms_of(actor) for actor in actors})
        by_id = {memory.id: memory for memory in memories}
        ranked = rank(
            candidates.values(),
            LOOKUP if is_lookup else scoring.weights,
            named=named,
            limit=limit,
            pool=shortlisted.pool,
        )
        return [
            SearchHit(
                by_id[hit.id],
                hit.score,
                hit.parts,
                _channels(candidates[hit.id], shortlisted.pool),
                is_weak(candidates[hit.id].dense, candidates[hit.id].coverage, scoring.floor),
            )
            for hit in ranked
        ]


@dataclass(frozen=True, slots=True)
class _Scoring:
    """The scoring of a query: the weights of the channels, and the meaning of cosines, if any."""

    weights: Weights
    cosines: Cosines | None = None

    @classmethod
    def of(cls, card: Card | None, query: str) -> "_Scoring":
        if card is None:
            return cls(LEXICAL)
        cjk = mostly_cjk(query)
        return cls(card.weights_for(mostly_cjk=cjk), card.cosines_for(mostly_cjk=cjk))

    @property
    def floor(self) -> float:
        return 1.0 if self.cosines is None else self.cosines.floor


def _embedded(active: ActiveIndex, query: str) -> tuple[Vector | None, list[str]]:
    remarks = [] if active.remark is None else [active.remark]
    if active.embedder is None:
        return None, remarks
    try:
        vector = active.embedder.query(query)
    except UnavailableError:
        return None, [*remarks, NO_EMBEDDER]
    # The vector of a text with nothing to embed is zero.
    return (vector if any(vector) else None), remarks


def _shortlisted(candidates: Candidates, weights: Weights, *, all_words: bool) -> _Shortlist:
    """Return the best of the candidates, so that few items are read.

    With `all_words`, all that share a word with the query are read: only the items show which
    have every word of it, or just this word.
    """
    dense, sparse = _scores_by_id(candidates.dense), _scores_by_id(candidates.sparse)
    hits = {hit.id: hit for hit in (*candidates.dense, *candidates.sparse)}
    columns = Columns(
        ids := sorted(hits),
        list(map(dense.get, ids)),
        list(map(sparse.get, ids, repeat(0.0))),
        [groups_of(hits[id_].days, hits[id_].cluster_id) for id_ in ids],
    )
    sure_words = len(sparse) if all_words else SURE_OF_PLACE
    places, pool = shortlisted(
        columns,
        weights,
        limit=max(_POOL, sure_words + SURE_OF_PLACE),
        rarity=sum(candidates.rarity.values()),
        sure_words=sure_words,
    )
    best = [
        Candidate(id_, dense.get(id_), sparse.get(id_), groups=columns.groups[place])
        for place in places
        for id_ in [ids[place]]
    ]
    return _Shortlist(
        {candidate.id: hits[candidate.id].kind for candidate in best},
        {candidate.id: candidate for candidate in best},
        pool,
        candidates.rarity,
        has_all_words=len(candidates.sparse) < SEARCH_CANDIDATES,
    )


def _indexed(candidates: Candidates, kinds: Mapping[str, Kind], clock: int) -> list[Memory]:
    """Return the memories of which the index has a summary."""
    memories = []
    with suppress(UnavailableError):  # the items are read instead
        for id_, text in candidates.summaries(list(kinds)).items():
            with suppress(ValueError):
                memories.append(indexed_memory(id_, text, clock))
    return memories


def _scores_by_id(hits: Sequence[Hit]) -> dict[str, float]:
    """Return the score of each hit."""
    ids, _, scores, *_ = zip(*hits, strict=True) if hits else ((), (), ())
    return dict(zip(ids, scores, strict=True))


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


def _channels(candidate: Candidate, pool: PoolStatistics) -> dict[str, float]:
    scores = {
        "vector": candidate.dense,
        "words": candidate.sparse,
        "share": None if candidate.sparse is None else pool.word_share(candidate.sparse),
        "coverage": candidate.coverage,
        "tokens": candidate.tokens,
    }
    return {name: score for name, score in scores.items() if score is not None}


def _word_scores(
    words: Sequence[str], texts: Sequence[str]
) -> tuple[list[float], dict[str, float]]:
    """Return the score of each text by the words of the query in it, and each word's rarity."""
    distinct = set(words)
    shared = [distinct & distinct_terms(text) for text in texts]
    counts = Counter(term for shared_terms in shared for term in shared_terms)
    rarity = {term: log(1 + len(texts) / (counts[term] or 0.5)) for term in words}
    scores = [sum(rarity[term] for term in sorted(shared_terms)) for shared_terms in shared]
    return scores, rarity


def _coverage(rarity: Mapping[str, float], text: str) -> float:
    """Return the share of the query's words that a text has, by their rarity."""
    if not rarity:
        return 0.0
    present = rarity.keys() & distinct_terms(text)
    if len(present) == len(rarity):
        return 1.0
    return sum(rarity[term] for term in sorted(present)) / sum(rarity.values())


def _is_one_word(query: str, words: Sequence[str]) -> bool:
    return len(query.split()) == 1 and len(words) <= _WORD_TERMS


def _literal(word: str) -> Callable[[str], bool]:
    """Return a check whether a text has this word as it is written, in either case."""
    edge = "" if mostly_cjk(word) else r"\b"
    pattern = f"{edge if word[:1].isalnum() else ''}{re.escape(word)}"
    pattern += edge if word[-1:].isalnum() else ""
    search = re.compile(pattern, re.IGNORECASE).search
    return lambda text: search(text) is not None


def _length(action: str) -> int:
    # For scripts without spaces, eight characters count as a word, more than most words have.
    return max(len(action.split()), len(action) // 8)


@lru_cache(4096)
def _terms_of(actor: str) -> tuple[str, ...]:
    return terms(actor)

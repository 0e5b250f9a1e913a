"""The search for tools: words, meaning, and what a request does to things.

Names, descriptions and schemas are searched by words with BM25, and names and descriptions by their
vectors, in the same index as memories. A request that names a server or says what it does to things
(create, read, change, remove) lifts the tools that fit.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import NacreError
from nacre.core.lazy_dataclasses import dataclass
from nacre.gateway.on_demand.actions import action_of
from nacre.gateway.on_demand.tool_texts import (
    meaning_of,
    name_terms,
    name_words,
    query_terms,
    weighted_terms,
)
from nacre.gateway.on_demand.tool_vectors import ToolVectors
from nacre.ports.vectors.embedder import Vector
from nacre.ports.vectors.vector_index import Candidates, Filter, Point, Question
from nacre.protocol.surface import Definitions

Searcher = Callable[[Question], Candidates]
BuildIndex = Callable[[Sequence[Point], int], Searcher]
"""From points and the dimension of their vectors to a search over them."""

_MEANING, _WORDS = 0.6, 0.5
_MEANING_POWER, _WORDS_POWER = 2.0, 1.5  # flatten weak hits, which are mostly accidents
_NAME = 0.1  # for the share of a tool's name that the request has
_SERVER = 0.15  # for a tool whose server the request names
_SAME_ACTION = 0.1  # for a tool that does what the request asks
_LIKELY_READ = 0.05  # for a tool that reads, where the request has no verb
_SIMILAR_ACTION = -0.1  # between creating and changing, which are often one thing
_OTHER_ACTION = -0.2
_SIMILAR = {"create", "change"}
_CACHED_LISTS = 8


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool as it is ranked."""

    definition: Mapping[str, Any]
    name: frozenset[str]
    server: frozenset[str]
    action: str | None


@dataclass(frozen=True, slots=True)
class _Index:
    """The tools of one list; `has_meaning` tells whether all have vectors."""

    definitions: Definitions
    tools: tuple[_Tool, ...]
    search: Searcher
    has_meaning: bool


class ToolSearch:
    """Finds tools in lists. Threads may share it.

    Without `vectors`, words alone decide. `seconds` is how long a search may wait for the vectors
    of tools that are new; `in_background` lets another thread compute them before that.
    """

    def __init__(
        self,
        build: BuildIndex,
        vectors: Callable[[], ToolVectors | None],
        *,
        seconds: float,
        in_background: bool,
    ) -> None:
        self._build = build
        self._vectors = vectors
        self._seconds = seconds
        self._in_background = in_background
        self._guard = threading.Lock()
        self._opened: ToolVectors | None = None
        self._prepared: Definitions | None = None
        self._indexes: BoundedCache[int, _Index] = BoundedCache(_CACHED_LISTS)

    def prepare(self, definitions: Definitions) -> None:
        """Begin to compute the vectors of a list's tools, if another thread may do that."""
        if not self._in_background or self._prepared is definitions:
            return
        self._prepared = definitions
        threading.Thread(target=self._fill, args=(definitions, inf), daemon=True).start()

    def find(self, definitions: Definitions, query: str) -> list[Mapping[str, Any]]:
        """Return the tools of a list that have to do with a request, best first."""
        index = self._complete_index(definitions)
        if index is None:
            index = self._index(definitions, self._fill(definitions, self._seconds))
        vector = _query_vector(self._opened, query) if index.has_meaning else None
        terms = query_terms(query)
        question = Question(vector, terms, Filter(), limit=len(index.tools))
        with self._guard:  # an index is searched by one thread at a time
            candidates = index.search(question)
        scores = _scores(index.tools, candidates, frozenset(terms), action_of(query.split()))
        order = sorted(scores, key=lambda place: (-scores[place], place))
        return [index.tools[place].definition for place in order]

    def close(self) -> None:
        """End the work in the background."""
        if self._opened is not None:
            self._opened.close()

    def _fill(self, definitions: Definitions, seconds: float) -> ToolVectors | None:
        with self._guard:
            vectors = self._opened = self._opened or self._vectors()
        if vectors is not None:
            texts = [meaning_of(definition) for definition in definitions]
            if vectors.of(texts) is None:
                vectors.fill(texts, seconds)
        return vectors

    def _index(self, definitions: Definitions, vectors: ToolVectors | None) -> _Index:
        meanings, dimension = None, 0
        if vectors is not None:
            meanings = vectors.of([meaning_of(definition) for definition in definitions])
            dimension = vectors.embedder.dimension
        with self._guard:
            index = self._indexes.get(id(definitions))
            if index is None or index.definitions is not definitions or meanings is not None:
                index = self._built(definitions, meanings, dimension)
                self._indexes[id(definitions)] = index
            return index

    def _complete_index(self, definitions: Definitions) -> _Index | None:
        """Return the index of a list if nothing is missing in it."""
        index = self._indexes.get(id(definitions))
        if index is None or index.definitions is not definitions or not index.has_meaning:
            return None
        return index

    def _built(
        self, definitions: Definitions, meanings: Sequence[Vector] | None, dimension: int
    ) -> _Index:
        points = [
            Point(
                id=f"{place:06d}",
                kind="node",
                state="",
                cluster_id=None,
                days=(),
                vector=None if meanings is None else meanings[place],
                terms=tuple(weighted_terms(definition)),
                text_sha="",
            )
            for place, definition in enumerate(definitions)
        ]
        search = self._build(points, 0 if meanings is None else dimension)
        tools = tuple(_ranked_tool(definition) for definition in definitions)
        return _Index(definitions, tools, search, meanings is not None)


def _ranked_tool(definition: Mapping[str, Any]) -> _Tool:
    name, server = name_terms(definition)
    return _Tool(definition, name, server, action_of(name_words(definition)))


def _query_vector(vectors: ToolVectors | None, query: str) -> Vector | None:
    if vectors is None:
        return None
    try:
        return vectors.embedder.query(query)
    except NacreError:  # words alone decide
        return None


def _scores(
    tools: Sequence[_Tool], candidates: Candidates, requested: frozenset[str], action: str | None
) -> dict[int, float]:
    """Return the score of each tool that has to do with a request, by its place."""
    cosines = [hit.score for hit in candidates.dense]
    top = cosines[0] if cosines else 0.0
    middle = cosines[len(cosines) // 2] if cosines else 0.0
    meaning = {
        int(hit.id): _MEANING * _share(hit.score - middle, top - middle) ** _MEANING_POWER
        for hit in candidates.dense
    }
    most = candidates.sparse[0].score if candidates.sparse else 0.0
    words = {
        int(hit.id): _WORDS * _share(hit.score, most) ** _WORDS_POWER for hit in candidates.sparse
    }
    scores = {}
    for place, tool in enumerate(tools):
        score = meaning.get(place, 0.0) + words.get(place, 0.0)
        if not score:
            continue
        score += _NAME * len(requested & tool.name) / (len(tool.name) or 1)
        if not requested.isdisjoint(tool.server):
            score += _SERVER
        scores[place] = score + _fit(action, tool.action)
    return scores


def _fit(requested: str | None, done: str | None) -> float:
    """Return how much the action of a tool counts for or against it."""
    if done is None:
        return 0.0
    if requested is None:
        return _LIKELY_READ if done == "read" else 0.0
    if requested == done:
        return _SAME_ACTION
    return _SIMILAR_ACTION if {requested, done} == _SIMILAR else _OTHER_ACTION


def _share(value: float, most: float) -> float:
    return min(1.0, max(0.0, value / most)) if most > 0 else 0.0

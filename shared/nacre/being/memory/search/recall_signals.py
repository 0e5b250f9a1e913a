"""Choose the hits of a search that a recall shows, by comparing the message with them."""

import re
from array import array
from collections.abc import Iterator, Mapping
from operator import mul
from typing import Any

from nacre.being.memory.search.recall_cards import WORDS_ALONE, RecallCard, recall_card_of
from nacre.being.memory.search.recall_gate import Match, Signals, Verdict, match, verdict
from nacre.being.memory.search.search import SearchHit, SearchResult
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_QUERY, RECALL_MEMORIES
from nacre.ports.vectors.embedder import Vector
from nacre.text.analysis import distinct_terms, mostly_cjk, terms

_WORD_OR_BREAK = re.compile(r"(?P<word>[^\W\d_][^\W_]*)|[.!?…:;\"“”«»„¿¡()\[\]\n\u2013\u2014-]")


@dataclass(frozen=True, slots=True)
class RecalledHits:
    """The hits worth showing, best first, how well each of them matches, and the verdict."""

    hits: tuple[SearchHit, ...]
    matches: Mapping[str, Match]
    verdict: Verdict

    @property
    def trace(self) -> dict[str, Any]:
        """Return the verdict for programs."""
        return {
            "open": self.verdict.is_open,
            "score": round(self.verdict.score, 4),
            "threshold": round(self.verdict.threshold, 4),
        }


def recalled_hits(message: str, result: SearchResult) -> RecalledHits:
    """Return the hits of a message that are worth showing; none if it needs no memory."""
    if result.kind == "date":  # the message names a time and nothing else
        matches: dict[str, Match] = {hit.memory.id: "close" for hit in result.hits}
        return RecalledHits(result.hits, matches, Verdict(is_open=True, score=1.0, threshold=0.0))
    message = message[:MAX_QUERY]
    words = distinct_terms(message)
    card = recall_card_of(result.emb_id) if result.kind == "vector" else WORDS_ALONE
    signals = _signals(message, words, result, card)
    decision = verdict(signals, card, mostly_cjk=mostly_cjk(message))
    if not decision.is_open:
        return RecalledHits((), {}, decision)
    matches = {
        hit.memory.id: quality
        for hit in result.hits
        if (quality := match(_cosine(hit), _coverage(words, hit), signals, card, decision))
    }
    hits = tuple(hit for hit in result.hits if hit.memory.id in matches)
    return RecalledHits(hits, matches, decision)


def _signals(
    message: str, words: frozenset[str], result: SearchResult, card: RecallCard
) -> Signals:
    """Return the signals of a message. Words and names count in the hits that would be shown."""
    names = names_in(message)
    top = result.hits[:RECALL_MEMORIES]
    cosines = [cosine for hit in result.hits if (cosine := _cosine(hit)) is not None]
    return Signals(
        words=len(words) if any(map(str.isalnum, message)) else 0,
        shared=max((len(words & distinct_terms(hit.memory.text)) for hit in top), default=0),
        coverage=max((_coverage(words, hit) for hit in top), default=0.0),
        has_name=any(_shares_name(words, names, hit) for hit in top),
        cosines=sorted(cosines, reverse=True),
        need=need_of_memory(result.vector, card),
    )


def need_of_memory(message: Vector | None, card: RecallCard) -> float:
    """Return how much the wording of a message asks for a memory, about -0.2 to 0.2."""
    if message is None or not card.direction:
        return 0.0
    need: float = sum(map(mul, array("f", message), card.direction))
    return need


def names_in(text: str) -> frozenset[str]:
    """Return the terms of the capitalised words that do not begin a sentence."""
    return frozenset(term for word in _capitalised(text) for term in terms(word))


def _capitalised(text: str) -> Iterator[str]:
    begins_sentence = True
    for part in _WORD_OR_BREAK.finditer(text):
        word = part["word"]
        if word and not begins_sentence and word[0].isupper() and not word.isupper():
            yield word
        begins_sentence = not word


def _shares_name(words: frozenset[str], names: frozenset[str], hit: SearchHit) -> bool:
    record = hit.memory.record
    people = names_in(record.action).union(*map(terms, record.actors))
    return not (words.isdisjoint(people) and names.isdisjoint(distinct_terms(hit.memory.text)))


def _cosine(hit: SearchHit) -> float | None:
    return hit.channels.get("vector")


def _coverage(words: frozenset[str], hit: SearchHit) -> float:
    if "coverage" in hit.channels:
        return hit.channels["coverage"]
    return len(words & distinct_terms(hit.memory.text)) / max(1, len(words))

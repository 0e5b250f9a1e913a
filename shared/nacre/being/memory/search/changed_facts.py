"""Facts that changed, among the hits of a search: the newest first, the earlier ones beside it.

Two memories tell of one fact that changed if they are about the same people and the same
attribute, and the later one says that something changed, or the attribute has one value at a
time, as an address has. Nothing is removed: only the order and the label change, so two cats or
two jobs stay two hits.

Memories that only resemble each other in their words get no label; the later one comes first if
both are among the first hits. A question about the past turns the order round.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from nacre.being.memory.model.lineage import standing_of
from nacre.being.memory.model.types import Node, Scene
from nacre.being.memory.search.attributes import NEW, findings
from nacre.core.lazy_dataclasses import dataclass
from nacre.text.analysis import distinct_terms

_SINGLE = frozenset({"home", "phone", "email", "password", "money", "body", "favourite"})
"""Attributes with one value at a time."""

_ENDED = 1 / 4  # of an older fact's words that a later one names as something that ended
_SHARED = 1 / 2  # of an older fact's words, that a later one about the same thing repeats
_LONGEST_TEXT = 160  # characters
_LONGEST = 8  # words with a meaning in a fact; messages and reports have more
_SENTENCES = re.compile(r"[?\uff1f]|[^\W\d_]{3}[.!…]+\s+\S|[。\uff01]\s*\S")
_EVENT = re.compile(  # asks what happened
    r"\bdid\b|\b(?:what|when|where|who|why|how(?: \w+)?|which \w+) (?:was|were)\b"
    r"|\b(?:has|have) \w+ (?:\w+ )?(?:\w+ed|been|read|seen|met|gone|made|bought|won|done|taken)\b",
    re.IGNORECASE,
)
_TOPIC = re.compile("[は는은]")  # follows what a sentence is about
_NEWS = re.compile("新しい|新的?|새 ")
_ENDING = re.compile("[\u3040-\u309f]")
_NAME = re.compile(r"(?<=\s)[A-ZÀ-ÖØ-Þ][^\W\d_]+")  # the first word of a text may have any case
_ALIKE = 0.5  # of the words, from which two facts have the same form


class Fact(NamedTuple):
    """A memory in a search: its text, its people, and the moment from which it holds."""

    id: str
    text: str
    people: frozenset[str]
    since: tuple[str, ...]
    is_reported: bool = False  # on the word of another server alone

    @classmethod
    def of(cls, memory: Node | Scene) -> "Fact":
        """Return the fact of a memory; of several on one day the last noted holds."""
        people = frozenset(map(str.casefold, memory.actors))
        since = (max(memory.when, default=""), memory.created_at)
        return cls(memory.id, memory.action, people, since, standing_of(memory) == "external")

    def may_replace(self, other: "Fact") -> bool:
        """Return whether the fact may replace another one that is no younger.

        What another server alone reports replaces only what such a server has reported.
        """
        return not self.is_reported or other.is_reported


@dataclass(frozen=True, slots=True)
class Placed:
    """A fact at its place among the hits; `newer` is the fact that is true now instead of it."""

    id: str
    newer: str | None = None


class _Parts(NamedTuple):
    """The parts of a fact that are compared."""

    words: frozenset[str]  # without names of its people
    attributes: frozenset[str]
    head: str  # the text before the first word that says something of an attribute
    changing: tuple[str, ...]  # the words of a change
    changes: bool
    ends: bool
    renewed: frozenset[str]  # the attributes of things that it calls new
    adds: bool
    is_fact: bool  # one short statement, no message of several


def arranged(question: str, facts: Sequence[Fact], *, visible: int) -> list[Placed]:
    """Return the facts, best first, each newer one before those that it has replaced.

    A newer fact moves up to the best of its predecessors, from whatever place. Of two that are
    only alike, the later moves up if both are among the first `visible`.
    """
    is_past = findings(question.lower()).asks_past
    if len(facts) < 2 or (_EVENT.search(question) and not is_past):
        return [Placed(fact.id) for fact in facts]
    people = frozenset().union(*(fact.people for fact in facts))
    query = _parts(question[:_LONGEST_TEXT].rstrip("?\uff1f "), people)
    parts = [_parts(fact.text, fact.people) for fact in facts]
    newer: dict[int, int] = {}
    alike: dict[int, int] = {}
    by_time = sorted(
        (place for place, part in enumerate(parts) if part.is_fact),
        key=lambda place: facts[place].since,
    )
    related = {place for place in by_time if _is_related(query, parts[place])}
    for number, old in enumerate(by_time):
        if old not in related and parts[old].attributes:
            continue
        for new in reversed(by_time[number + 1 :]):  # the newest first
            if new not in related and not parts[new].changes:
                continue
            if facts[old].since >= facts[new].since or facts[old].people.isdisjoint(
                facts[new].people
            ):
                continue
            if not facts[new].may_replace(facts[old]):
                continue
            if old in related and _is_changed(query, parts[old], parts[new]):
                newer[old] = new
                break
            if max(old, new) < visible and _is_alike(query, parts[old], parts[new]):
                alike.setdefault(new if is_past else old, old if is_past else new)
    return [
        Placed(facts[place].id, facts[newer[place]].id if place in newer else None)
        for place in _order(len(facts), newer, alike, is_past=is_past)
    ]


def tells_of_change(older: Fact, newer: Fact) -> bool:
    """Return whether a later memory may say that an older one no longer holds, whoever asks."""
    if older.since >= newer.since or older.people.isdisjoint(newer.people):
        return False
    if not newer.may_replace(older):
        return False
    old, new = _parts(older.text, older.people), _parts(newer.text, newer.people)
    return old.is_fact and new.is_fact and _is_changed(old, old, new)


def _order(count: int, newer: dict[int, int], alike: dict[int, int], *, is_past: bool) -> list[int]:
    groups: dict[int, list[int]] = {}
    for place in range(count):
        groups.setdefault(_last(place, newer), []).append(place)
    order: list[int] = []
    for place in range(count):
        if place in order:
            continue
        last = _last(place, newer)
        earlier = [member for member in groups[last] if member != last]
        group = [*earlier, last] if is_past else [last, *earlier]
        first = alike.get(place)
        if first is not None and first not in order and first not in group:
            order += [member for member in groups[_last(first, newer)] if member not in order]
        order += [member for member in group if member not in order]
    return order


def _last(place: int, newer: dict[int, int]) -> int:
    while place in newer:
        place = newer[place]
    return place


def _parts(text: str, people: frozenset[str]) -> _Parts:
    if len(text) > _LONGEST_TEXT or _SENTENCES.search(text) is not None:
        return _NO_FACT
    for person in sorted(people, key=len, reverse=True):
        text = re.sub(re.escape(person), " ", text, flags=re.IGNORECASE)
    lower = text.lower()
    signs = findings(lower)
    words = _meaningful(text)
    return _Parts(
        words=words,
        attributes=signs.attributes,
        head=_head(text, signs.start),
        changing=signs.changing,
        changes=signs.changes,
        ends=signs.ends,
        renewed=frozenset().union(
            *(findings(match[match.lastindex or 0]).attributes for match in NEW.finditer(lower))
        ),
        adds=signs.adds,
        is_fact=len(_without_numbers(words)) <= _LONGEST,
    )


_NO_FACT = _Parts(frozenset(), frozenset(), "", (), False, False, frozenset(), False, False)


def _without_numbers(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if word.isalpha())


def _topic(parts: _Parts) -> frozenset[str]:
    """Return the words of a fact's subject, without those of a change."""
    text = parts.head.lower()
    for word in parts.changing:
        text = text.replace(word, " ")
    return _meaningful(_NEWS.sub(" ", text))


def _meaningful(text: str) -> frozenset[str]:
    """Return the terms of a text, in Japanese only those without the letters of endings."""
    every = distinct_terms(text)
    if text.isascii():
        return every
    return frozenset(term for term in every if not _ENDING.search(term)) or every


def _head(text: str, start: int | None) -> str:
    """Return the part of a text before its predicate; "" if no known word shows where it begins."""
    topic = _TOPIC.search(text)
    if topic is not None:
        return text[: topic.start()]
    return "" if start is None else text[:start]


def _is_related(query: _Parts, fact: _Parts) -> bool:
    return bool(fact.attributes & query.attributes or fact.words & query.words)


def _is_changed(query: _Parts, old: _Parts, new: _Parts) -> bool:
    """Return whether a later fact says that an older one, about the question, no longer holds."""
    common = old.attributes & new.attributes & query.attributes
    if new.adds or not (common or new.changes) or old.words == new.words:
        return False
    if not _same_topic(old, new):
        return False
    if common and (new.changes or new.renewed & common):
        return True
    shared = _without_numbers(old.words & new.words)
    share = len(shared) / len(old.words) if old.words else 0.0
    if new.changes and not old.changes and share >= (_ENDED if new.ends else _SHARED):
        return True
    if not common & _SINGLE or new.changes or old.changes or _topic(old) != _topic(new):
        return False
    return "home" in common or _likeness(old, new) >= _ALIKE


def _is_alike(query: _Parts, old: _Parts, new: _Parts) -> bool:
    """Return whether two facts say the same of something else, and the question is about that."""
    is_near = bool(old.attributes & new.attributes & query.attributes) or (
        bool(old.words & new.words & query.words) and _likeness(old, new) >= _ALIKE
    )
    # "Ann is a baker" has no known word, and "Ann became a pilot" answers what her job is.
    is_near |= new.changes and not old.attributes and bool(new.attributes & query.attributes)
    return is_near and _same_topic(old, new)


def _same_topic(old: _Parts, new: _Parts) -> bool:
    first, second = set(_NAME.findall(old.head)), set(_NAME.findall(new.head))
    return first <= second or second <= first


def _likeness(old: _Parts, new: _Parts) -> float:
    """Return the share of words, without numbers, that the shorter of two facts has in common."""
    first, second = _without_numbers(old.words), _without_numbers(new.words)
    return len(first & second) / max(1, min(len(first), len(second)))

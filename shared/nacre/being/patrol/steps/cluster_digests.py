"""Themes, label and digest of a cluster by rules, without a model."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from nacre.being.memory.model.forgetting_curve import retention
from nacre.being.memory.model.types import Node
from nacre.being.memory.text.text_blocks import shortened
from nacre.being.patrol.planning.plans import Digest
from nacre.text.analysis import terms

_THEMES = 5
_LABEL = 3  # themes in a label
_ACTORS = 3
_ACTIONS = 3
_ACTION_BYTES = 200
_MIN_TERM = 2  # letters


class Background:
    """For each word, how many memories of a sample contain it."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        sample = list(nodes)
        self.count = len(sample)
        self._in = Counter(term for node in sample for term in set(terms(node.action)))
        self._people = Counter(term for node in sample for term in _people(node))

    def rarity(self, term: str) -> float:
        """Return the weight of a word: the fewer memories contain it, the higher."""
        return math.log((1 + self.count) / (1 + self._in[term])) + 1

    def frequency(self, term: str) -> int:
        """Return how many memories have a word, in their text or in a person's name."""
        return self._in[term] + self._people[term]


def _people(node: Node) -> set[str]:
    """Return the words of the names of people that the text does not have."""
    return {term for actor in node.actors for term in terms(actor)} - set(terms(node.action))


def themes_of(members: Sequence[Node], background: Background) -> tuple[str, ...]:
    """Return the themes of a cluster: those of its scenes first, then its distinctive words."""
    noted = Counter(theme.casefold() for node in members for theme in node.themes)
    common = [theme for theme, _ in _by_count(noted)]
    counts = Counter(term for node in members for term in set(terms(node.action)))
    forms = _forms(members)
    ranked = sorted(
        (-count * background.rarity(term), term)
        for term, count in counts.items()
        if len(term) >= _MIN_TERM and not term.isdecimal()
    )
    words = [forms.get(term, term) for _, term in ranked]
    return tuple(dict.fromkeys([*common, *words]))[:_THEMES]


def digest_of(members: Sequence[Node], themes: Sequence[str], clock: int) -> Digest:
    """Return a cluster's label and digest."""
    days = sorted(day for node in members for day in node.when)
    span = "" if not days else days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    actors = Counter(actor for node in members for actor in node.actors)
    people = [actor for actor, _ in _by_count(actors)]
    strongest = sorted(members, key=lambda node: _strength(node, clock))[:_ACTIONS]
    lines = [", ".join(part for part in (span, *people[:_ACTORS]) if part)]
    lines += [f"- {shortened(' '.join(node.action.split()), _ACTION_BYTES)}" for node in strongest]
    return Digest(", ".join(themes[:_LABEL]), "\n".join(line for line in lines if line))


def _by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))


def _strength(node: Node, clock: int) -> tuple[float, str]:
    strength = retention(clock - node.clock0, node.stability)
    return -round(strength * (1 + node.importance), 9), node.node_id


def _forms(members: Sequence[Node]) -> dict[str, str]:
    """Return the most frequent written form of each term."""
    forms: dict[str, Counter[str]] = {}
    for node in members:
        for word in node.action.split():
            plain = word.strip(".,;:!?\"'()[]").casefold()
            stems = terms(plain)
            if len(stems) == 1:
                forms.setdefault(stems[0], Counter())[plain] += 1
    return {
        term: min(words, key=lambda word: (-words[word], word)) for term, words in forms.items()
    }

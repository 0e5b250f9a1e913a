"""What a cluster is about, by rules: its words, its days, its people, its strongest memories."""

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
_LEAST_TERM = 2  # letters


class Background:
    """In how many of a Being's memories each word stands, as far as a fixed number tells."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        every = list(nodes)
        self._count = len(every)
        self._in = Counter(term for node in every for term in set(terms(node.action)))

    def rarity(self, term: str) -> float:
        """Return what a word says: the more, the fewer memories have it."""
        return math.log((1 + self._count) / (1 + self._in[term])) + 1


def themes_of(members: Sequence[Node], background: Background) -> tuple[str, ...]:
    """Return the themes of a cluster: those it was given, then the words that mark it out."""
    given = Counter(theme.casefold() for node in members for theme in node.themes)
    found = [theme for theme, _ in sorted(given.items(), key=lambda each: (-each[1], each[0]))]
    counts = Counter(term for node in members for term in set(terms(node.action)))
    forms = _forms(members)
    ranked = sorted(
        (-count * background.rarity(term), term)
        for term, count in counts.items()
        if len(term) >= _LEAST_TERM and not term.isdecimal()
    )
    words = [forms.get(term, term) for _, term in ranked]
    return tuple(dict.fromkeys([*found, *words]))[:_THEMES]


def digest_of(members: Sequence[Node], themes: Sequence[str], clock: int) -> Digest:
    """Return a cluster's label and digest."""
    days = sorted(day for node in members for day in node.when)
    span = "" if not days else days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    actors = Counter(actor for node in members for actor in node.actors)
    people = [actor for actor, _ in sorted(actors.items(), key=lambda each: (-each[1], each[0]))]
    strongest = sorted(members, key=lambda node: _strength(node, clock))[:_ACTIONS]
    lines = [", ".join(each for each in (span, *people[:_ACTORS]) if each)]
    lines += [f"- {shortened(' '.join(node.action.split()), _ACTION_BYTES)}" for node in strongest]
    return Digest(", ".join(themes[:_LABEL]), "\n".join(line for line in lines if line))


def _strength(node: Node, clock: int) -> tuple[float, str]:
    left = retention(clock - node.clock0, node.stability)
    return -round(left * (1 + node.importance), 9), node.node_id


def _forms(members: Sequence[Node]) -> dict[str, str]:
    """Return for each term the word that it stands for most often."""
    seen: dict[str, Counter[str]] = {}
    for node in members:
        for word in node.action.split():
            plain = word.strip(".,;:!?\"'()[]").casefold()
            found = terms(plain)
            if len(found) == 1:
                seen.setdefault(found[0], Counter())[plain] += 1
    return {term: min(words, key=lambda word: (-words[word], word)) for term, words in seen.items()}

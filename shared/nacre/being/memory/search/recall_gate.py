"""The gate of the automatic recall: decides whether a message needs the memories of its search.

A search finds something for every message, also for "thanks" or "set an alarm". The gate has two
tests, and a message must pass one. The test of meaning adds up the best cosine, its lead over the
next nine, the need of a memory that the wording shows, and a bonus for a name. The test of words
requires two words or a name in one memory, and a share of the message's rare words. One shared word
alone passes neither, and a message of one content word needs a close match.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from nacre.being.memory.search.recall_cards import RecallCard

RUNNERS_UP = 9  # whose mean the best cosine is compared with
NO_NEED = 3  # weight of a wording that needs no memory, as thanks and commands have
NAME_BONUS = 0.1  # models know few names, and a name is rarely shared by accident
CLOSE_MARGIN = 0.2  # above the threshold: half of these memories or more answer the message
LOOSE_MARGIN = 0.1  # below the threshold: of the memories below that, one in fifty does
CLOSE_COVERAGE = 0.5  # of the message's words, by their rarity, where no cosine decides

Match = Literal["close", "loose"]


class Signals(NamedTuple):
    """The features that a message shares with the hits of its search, in plain numbers.

    `words` counts the message's content words, `shared` the most of them in one hit. `coverage`
    is the share of the message's rarity that one hit has. `cosines` are those of the hits, highest
    first; there are none without an embedding model. `need` is that of the message's wording.
    """

    words: int
    shared: int
    coverage: float
    has_name: bool
    cosines: Sequence[float] = ()
    need: float = 0.0


class Verdict(NamedTuple):
    """The decision of the gate, with the score of the message and the score that opens it."""

    is_open: bool
    score: float
    threshold: float


def verdict(signals: Signals, card: RecallCard, *, mostly_cjk: bool) -> Verdict:
    """Return whether the hits of a search are worth showing."""
    has_words = signals.has_name or signals.shared > 1
    by_words = has_words and signals.coverage >= card.coverage
    if not signals.cosines:
        return Verdict(by_words, signals.coverage, card.coverage)
    threshold = card.threshold_for(mostly_cjk=mostly_cjk)
    score = _score(signals.cosines[0], signals, card)
    is_short = signals.words < 2 and not signals.has_name
    by_meaning = signals.words > 0 and score >= threshold + CLOSE_MARGIN * is_short
    return Verdict(by_meaning or by_words, score, threshold)


def match(
    cosine: float | None, coverage: float, signals: Signals, card: RecallCard, opened: Verdict
) -> Match | None:
    """Return how well one hit matches the message, or None if it is not worth a line."""
    if cosine is None or not signals.cosines:
        return "close" if coverage >= CLOSE_COVERAGE else "loose" if coverage > 0 else None
    margin = _score(cosine, signals, card) - opened.threshold
    if margin >= CLOSE_MARGIN or coverage >= CLOSE_COVERAGE:
        return "close"
    return "loose" if margin >= -LOOSE_MARGIN or coverage >= card.coverage else None


def _score(cosine: float, signals: Signals, card: RecallCard) -> float:
    """Return the score that a hit with this cosine gives the message."""
    others = [*signals.cosines[1 : RUNNERS_UP + 1]]
    if card.unrelated is not None:
        others += [card.unrelated] * (RUNNERS_UP - len(others))
    lead = cosine - sum(others) / RUNNERS_UP if len(others) == RUNNERS_UP else 0.0
    need = signals.need if signals.need > 0 else NO_NEED * signals.need
    return card.cosine_weight * cosine + lead + need + NAME_BONUS * signals.has_name

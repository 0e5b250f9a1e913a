"""The cards of embedding models for the recall gate: thresholds and directions.

`python -m infra.recall_cards` computes the directions, and `python -m tests.benchmarks.recall_gate`
shows what a threshold does. The thresholds are the best in measured silence and recall. A model
that was not measured has no direction; its gate uses words, and the lead of the best memory over
the next nine.
"""

from array import array
from base64 import b64decode
from collections.abc import Mapping
from functools import cache

from nacre.being.memory.search.recall_directions import DIRECTIONS
from nacre.core.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecallCard:
    """The thresholds of the recall gate for vectors of one model.

    `threshold` is the least score of a message, `cjk_threshold` that of a message in Chinese,
    Japanese or Korean, and `coverage` the least share of its words in one memory. `direction`
    leads from messages that need no memory to messages that do. `unrelated` is the usual cosine of
    a message and a memory that have nothing to do with each other, if it is known.
    """

    threshold: float
    cjk_threshold: float
    coverage: float
    direction: tuple[float, ...] = ()
    unrelated: float | None = None
    cosine_weight: float = 1.0

    def threshold_for(self, *, mostly_cjk: bool) -> float:
        """Return the least score of a message in either kind of script."""
        return self.cjk_threshold if mostly_cjk else self.threshold


WORDS_ALONE = RecallCard(threshold=1.0, cjk_threshold=1.0, coverage=0.2)
"""The card of a search without an embedding model."""

# Models differ in the cosines of unrelated texts, so that only the lead means the same in all.
_UNKNOWN = RecallCard(threshold=0.16, cjk_threshold=0.16, coverage=0.2, cosine_weight=0.0)

THRESHOLDS: Mapping[str, tuple[float, float, float, float]] = {
    "builtin:use-multilingual-3+potion-base-8m:768:1.70": (0.36, 0.36, 0.75, 0.1),
    "builtin:use-multilingual-3+arctic-embed-s:896:1.30": (0.36, 0.36, 0.75, 0.03),
    "builtin:potion-base-8m:256:1": (0.6, 0.85, 0.2, 0.1),
    "builtin:potion-multilingual-128m:128:1": (0.65, 0.5, 0.2, 0.1),
}
"""For each model: `threshold`, `cjk_threshold`, `coverage` and `unrelated` of its card."""


@cache
def recall_card_of(emb_id: str) -> RecallCard:
    """Return the card of a model, or one with cautious values if it was not measured."""
    if emb_id not in THRESHOLDS:
        return _UNKNOWN
    threshold, cjk_threshold, coverage, unrelated = THRESHOLDS[emb_id]
    scale, encoded = DIRECTIONS[emb_id]
    direction = tuple(scale * number for number in array("b", b64decode(encoded)))
    return RecallCard(threshold, cjk_threshold, coverage, direction, unrelated)

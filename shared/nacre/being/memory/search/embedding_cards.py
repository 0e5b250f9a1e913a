"""The cards of embedding models: their typical cosines, and the weights of search channels.

`python -m infra.cards` measures the cosines of a model. The weights are the best in measured
recall. A model without a card gets cautious values.
"""

from nacre.core.lazy_dataclasses import replace
from nacre.ports.vectors.embedder import Card, Cosines, Weights

_WORDS_ALONE = Weights(dense=0.0, sparse=1.0, tokens=0.0)
_NEVER = Cosines(mean=0.0, deviation=0.0, floor=1.0, join=1.0)

LEXICAL = Card(
    emb_id="none",
    cosines=_NEVER,
    cjk_cosines=_NEVER,
    weights=_WORDS_ALONE,
    cjk_weights=_WORDS_ALONE,
)
"""The card of a search by words alone."""

# Thresholds that a production system used with text-embedding-3-small. With this mean and
# deviation they are 2.5 and 3.5 deviations above the mean.
_ORDINARY = Cosines(mean=0.1, deviation=0.1, floor=0.35, join=0.45)
_UNKNOWN = Card(
    emb_id="",
    cosines=_ORDINARY,
    cjk_cosines=_ORDINARY,
    weights=Weights(dense=0.8, sparse=1.0, tokens=0.0),
    cjk_weights=Weights(dense=0.4, sparse=1.2, tokens=0.0),
)

_CARDS = {
    card.emb_id: card
    for card in (
        Card(
            emb_id="builtin:use-multilingual-3+potion-base-8m:768:1.70",
            cosines=Cosines(mean=0.102, deviation=0.067, floor=0.16, join=0.29),
            cjk_cosines=Cosines(mean=0.13, deviation=0.075, floor=0.19, join=0.34),
            # A memory in another language is found by its meaning alone.
            weights=Weights(dense=0.8, sparse=1.0, tokens=0.9, foreign=2.0),
            cjk_weights=Weights(dense=0.6, sparse=1.5, tokens=0.0),
        ),
        Card(  # in Chinese, Japanese and Korean the same encoder alone
            emb_id="builtin:use-multilingual-3+arctic-embed-s:896:1.30",
            cosines=Cosines(mean=0.03, deviation=0.076, floor=0.17, join=0.24),
            cjk_cosines=Cosines(mean=0.13, deviation=0.075, floor=0.2, join=0.34),
            weights=Weights(dense=0.8, sparse=1.0, tokens=0.9, foreign=2.0),
            cjk_weights=Weights(dense=0.6, sparse=1.5, tokens=0.0),
        ),
        Card(
            emb_id="builtin:potion-base-8m:256:1",
            cosines=Cosines(mean=0.044, deviation=0.086, floor=0.24, join=0.28),
            # An English table has only single characters here, which all texts share.
            cjk_cosines=Cosines(mean=0.722, deviation=0.075, floor=0.88, join=0.93),
            weights=Weights(dense=0.6, sparse=1.0, tokens=0.9),
            cjk_weights=Weights(dense=0.1, sparse=1.0, tokens=0.0),
        ),
        Card(
            emb_id="builtin:potion-multilingual-128m:128:1",
            cosines=Cosines(mean=0.12, deviation=0.099, floor=0.34, join=0.39),
            cjk_cosines=Cosines(mean=0.08, deviation=0.103, floor=0.3, join=0.36),
            weights=Weights(dense=0.5, sparse=1.0, tokens=0.9),
            cjk_weights=Weights(dense=0.2, sparse=1.0, tokens=0.6),
        ),
        Card(  # snowflake-arctic-embed-s, int8, from a folder named after it
            emb_id="onnx:f93ff225320628d2:384:1601020a",
            cosines=Cosines(mean=0.716, deviation=0.041, floor=0.59, join=0.83),
            cjk_cosines=Cosines(mean=0.954, deviation=0.02, floor=0.67, join=1.0),
            weights=Weights(dense=1.0, sparse=0.8, tokens=0.9, lift=0.5),
            cjk_weights=Weights(dense=0.1, sparse=1.0, tokens=0.0),
        ),
    )
}


def card_of(emb_id: str) -> Card:
    """Return the card of a model, or one with cautious values if it was not measured."""
    return _CARDS.get(emb_id) or replace(_UNKNOWN, emb_id=emb_id)

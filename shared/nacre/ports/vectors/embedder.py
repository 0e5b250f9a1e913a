"""Texts as vectors, and how alike texts are word by word."""

from collections.abc import Sequence
from typing import Protocol

from nacre.core.lazy_dataclasses import dataclass

Vector = bytes
"""Float32, little endian, of unit length; all zeros for a text without anything to embed."""


class Embedder(Protocol):
    """One model that turns texts into vectors.

    `emb_id` is `provider:model:dimension:prefix-version`; vectors of two ids are never
    compared. Neither attribute costs anything: the first text loads the model. A
    model that cannot answer, or answers with anything but vectors of its dimension,
    raises UnavailableError; no vector is ever guessed.
    """

    @property
    def emb_id(self) -> str:
        """Return the id under which vectors of this model are stored."""
        ...

    @property
    def dimension(self) -> int:
        """Return how many numbers a vector has."""
        ...

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text that will be searched, in their order."""
        ...

    def query(self, text: str) -> Vector:
        """Return the vector of a text that searches."""
        ...


class TokenSimilarity(Protocol):
    """Scores texts against a query, word by word and without stored vectors.

    It costs more than a stored vector, so it is for a few hundred candidates.
    """

    def score(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Return a number from 0 (nothing alike) to 1 for each text, in their order.

        It is None for a text whose words cannot be compared, because its language is another.
        """
        ...


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each channel of a hybrid search; each is scaled to 0..1 first.

    `lift` is the share of their best scores by which memories of one day or cluster lift each
    other, and `coverage` counts how many of the query's words a memory has. `foreign` multiplies
    the vector's weight for a memory whose words cannot be compared with the query's.
    """

    dense: float
    sparse: float
    tokens: float
    lift: float = 0.8
    coverage: float = 0.2
    foreign: float = 1.0


@dataclass(frozen=True, slots=True)
class Cosines:
    """The meaning of one model's cosines in one kind of script.

    `mean` and `deviation` are those of notes that have nothing to do with each other. A
    hit by vector alone counts from `floor`; a memory joins a cluster from `join`.
    """

    mean: float
    deviation: float
    floor: float
    join: float

    def at(self, z: float) -> float:
        """Return the cosine that lies this many deviations above random pairs, at most 1."""
        return min(1.0, self.mean + z * self.deviation)


@dataclass(frozen=True, slots=True)
class Card:
    """The measured properties of one model.

    The `cjk` parts are for texts that are mostly Chinese, Japanese or Korean, of which
    many models know little.
    """

    emb_id: str
    cosines: Cosines
    cjk_cosines: Cosines
    weights: Weights
    cjk_weights: Weights

    @property
    def floor(self) -> float:
        """Return the floor for texts that are not mostly CJK."""
        return self.cosines.floor

    def cosines_for(self, *, mostly_cjk: bool) -> Cosines:
        """Return the meaning of cosines between texts in either kind of script."""
        return self.cjk_cosines if mostly_cjk else self.cosines

    def weights_for(self, *, mostly_cjk: bool) -> Weights:
        """Return the weights for a query in either kind of script."""
        return self.cjk_weights if mostly_cjk else self.weights

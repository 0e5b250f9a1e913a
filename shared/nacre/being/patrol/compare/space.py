"""The space that memories are compared in: whose vectors, around which centre, how far is near.

Cosines of two models do not compare, and neither do those of two subjects: all notes of one
Being share a direction. So its own first notes say where the centre is and how far apart notes
lie that have nothing to do with each other. Without a model words that are hashed serve.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, pstdev

from nacre.being.memory.index.sync import Indexing
from nacre.being.memory.index.vector_items import vectors
from nacre.being.memory.search.embedding_cards import card_of
from nacre.being.patrol.compare.geometry import (
    Numbers,
    cosine,
    dot,
    less,
    mean,
    numbers,
    packed,
    unit,
)
from nacre.being.patrol.compare.hashed_vectors import COSINES, HASHED, hashed
from nacre.core.errors import UnavailableError
from nacre.ports.embedder import Embedder, Vector
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Item, Key, Table
from nacre.text.analysis import mostly_cjk

MEASURE = ItemSchema("measure", 1)

JOIN_Z = 3.0  # deviations above unrelated notes: those that belong into one cluster
EARLY_JOIN_Z = 4.0  # the same before a Being's own notes were measured, whatever they share
ALIKE_Z = 5.0  # those that may say the same
SAME = 0.9  # the cosine of notes that say the same, if the guard agrees

_LEAST = 50  # fewer notes may all be about one thing
_ENOUGH = 200  # more change nothing any more
_DRAWN = 10  # notes at nowhere in particular, as many as count with those that were read
_PAIRS = 60  # notes of which each is compared with each other: some 1,800 pairs


@dataclass(frozen=True, slots=True)
class Measure:
    """Where the centre of a Being's notes is, and how unrelated ones lie around it."""

    centre: Numbers
    mean: float
    deviation: float
    count: int  # of the notes that were measured

    def to_item(self, being_id: str, emb_id: str) -> Item:
        """Return the item that holds it."""
        place = measure_key(being_id, emb_id)
        return MEASURE.stamp(
            {
                "pk": place.pk,
                "sk": place.sk,
                "centre": packed(self.centre),
                "mean": self.mean,
                "deviation": self.deviation,
                "count": self.count,
            }
        )


@dataclass(frozen=True, slots=True)
class Space:
    """What vectors mean for one Being."""

    emb_id: str  # under which a cluster's vector is kept
    embedder: Embedder | None  # None: words are hashed
    measure: Measure | None = None

    def join(self, text: str) -> float:
        """Return the cosine with a cluster from which a note belongs to it."""
        return COSINES.join if self.embedder is None else self._at(self._join_z, text)

    def alike(self, text: str) -> float:
        """Return the cosine from which notes may say the same."""
        return COSINES.at(ALIKE_Z) if self.embedder is None else self._at(ALIKE_Z, text)

    def around(self, vector: Numbers) -> Numbers:
        """Return a vector as seen from the centre."""
        return vector if self.measure is None else less(vector, self.measure.centre)

    def nearness(self, one: Numbers, other: Numbers) -> float:
        """Return the cosine of two vectors as seen from the centre."""
        return cosine(self.around(one), self.around(other))

    def nearness_to(self, around: Numbers, direction: Numbers, length: float) -> float:
        """Return the same for a vector seen from the centre and a mean as it is kept.

        Written out, because making the difference for every cluster takes most of a run.
        """
        if self.measure is None:
            return cosine(around, direction)
        centre = self.measure.centre
        product = length * dot(around, direction) - dot(around, centre)
        square = length * length - 2 * length * dot(direction, centre) + dot(centre, centre)
        size = max(0.0, square * dot(around, around)) ** 0.5
        return product / size if size else 0.0

    def vectors_of(
        self, texts: Mapping[str, str], known: Mapping[str, Vector]
    ) -> dict[str, Vector]:
        """Return a vector for each text by its name; those that are known are not made again.

        Raises UnavailableError when the model does not answer.
        """
        if self.embedder is None:
            return {name: hashed(text) for name, text in texts.items()}
        lacking = [name for name in texts if name not in known]
        made = self.embedder.documents([texts[name] for name in lacking]) if lacking else []
        return {
            **{name: known[name] for name in texts if name in known},
            **dict(zip(lacking, made, strict=True)),
        }

    @property
    def _join_z(self) -> float:
        return EARLY_JOIN_Z if self.measure is None else JOIN_Z

    def _at(self, z: float, text: str) -> float:
        if self.measure is not None:
            return min(1.0, self.measure.mean + z * self.measure.deviation)
        return card_of(self.emb_id).cosines_for(mostly_cjk=mostly_cjk(text)).at(z)


def space_of(table: Table, indexing: Indexing, being_id: str) -> Space:
    """Return the space of a Being, with its measure if it has been taken."""
    embedder = indexing.reading(being_id).embedder
    if embedder is None:
        return Space(HASHED, None)
    item = table.get(measure_key(being_id, embedder.emb_id))
    return Space(embedder.emb_id, embedder, None if item is None else _measure(item))


def measure_key(being_id: str, emb_id: str) -> Key:
    """Return where the measure of an embedding is."""
    return Key(vectors(being_id), f"M#{emb_id}")


def is_due(space: Space, count: int) -> bool:
    """Whether so many notes are worth measuring: fifty, then twice as many, up to 200."""
    if space.embedder is None or count < _LEAST:
        return False
    before = 0 if space.measure is None else space.measure.count
    return before < _ENOUGH and (count >= _ENOUGH or count >= 2 * before)


def measured(every: Sequence[Vector]) -> Measure | None:
    """Return the measure of notes; None for too few with a direction."""
    found = [numbers(vector) for vector in every if any(vector)][:_ENOUGH]
    if len(found) < _LEAST:
        return None
    # A few notes say little about where the centre of all is, so it moves there with them.
    share = len(found) / (len(found) + _DRAWN)
    centre = tuple(share * part for part in mean(found))
    # Every so many-th, because notes that follow each other are often about one thing.
    step = max(1, len(found) // _PAIRS)
    around = [unit(less(each, centre)) for each in found[::step]]
    cosines = [dot(one, other) for one, other in combinations(around, 2)]
    return Measure(centre, max(0.0, fmean(cosines)), pstdev(cosines), len(found))


def _measure(item: Item) -> Measure:
    item = MEASURE.read(item)
    centre, mean_, deviation, count = (
        item[name] for name in ("centre", "mean", "deviation", "count")
    )
    if not (
        isinstance(centre, bytes)
        and isinstance(mean_, int | float)
        and isinstance(deviation, int | float)
        and isinstance(count, int)
    ):
        raise UnavailableError("the measure of this Being's notes cannot be read")
    return Measure(numbers(centre), float(mean_), float(deviation), count)

"""The vector space in which memories are compared: its embedder, its centre and its distances.

Cosines of different models cannot be compared, and neither can those of different Beings, because
all notes of one Being share a direction. So the first notes of a Being are measured: their centre,
and the cosines of unrelated ones. Without a model, hashed words serve as vectors.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import combinations
from statistics import fmean, pstdev

from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import SceneText
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
from nacre.being.patrol.compare.grouping import Group, Grouping, grouping_of, place_of
from nacre.core.errors import UnavailableError
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Item, Key, Table
from nacre.ports.vectors.embedder import Cosines, Embedder, Vector
from nacre.ports.vectors.packed_vectors import rounded
from nacre.text.analysis import mostly_cjk, terms

DIMENSION = 1024
HASHED = f"hashed:terms:{DIMENSION}:1"

# Measured on unrelated pairs of notes. Different words have nothing in common here, so notes that
# belong together are only four deviations above.
COSINES = Cosines(mean=0.018, deviation=0.081, floor=1.0, join=0.34)

MEASURE = ItemSchema("measure", 1)

# Deviations above the mean of unrelated notes:
JOIN_Z = 3.0  # notes of one cluster
EARLY_JOIN_Z = 4.0  # the same, before the Being's notes are measured
ALIKE_Z = 5.0  # notes that may say the same
SAME = 0.9  # the cosine of notes that may be shown as similar

_MIN_NOTES = 50  # fewer may all be about one subject
_MAX_NOTES = 200  # more do not change the measure
_PRIOR_NOTES = 10  # counted as if they were at the origin
_SAMPLE = 60  # notes that are compared pairwise: some 1,800 pairs


@dataclass(frozen=True, slots=True)
class SpaceMeasure:
    """The centre of a Being's notes, and the cosines of unrelated notes around it."""

    centre: Numbers
    mean: float
    deviation: float
    count: int  # of the notes that were measured

    def to_item(self, being_id: str, emb_id: str) -> Item:
        """Return the item of the measure."""
        return MEASURE.stamp(
            {
                **measure_key(being_id, emb_id).attributes(),
                "centre": packed(self.centre),
                "mean": self.mean,
                "deviation": self.deviation,
                "count": self.count,
            }
        )


@dataclass(frozen=True, slots=True)
class Spot:
    """A memory or the middle of some: vector, text, and group if the Being's notes are measured."""

    vector: Vector
    text: str
    group: Group | None


@dataclass(frozen=True, slots=True)
class Space:
    """The vector space of one Being."""

    emb_id: str  # the name under which vectors are stored
    embedder: Embedder | None  # None if words are hashed
    measure: SpaceMeasure | None = None
    grouping: Grouping | None = None

    def spot(self, memory: SceneText, vector: Vector) -> "Spot":
        """Return a memory with this vector among the clusters."""
        return Spot(vector, memory.action, self._group([memory], [vector]))

    def middle(self, memories: Sequence[SceneText], vectors: Sequence[Vector]) -> "Spot":
        """Return the middle of at least one memory among the clusters."""
        text = "\n".join(memory.action for memory in memories)
        vector = packed(unit(mean([numbers(vector) for vector in vectors])))
        return Spot(vector, text, self._group(memories, vectors))

    def _group(self, memories: Sequence[SceneText], vectors: Sequence[Vector]) -> Group | None:
        if self.grouping is None:
            return None
        return self.grouping.group_of(list(map(place_of, memories, vectors)))

    def join(self, text: str) -> float:
        """Return the cosine with a cluster from which a note belongs to it."""
        return COSINES.join if self.embedder is None else self._at(self._join_z, text)

    def alike(self, text: str) -> float:
        """Return the cosine from which notes may say the same."""
        return COSINES.at(ALIKE_Z) if self.embedder is None else self._at(ALIKE_Z, text)

    def around(self, vector: Numbers) -> Numbers:
        """Return a vector relative to the centre."""
        return vector if self.measure is None else less(vector, self.measure.centre)

    def nearness(self, first: Numbers, second: Numbers) -> float:
        """Return the cosine of two vectors relative to the centre."""
        return cosine(self.around(first), self.around(second))

    def nearness_to(self, around: Numbers, direction: Numbers, length: float) -> float:
        """Return the nearness of a vector relative to the centre and a stored mean.

        This is written out because computing the difference for every cluster takes most of a run.
        """
        if self.measure is None:
            return cosine(around, direction)
        centre = self.measure.centre
        product = length * dot(around, direction) - dot(around, centre)
        square = length * length - 2 * length * dot(direction, centre) + dot(centre, centre)
        size = max(0.0, square * dot(around, around)) ** 0.5
        return product / size if size else 0.0

    def vectors_of(
        self, texts: Mapping[str, str], stored: Mapping[str, Vector]
    ) -> dict[str, Vector]:
        """Return a vector for each text, by name; stored ones are not computed again.

        Raises UnavailableError if the model does not answer.
        """
        if self.embedder is None:
            return {name: hashed(text) for name, text in texts.items()}
        missing = [name for name in texts if name not in stored]
        computed = self.embedder.documents([texts[name] for name in missing]) if missing else []
        # Rounded as stored ones are, so that it makes no difference which are stored.
        return {
            **{name: stored[name] for name in texts if name in stored},
            **dict(zip(missing, map(rounded, computed), strict=True)),
        }

    @property
    def _join_z(self) -> float:
        return EARLY_JOIN_Z if self.measure is None else JOIN_Z

    def _at(self, z: float, text: str) -> float:
        if self.measure is not None:
            return min(1.0, self.measure.mean + z * self.measure.deviation)
        return card_of(self.emb_id).cosines_for(mostly_cjk=mostly_cjk(text)).at(z)


def space_of(table: Table, indexing: IndexSync, being_id: str) -> Space:
    """Return the space of a Being, with its measure if there is one."""
    embedder = indexing.active_index(being_id).embedder
    if embedder is None:
        return Space(HASHED, None)
    item = table.get(measure_key(being_id, embedder.emb_id))
    return Space(
        embedder.emb_id,
        embedder,
        None if item is None else _measure(item),
        grouping_of(table, being_id, embedder.emb_id),
    )


def measure_key(being_id: str, emb_id: str) -> Key:
    """Return the key of the measure for an embedding."""
    return Key(keys.vectors(being_id), f"M#{emb_id}")


def is_due(space: Space, count: int) -> bool:
    """Return whether this number of notes should be measured: 50, then twice as many, up to 200."""
    if space.embedder is None or count < _MIN_NOTES:
        return False
    before = 0 if space.measure is None else space.measure.count
    return before < _MAX_NOTES and (count >= _MAX_NOTES or count >= 2 * before)


def measured(vectors: Sequence[Vector]) -> SpaceMeasure | None:
    """Return the measure of notes; None if too few of them have a direction."""
    points = [numbers(vector) for vector in vectors if any(vector)][:_MAX_NOTES]
    if len(points) < _MIN_NOTES:
        return None
    # A few notes say little about the centre of all, so it approaches their mean gradually.
    share = len(points) / (len(points) + _PRIOR_NOTES)
    centre = tuple(share * part for part in mean(points))
    # Spread over all notes, because consecutive ones are often about one subject.
    step = max(1, len(points) // _SAMPLE)
    sample = [unit(less(point, centre)) for point in points[::step]]
    cosines = [dot(first, second) for first, second in combinations(sample, 2)]
    return SpaceMeasure(centre, max(0.0, fmean(cosines)), pstdev(cosines), len(points))


def _measure(item: Item) -> SpaceMeasure:
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
    return SpaceMeasure(numbers(centre), float(mean_), float(deviation), count)


def hashed(text: str) -> Vector:
    """Return a vector of unit length in which each term has a direction, by its hash.

    A text without terms has a vector of zeros.
    """
    sums = [0.0] * DIMENSION
    for term, count in Counter(terms(text)).items():
        place, sign = _place(term)
        sums[place] += sign * math.sqrt(count)
    length = math.sqrt(math.fsum(part * part for part in sums))
    return packed([part / length for part in sums] if length else sums)


@lru_cache(1 << 14)
def _place(term: str) -> tuple[int, int]:
    number = int.from_bytes(blake2b(term.encode(), digest_size=8).digest())
    return number % DIMENSION, 1 if number >> 63 else -1

"""The rules that put memories into one cluster: meaning, people and shared words.

Each memory has a place: its vector, then hashed people, then hashed pieces of words. Places are
compared around the centre of the Being's notes, so what all notes share counts for nothing: the
name of the person that a Being belongs to, for example. The mean of a cluster's places and its
number of members say how alike its members are, so clusters are compared without reading them.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import SceneText
from nacre.being.patrol.compare.geometry import Numbers, dot, less, mean, numbers, packed
from nacre.core.errors import UnavailableError
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Item, Key, Table
from nacre.ports.vectors.embedder import Vector
from nacre.text.analysis import terms

GROUPING = ItemSchema("grouping", 1)

# How alike two groups are, as a share of how alike the members of each are:
JOIN = 0.5  # a memory joins a cluster, and two clusters become one
SPLIT = 0.45  # the halves of a cluster part below it
MOVE = 0.02  # by so much another cluster is nearer, before a memory moves there

PEOPLE, WORDS = 128, 512  # dimensions
_PEOPLE_SHARE, _WORDS_SHARE = 0.2, 0.4  # beside 1 for the meaning
_SQUARE = 1 + _PEOPLE_SHARE + _WORDS_SHARE  # of the length of every place
_PIECE = 4  # letters, so that "marathon" meets "half-marathon"
_FIRST_CJK = "\u2e80"

MIN_NOTES = 20  # fewer may all be about one subject
MAX_NOTES = 200  # more do not change the measure
_PRIOR_NOTES = 10  # counted as if they were at the origin
_SAMPLE = 40  # notes whose nearest note is looked for
_TYPICAL = 0.5  # members of a cluster are half as alike as a note and its nearest one
_PRIOR_PAIRS = 3  # pairs that count as typical, so that two members do not decide alone
_LEAST = 0.02  # of alikeness, so that a ratio stays finite


@dataclass(frozen=True, slots=True)
class Group:
    """Some memories: their number, their mean around the centre, and how alike they are."""

    count: int
    mean: Numbers
    square: float  # of the length of the mean
    alike: float  # the mean product of two members


@dataclass(frozen=True, slots=True)
class Grouping:
    """The measure of one Being's places: their centre, and how alike members of a cluster are."""

    centre: Numbers
    alike: float
    count: int  # of the notes that were measured

    def group(self, place: Numbers, count: int) -> Group:
        """Return the group of so many memories whose places have this mean."""
        around = less(place, self.centre)
        square = dot(around, around)
        if count < 2:
            return Group(count, around, square, self.alike)
        spread = _SQUARE + dot(self.centre, self.centre) - 2 * dot(place, self.centre)
        pairs = count * (count - 1) / 2
        alike = (count * square - spread) / (count - 1)
        alike = (pairs * alike + _PRIOR_PAIRS * self.alike) / (pairs + _PRIOR_PAIRS)
        return Group(count, around, square, max(_LEAST, alike))

    def group_of(self, places: Sequence[Numbers]) -> Group:
        """Return the group of at least one memory with these places."""
        return self.group(mean(places), len(places))

    def to_item(self, being_id: str, emb_id: str) -> Item:
        """Return the item of the measure."""
        return GROUPING.stamp(
            {
                **grouping_key(being_id, emb_id).attributes(),
                "centre": packed(self.centre),
                "alike": self.alike,
                "count": self.count,
            }
        )


def link(first: Group, second: Group) -> float:
    """Return how alike two groups are, as a share of how alike the members of each are."""
    return round(2 * dot(first.mean, second.mean) / (first.alike + second.alike), 9)


def nearness(first: Group, second: Group) -> float:
    """Return the cosine of the means of two groups."""
    size = math.sqrt(first.square * second.square)
    return round(dot(first.mean, second.mean) / size, 9) if size else 0.0


def place_of(memory: SceneText, vector: Vector) -> Numbers:
    """Return the place of a memory whose text has this vector."""
    return numbers(vector) + circumstances(memory)


def circumstances(memory: SceneText) -> Numbers:
    """Return the part of a place that shows people and words."""
    people = [actor.casefold() for actor in memory.actors]
    return (
        *_hashed(people, PEOPLE, _PEOPLE_SHARE),
        *_hashed(_pieces(memory.action), WORDS, _WORDS_SHARE),
    )


def is_due(grouping: Grouping | None, count: int) -> bool:
    """Return whether this number of notes should be measured: 20, then twice as many, up to 200."""
    before = 0 if grouping is None else grouping.count
    return count >= MIN_NOTES and before < MAX_NOTES and (count >= MAX_NOTES or count >= 2 * before)


def measured(places: Sequence[Numbers]) -> Grouping | None:
    """Return the measure of places; None if there are too few."""
    places = places[:MAX_NOTES]
    if len(places) < MIN_NOTES:
        return None
    share = len(places) / (len(places) + _PRIOR_NOTES)
    centre = tuple(share * part for part in mean(places))
    around = [less(place, centre) for place in places]
    step = -(-len(places) // _SAMPLE)
    nearest = [
        max(dot(around[number], other) for place, other in enumerate(around) if place != number)
        for number in range(0, len(around), step)
    ]
    alike = _TYPICAL * math.fsum(nearest) / len(nearest)
    return Grouping(centre, max(_LEAST, alike), len(places))


def grouping_of(table: Table, being_id: str, emb_id: str) -> Grouping | None:
    """Return the measure of a Being, or None if it has none yet."""
    item = table.get(grouping_key(being_id, emb_id))
    if item is None:
        return None
    item = GROUPING.read(item)
    alike, centre, count = item["alike"], item["centre"], item["count"]
    if not (
        isinstance(centre, bytes) and isinstance(alike, int | float) and isinstance(count, int)
    ):
        raise UnavailableError("the measure of this Being's clusters cannot be read")
    return Grouping(numbers(centre), float(alike), count)


def grouping_key(being_id: str, emb_id: str) -> Key:
    """Return the key of the measure for an embedding."""
    return Key(keys.vectors(being_id), f"G#{emb_id}")


def _pieces(text: str) -> Iterator[str]:
    for term in terms(text):
        if term[0] >= _FIRST_CJK:
            yield term
        else:  # shorter words are articles and pronouns in most languages
            yield from (term[at : at + _PIECE] for at in range(len(term) - _PIECE + 1))


def _hashed(names: Iterable[str], dimension: int, share: float) -> list[float]:
    """Return names as a vector whose squared length is `share`; no names have a place too."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    sums = [0.0] * dimension
    for name, count in (counts or {"": 1}).items():
        number = _number(name)
        sums[number % dimension] += (1 if number >> 63 else -1) * math.sqrt(count)
    square = math.fsum(part * part for part in sums)
    if not square:  # two names met in one place and cancelled each other
        return _hashed((), dimension, share)
    return [math.sqrt(share / square) * part for part in sums]


@lru_cache(1 << 14)
def _number(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest())

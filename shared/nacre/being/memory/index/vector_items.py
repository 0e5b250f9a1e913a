"""Vectors as items, from which an index can be rebuilt without a model or an API key."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from nacre.being.memory.model import keys
from nacre.being.memory.text.searchable_text import IndexEntry
from nacre.being.memory.text.summary import Summary, compact_json
from nacre.core.errors import ConditionFailedError
from nacre.core.lazy_dataclasses import dataclass, field, replace
from nacre.core.limits import MAX_TRANSACTION_WRITES
from nacre.ports.items.paging import every_item
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Item, Key, Range, Table, Update, Value
from nacre.ports.vectors.embedder import Vector
from nacre.ports.vectors.packed_vectors import PackedVector, unpacked
from nacre.ports.vectors.vector_index import Kind, Point, dimension_of, is_day
from nacre.text.analysis import terms

# 2: vectors may be packed. 3: the subject may be a place in the text.
VECTOR = ItemSchema("vector", 3, {1: lambda item: item, 2: lambda item: item})
VECTOR_OF = "vec:"  # prefix of the attribute with the vector of an embedding
SUBJECT_OF = "sub:"  # prefix of the attribute with the vector of the subject
CLUSTER = "C#"
"""The prefix of a cluster's id in the partition of vectors."""

_POINT = "P#"
_PAGE = 200
# The version of `terms`. Raising it makes every point out of date.
_ANALYSIS = 1


@dataclass(frozen=True, slots=True)
class VectorItem:
    """The text of a memory, the fields that searches filter by, and its vectors by embedding."""

    id: str
    kind: Kind
    text: str
    text_sha: str
    state: str
    cluster_id: str | None
    days: tuple[str, ...]
    vectors: Mapping[str, PackedVector] = field(default_factory=dict)
    subject: str | None = None
    subjects: Mapping[str, PackedVector] = field(default_factory=dict)
    summary: str | None = None  # None in items of older versions; see `Summary`

    def lacks(self, emb_id: str) -> bool:
        """Return whether a vector of this embedding is missing."""
        return emb_id not in self.vectors or (
            self.subject is not None and emb_id not in self.subjects
        )

    @property
    def embedded(self) -> str:
        """Return the text whose vector is stored: the line without its days.

        Days say nothing about the meaning, and would make memories of one day look alike.
        """
        return self.text.removeprefix(f"[{', '.join(self.days)}] ")

    def subject_vector(self, emb_id: str) -> Vector | None:
        """Return the vector of the subject, or of the text if there is no subject."""
        return _vector(self.vectors if self.subject is None else self.subjects, emb_id)

    def to_item(self, being_id: str) -> Item:
        """Return the item in the store."""
        place = keys.point(being_id, self.id)
        item: Item = {
            "pk": place.pk,
            "sk": place.sk,
            "kind": self.kind,
            "text": self.text,
            "text_sha": self.text_sha,
            "state": self.state,
            "days": list(self.days),
        }
        if self.cluster_id is not None:
            item["cluster_id"] = self.cluster_id
        if self.subject is not None:
            item["subject"] = _place_in(self.text, self.subject)
        if self.summary is not None:
            item["summary"] = self.summary
        item |= {SUBJECT_OF + emb_id: vector for emb_id, vector in self.subjects.items()}
        item |= {VECTOR_OF + emb_id: vector for emb_id, vector in self.vectors.items()}
        return VECTOR.stamp(item)

    def point(self, emb_id: str) -> Point:
        """Return the point for an index of this embedding."""
        return Point(
            id=self.id,
            kind=self.kind,
            state=self.state,
            cluster_id=self.cluster_id,
            days=self.days,
            vector=_vector(self.vectors, emb_id),
            terms=terms(self.text),
            text_sha=self.digest(emb_id),
            summary=self.point_summary,
        )

    @property
    def point_summary(self) -> str | None:
        """Return the text of the `PointSummary`, or None if there is no summary."""
        if self.summary is None or self.subject is None:
            return None
        fields = [self.kind, self.state, self.cluster_id, self.days, self.text, self.subject]
        return compact_json([*fields, self.summary])  # as PointSummary reads it

    def digest(self, emb_id: str) -> str:
        """Return a digest that changes whenever the point of this embedding changes."""
        fields = [_ANALYSIS, self.kind, self.text_sha, self.state, self.cluster_id, self.days]
        if self.summary is not None:  # an older version's point without it is not out of date
            fields.append(self.summary)
        return _digest(json.dumps(fields).encode() + self.vectors.get(emb_id, b""))

    def is_near(self, other: "VectorItem") -> bool:
        """Return whether the items differ in nothing but a little strength."""
        if self.summary is None or other.summary is None:
            return False
        return replace(self, summary=None) == replace(other, summary=None) and Summary.from_text(
            self.summary
        ).is_near(Summary.from_text(other.summary))


def vector_item(entry: IndexEntry, before: VectorItem | None) -> VectorItem:
    """Return the vector item of an entry, with the vectors of `before` if the text is the same."""
    text_sha = _digest(entry.text.encode())
    return VectorItem(
        id=entry.id,
        kind=entry.kind,
        text=entry.text,
        text_sha=text_sha,
        state=entry.state,
        cluster_id=entry.cluster_id,
        days=tuple(day for day in entry.days if is_day(day)),
        vectors=before.vectors if before is not None and before.text_sha == text_sha else {},
        subject=entry.subject,
        subjects=before.subjects if before is not None and before.subject == entry.subject else {},
        summary=None if entry.summary is None else entry.summary.to_text(),
    )


def from_item(item: Item) -> VectorItem:
    """Return the vector item in an item of the store."""
    item = VECTOR.read(item)
    cluster_id, days, summary = item.get("cluster_id"), item["days"], item.get("summary")
    assert isinstance(days, list)
    text = str(item["text"])
    return VectorItem(
        id=str(item["sk"])[len(_POINT) :],
        kind="node" if item["kind"] == "node" else "scene",
        text=text,
        text_sha=str(item["text_sha"]),
        state=str(item["state"]),
        cluster_id=None if cluster_id is None else str(cluster_id),
        days=tuple(map(str, days)),
        vectors=vectors_in(item, VECTOR_OF),
        subject=_subject_in(text, item.get("subject")),
        subjects=vectors_in(item, SUBJECT_OF),
        summary=None if summary is None else str(summary),
    )


def is_point(being_id: str, place: Key) -> bool:
    """Return whether this is the key of a point of the Being."""
    return place.pk == keys.vectors(being_id) and place.sk.startswith(_POINT)


def point_id(place: Key) -> str:
    """Return the id of the memory whose point has this key."""
    return place.sk[len(_POINT) :]


def pages(
    table: Table, being_id: str, *, after: str | None = None, size: int = _PAGE
) -> Iterator[list[VectorItem]]:
    """Yield pages of the points of a Being in order of their ids, beginning after `after`."""
    low = _POINT if after is None else _POINT + after
    within = Range(low=low, high="P$")
    items = every_item(table, keys.vectors(being_id), keys=within, at_once=size)
    while points := [from_item(item) for item in islice(items, size)]:
        if points[0].id == after:
            del points[0]
        if points:
            yield points


def cluster_ids(table: Table, being_id: str) -> Iterator[str]:
    """Yield the ids of the clusters that have a vector."""
    clusters = Range(prefix=CLUSTER)
    for item in every_item(table, keys.vectors(being_id), keys=clusters, at_once=_PAGE):
        yield str(item["sk"])[len(CLUSTER) :]


def update_each(table: Table, updates: Sequence[Update]) -> None:
    """Apply updates of distinct items, and skip those whose condition does not hold."""
    for start in range(0, len(updates), MAX_TRANSACTION_WRITES):
        some = updates[start : start + MAX_TRANSACTION_WRITES]
        try:
            table.transact(some)
        except ConditionFailedError:
            for update in some:
                with suppress(ConditionFailedError):
                    table.update(update.key, update.change, when=update.when)


def vectors_in(item: Item, prefix: str) -> dict[str, PackedVector]:
    """Return an item's vectors by embedding, from the attributes with this prefix."""
    return {
        name[len(prefix) :]: value
        for name, value in item.items()
        if name.startswith(prefix) and isinstance(value, bytes)
    }


def _vector(vectors: Mapping[str, PackedVector], emb_id: str) -> Vector | None:
    vector = vectors.get(emb_id)
    return None if vector is None else unpacked(vector, dimension_of(emb_id))


def _place_in(text: str, subject: str) -> Value:
    """Return where the subject begins and ends in the text, or the subject if it is not there."""
    start = text.find(subject)
    return subject if start < 0 else [start, start + len(subject)]


def _subject_in(text: str, value: Value) -> str | None:
    if not isinstance(value, list):
        return None if value is None else str(value)
    start, end = value
    assert isinstance(start, int)
    assert isinstance(end, int)
    return text[start:end]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]

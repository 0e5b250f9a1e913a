"""Vectors as items: what an index is made from, and made again from without a model or a key."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from nacre.being.memory.model import keys
from nacre.being.memory.text.searchable_text import Entry
from nacre.core.errors import ConditionFailedError
from nacre.core.limits import MAX_TRANSACTION_WRITES
from nacre.ports.embedder import Vector
from nacre.ports.items.paging import every_item
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Item, Key, Range, Table, Update
from nacre.ports.vectors import Kind, Point, is_day
from nacre.text.analysis import terms

VECTOR = ItemSchema("vector", 1)
VECTOR_OF = "vec:"  # before the embedding's id: the attribute that holds its vector
SUBJECT_OF = "sub:"  # the same for the vector of the subject
CLUSTER = "C#"
"""What stands before a cluster's id where the vectors are."""

_POINT = "P#"
_PAGE = 200
# Of how `terms` cuts texts: raised when it changes, so that every point is out of date.
_ANALYSIS = 1


@dataclass(frozen=True, slots=True)
class VectorItem:
    """A memory's text with what searches filter by, and its vector in one or two embeddings."""

    id: str
    kind: Kind
    text: str
    text_sha: str
    state: str
    cluster_id: str | None
    days: tuple[str, ...]
    vectors: Mapping[str, Vector] = field(default_factory=dict)
    subject: str | None = None
    subjects: Mapping[str, Vector] = field(default_factory=dict)

    def lacks(self, emb_id: str) -> bool:
        """Whether a vector of this embedding is missing."""
        return emb_id not in self.vectors or (
            self.subject is not None and emb_id not in self.subjects
        )

    def subject_vector(self, emb_id: str) -> Vector | None:
        """Return the vector of the subject; of the text where no subject is known."""
        return (self.vectors if self.subject is None else self.subjects).get(emb_id)

    def to_item(self, being_id: str) -> Item:
        """Return the item that holds it."""
        key = point_key(being_id, self.id)
        item: Item = {
            "pk": key.pk,
            "sk": key.sk,
            "kind": self.kind,
            "text": self.text,
            "text_sha": self.text_sha,
            "state": self.state,
            "days": list(self.days),
        }
        if self.cluster_id is not None:
            item["cluster_id"] = self.cluster_id
        if self.subject is not None:
            item["subject"] = self.subject
        item |= {SUBJECT_OF + emb_id: vector for emb_id, vector in self.subjects.items()}
        item |= {VECTOR_OF + emb_id: vector for emb_id, vector in self.vectors.items()}
        return VECTOR.stamp(item)

    def point(self, emb_id: str) -> Point:
        """Return the point that an index of this embedding should hold."""
        return Point(
            id=self.id,
            kind=self.kind,
            state=self.state,
            cluster_id=self.cluster_id,
            days=self.days,
            vector=self.vectors.get(emb_id),
            terms=terms(self.text),
            text_sha=self.digest(emb_id),
        )

    def digest(self, emb_id: str) -> str:
        """Return what tells this point of an embedding from what it was before."""
        says = json.dumps(
            [_ANALYSIS, self.kind, self.text_sha, self.state, self.cluster_id, self.days]
        )
        return _digest(says.encode() + self.vectors.get(emb_id, b""))


def vector_item(entry: Entry, known: VectorItem | None) -> VectorItem:
    """Return what an entry is stored as, with the vectors that its text is known to have."""
    text_sha = _digest(entry.text.encode())
    return VectorItem(
        id=entry.id,
        kind=entry.kind,
        text=entry.text,
        text_sha=text_sha,
        state=entry.state,
        cluster_id=entry.cluster_id,
        days=tuple(day for day in entry.days if is_day(day)),
        vectors=known.vectors if known is not None and known.text_sha == text_sha else {},
        subject=entry.subject,
        subjects=known.subjects if known is not None and known.subject == entry.subject else {},
    )


def from_item(item: Item) -> VectorItem:
    """Return what an item holds."""
    item = VECTOR.read(item)
    cluster_id, days, subject = item.get("cluster_id"), item["days"], item.get("subject")
    assert isinstance(days, list)
    return VectorItem(
        id=str(item["sk"])[len(_POINT) :],
        kind="node" if item["kind"] == "node" else "scene",
        text=str(item["text"]),
        text_sha=str(item["text_sha"]),
        state=str(item["state"]),
        cluster_id=None if cluster_id is None else str(cluster_id),
        days=tuple(map(str, days)),
        vectors=_named(item, VECTOR_OF),
        subject=None if subject is None else str(subject),
        subjects=_named(item, SUBJECT_OF),
    )


def vectors(being_id: str) -> str:
    """Return the partition of vectors."""
    return f"{keys.home(being_id)}#V"


def point_key(being_id: str, id_: str) -> Key:
    """Return where the vector of a scene or a node is."""
    return Key(vectors(being_id), _POINT + id_)


def pages(
    table: Table, being_id: str, *, after: str | None = None, size: int = _PAGE
) -> Iterator[list[VectorItem]]:
    """Give all of a Being's points in the order of their ids, from behind one of them."""
    low = _POINT if after is None else _POINT + after
    start = None
    while True:
        page = table.query(
            vectors(being_id), keys=Range(low=low, high="P$"), limit=size, start=start
        )
        found = [from_item(item) for item in page.items]
        if after is not None and found and found[0].id == after:
            del found[0]
        if found:
            yield found
        if (start := page.next) is None:
            return


def cluster_ids(table: Table, being_id: str) -> Iterator[str]:
    """Give the clusters that have a vector."""
    keys = Range(prefix=CLUSTER)
    for item in every_item(table, vectors(being_id), keys=keys, at_once=_PAGE):
        yield str(item["sk"])[len(CLUSTER) :]


def update_each(table: Table, updates: Sequence[Update]) -> None:
    """Apply updates of distinct items; one whose condition does not hold is left out."""
    for start in range(0, len(updates), MAX_TRANSACTION_WRITES):
        some = updates[start : start + MAX_TRANSACTION_WRITES]
        try:
            table.transact(some)
        except ConditionFailedError:
            for each in some:
                with suppress(ConditionFailedError):
                    table.update(each.key, each.change, when=each.when)


def _named(item: Item, prefix: str) -> dict[str, Vector]:
    return {
        name[len(prefix) :]: value
        for name, value in item.items()
        if name.startswith(prefix) and isinstance(value, bytes)
    }


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]

"""The items of the log of recalls: batches of the recalls that one process has answered.

A recall is one attribute of a batch, so a patrol deletes many recalls with one item. Appending
changes `last` to a name that no other recall has. So a batch that still has the same `last` has no
recall that its reader did not see.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from functools import cached_property

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import moment
from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import ConditionFailedError, UnavailableError
from nacre.core.ids import ulid_milliseconds
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import RECALL_BATCH_BYTES, RECALL_BATCH_SECONDS
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    Absent,
    Change,
    Compare,
    Condition,
    Every,
    Item,
    Key,
    Present,
    Table,
    Value,
)

_RECALL = "r:"  # prefix of the attribute with the recalls of one read, by its ULID
_LAST = "last"  # the name of the recall that was appended last
_COUNT_OF = "n:"  # of a node, in items of version 1
_ITEM_BYTES = 120  # of a batch without recalls
_RECALL_BYTES, _COUNT_BYTES = 32, 3  # of a recall without its nodes, and of a node beside its id
_REMEMBERED = 1000  # Beings with a batch that a process appends to


def _from_single(item: Item) -> Item:
    """Return the batch of an item that had the recalls of one read."""
    counts: dict[str, Value] = {}
    batch: Item = {}
    for name, value in item.items():
        if name.startswith(_COUNT_OF):
            counts[name[len(_COUNT_OF) :]] = value
        else:
            batch[name] = value
    return {**batch, _RECALL + Key.of(item).sk: counts}


RECALLS = ItemSchema("recalls", 2, {1: _from_single})


@dataclass(frozen=True, slots=True)
class Recalls:
    """The recalls of one read: how often each node counts. Its name is a ULID."""

    name: str
    times: Mapping[str, int]

    @property
    def at(self) -> str:
        """Return when the memories were read."""
        return moment(datetime.fromtimestamp((ulid_milliseconds(self.name) or 0) / 1000, UTC))


@dataclass(frozen=True)
class RecallBatch:
    """Recalls that wait in one item, the oldest first."""

    key: Key
    recalls: tuple[Recalls, ...]
    last: str | None  # None in an item of version 1, to which nothing is appended

    @classmethod
    def from_item(cls, item: Item) -> "RecallBatch":
        """Return the batch in an item."""
        item = RECALLS.read(item)
        recalls = [
            Recalls(name[len(_RECALL) :], _times(value))
            for name, value in item.items()
            if name.startswith(_RECALL)
        ]
        last = item.get(_LAST)
        in_order = tuple(sorted(recalls, key=lambda recall: recall.name))
        return cls(Key.of(item), in_order, None if last is None else str(last))

    @cached_property
    def node_ids(self) -> frozenset[str]:
        """The ids of all nodes with a recall in this batch."""
        return frozenset(node_id for recall in self.recalls for node_id in recall.times)

    @property
    def is_unchanged(self) -> Condition:
        """Return the condition that nothing was appended since, and that no patrol counted it."""
        if self.last is None:
            return Every((Present(), Absent(_LAST)))
        return Compare(_LAST, "=", self.last)

    def without(self, node_ids: Collection[str]) -> Item:
        """Return the item of this batch without the recalls of these nodes."""
        item: Item = {**self.key.attributes(), _LAST: self.last or self.key.sk}
        for recall in self.recalls:
            times = {id_: count for id_, count in recall.times.items() if id_ not in node_ids}
            item[_RECALL + recall.name] = _value(times)
        return RECALLS.stamp(item)


@dataclass(frozen=True, slots=True)
class Appended:
    """The batch of a recall, and whether the log is known to be announced."""

    key: Key
    is_announced: bool


@dataclass(frozen=True, slots=True)
class _OpenBatch:
    key: Key
    began: datetime
    size: int
    announced: str | None = None  # a recall in it, after which the announcement was seen


class OpenBatches:
    """Appends recalls to batches of this process, each as one small write."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._open: BoundedCache[str, _OpenBatch] = BoundedCache(_REMEMBERED)

    def append(self, being_id: str, name: str, times: Mapping[str, int], now: datetime) -> Appended:
        """Append the recalls of one read, under a name that no other has."""
        batch = self._open.get(being_id)
        if batch is None or not _has_room(batch, times, now):
            batch = _OpenBatch(Key(keys.recalls(being_id), name), now, 0)
            item = RECALLS.stamp({**batch.key.attributes(), **_attributes(name, times)})
            self._table.put(item)
        else:
            item = self._appended(batch.key, name, times)
        # A patrol that counts deletes the announcement first, and then whole batches. So while a
        # recall from before the announcement was seen still waits, that patrol counts this one too.
        is_announced = batch.announced is not None and _RECALL + batch.announced in item
        self._open[being_id] = replace(
            batch,
            size=_size(RecallBatch.from_item(item)),
            announced=batch.announced if is_announced else None,
        )
        return Appended(batch.key, is_announced)

    def announced(self, being_id: str, name: str) -> None:
        """Remember that the announcement was seen after this recall was appended."""
        batch = self._open.get(being_id)
        if batch is not None:
            self._open[being_id] = replace(batch, announced=name)

    def close(self, being_id: str) -> None:
        """Append no more to the batch of this Being."""
        self._open.pop(being_id, None)

    def _appended(self, key: Key, name: str, times: Mapping[str, int]) -> Item:
        """Append to a batch, or begin it again if a patrol has just counted it."""
        change = Change(set=RECALLS.stamp(_attributes(name, times)))
        is_new = Absent(_RECALL + name)
        try:
            return self._table.update(key, change, when=is_new)
        except UnavailableError:  # perhaps it was done
            try:
                return self._table.update(key, change, when=is_new)
            except ConditionFailedError:
                return self._table.get(key) or {**key.attributes(), **change.set}


def _has_room(batch: _OpenBatch, times: Mapping[str, int], now: datetime) -> bool:
    age = (now - batch.began).total_seconds()
    fits = batch.size + _recall_size(times) <= RECALL_BATCH_BYTES
    return fits and 0 <= age < RECALL_BATCH_SECONDS


def _size(batch: RecallBatch) -> int:
    return _ITEM_BYTES + sum(_recall_size(recall.times) for recall in batch.recalls)


def _recall_size(times: Mapping[str, int]) -> int:
    return _RECALL_BYTES + sum(len(node_id.encode()) + _COUNT_BYTES for node_id in times)


def _attributes(name: str, times: Mapping[str, int]) -> Item:
    return {_RECALL + name: _value(times), _LAST: name}


def _value(times: Mapping[str, int]) -> Value:
    return dict(times)


def _times(value: Value) -> dict[str, int]:
    assert isinstance(value, dict)
    return {node_id: count for node_id, count in value.items() if isinstance(count, int)}

"""Records as writes: what stores each where there is none of its key, and what it counts."""

from dataclasses import replace
from typing import Any

from nacre.being.memory.index.cluster_vectors import CLUSTER_VECTOR
from nacre.being.memory.index.vector_items import VECTOR_OF
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_SCENES, UNREAD, Cap
from nacre.being.memory.model.records import attributes_of
from nacre.being.memory.model.types import UNDONE, Cluster, Message, Node, Scene
from nacre.being.memory.store.entries import Entry, entry_writes
from nacre.being.memory.store.event_nodes import noted
from nacre.being.memory.store.relations import CAPS as RELATION_CAPS
from nacre.being.memory.store.relations import COUNTER as RELATIONS
from nacre.being.memory.text.searchable_text import Entry as Searched
from nacre.being.memory.text.searchable_text import searchable
from nacre.being.memory.transfer.exporter import cluster_place
from nacre.being.memory.transfer.portable_records import KINDS, Kind, Record, Vectors, plain_item
from nacre.ports.items.table import EXPIRES_AT, Absent, Item, Key, Put, Write


def place_of(home: str, record: Record) -> Key:
    """Return where the record is, in the partitions that begin with this."""
    kind = KINDS[record.kind]
    if record.kind == "message":
        return Key(f"{home}#H#{str(record.value['ts'])[:7]}", record.key)
    return Key(home + kind.partition, kind.prefix + record.key)


def writes_of(being_id: str, record: Record) -> list[Write]:
    """Return what stores the record where there is none of its key; the first is the record."""
    kind = KINDS[record.kind]
    if kind.shape is None:
        return [Put(plain_item(kind, record, keys.home(being_id)), Absent())]
    told = record.told()
    if isinstance(told, Entry) and kind.target is not None and not kind.is_version:
        return entry_writes(being_id, kind.target, told, None)
    if isinstance(told, Cluster):
        return _cluster_writes(being_id, told, record.vectors)
    writes: list[Write] = [Put(_item(being_id, record, told), Absent())]
    return [*writes, *noted(being_id, told)] if isinstance(told, Node) else writes


def _item(being_id: str, record: Record, told: Any) -> Item:
    if isinstance(told, Scene | Node | Message):
        return told.to_item(being_id)
    place = place_of(keys.home(being_id), record)
    schema = KINDS[record.kind].schema
    assert schema is not None
    item: Item = {"pk": place.pk, "sk": place.sk, **attributes_of(told)}
    if EXPIRES_AT in record.value:
        item[EXPIRES_AT] = record.value[EXPIRES_AT]
    return schema.stamp(item)


def _cluster_writes(being_id: str, cluster: Cluster, brought: Vectors | None) -> list[Write]:
    """Return what stores a cluster; one that comes without its vector waits for a patrol."""
    if brought is None:
        cluster = replace(cluster, dirty=cluster.state == "active")
        return [Put(cluster.to_item(being_id), Absent())]
    place = cluster_place(being_id, cluster.cluster_id)
    item: Item = {
        "pk": place.pk,
        "sk": place.sk,
        "count": cluster.n_active,
        **{VECTOR_OF + emb_id: vector for emb_id, vector in brought.of.items()},
    }
    return [Put(cluster.to_item(being_id), Absent()), Put(CLUSTER_VECTOR.stamp(item))]


def searched_in(record: Record) -> Searched | None:
    """Return what searches see of it: scenes that wait, and memories that were not merged."""
    if not KINDS[record.kind].is_searched:
        return None
    told = record.told()
    if isinstance(told, Scene):
        return searchable(told) if told.status == "pending" else None
    assert isinstance(told, Node)
    return None if told.status == "merged" or told.reason == UNDONE else searchable(told)


def counts_of(record: Record) -> dict[str, int]:
    """Return what the record adds to the Being's counters."""
    kind = KINDS[record.kind]
    if record.kind == "scene":
        return {PENDING_SCENES: 1} if record.value.get("status") == "pending" else {}
    if record.kind == "letter_received":
        return {} if record.value.get("is_read") else {UNREAD: 1}
    cap = None if kind.is_version else cap_of(kind)
    return {} if cap is None else {cap[0]: 1}


def cap_of(kind: Kind) -> tuple[str, Cap] | None:
    """Return the counter of a kind and how far it may go."""
    if kind.name == "relation":
        return RELATIONS, RELATION_CAPS[RELATIONS]
    if kind.target is None or kind.is_version or kind.target.most is None:
        return None
    return kind.target.counter, kind.target.caps[kind.target.counter]

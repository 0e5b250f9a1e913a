"""Records as writes that store them if they do not exist, and as changes of counters."""

from nacre.being.memory.index.cluster_vectors import MEAN_OF, cluster_item, packed_mean
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_SCENES, UNREAD, Cap
from nacre.being.memory.model.records import attributes_of
from nacre.being.memory.model.types import (
    CapturedIdentity,
    Cluster,
    Conversation,
    Message,
    Node,
    Scene,
    StoredRecord,
)
from nacre.being.memory.store.entry_items import Entry, entry_writes
from nacre.being.memory.store.event_nodes import event_note_writes
from nacre.being.memory.store.evidence import IN_ITEM, MOST, node_writes
from nacre.being.memory.store.relations import CAPS as RELATION_CAPS
from nacre.being.memory.store.relations import COUNTER as RELATIONS
from nacre.being.memory.text.searchable_text import IndexEntry, searchable
from nacre.being.memory.transfer.portable_records import KINDS, Kind, Record, Vectors, plain_item
from nacre.core.lazy_dataclasses import replace
from nacre.ports.items.table import EXPIRES_AT, Absent, Item, Key, Put, Write


def place_of(home: str, record: Record) -> Key:
    """Return the key of a record under this home partition."""
    kind = KINDS[record.kind]
    if record.kind == "message":
        return Key(f"{home}#H#{str(record.value['ts'])[:7]}", record.key)
    return Key(home + kind.partition, kind.prefix + record.key)


def writes_of(being_id: str, record: Record) -> list[Write]:
    """Return the writes that store a record if it does not exist; the first is its own."""
    kind = KINDS[record.kind]
    if kind.shape is None:
        return [Put(plain_item(kind, record, keys.home(being_id)), Absent())]
    stored = record.to_object()
    if isinstance(stored, Entry) and kind.target is not None and not kind.is_version:
        return entry_writes(being_id, kind.target, stored, None)
    if isinstance(stored, Cluster):
        return _cluster_writes(being_id, stored, record.vectors)
    if isinstance(stored, Node):
        notes = event_note_writes(being_id, stored)
        return [*node_writes(being_id, stored, when=Absent()), *notes]
    return [Put(_item(being_id, record, stored), Absent())]


def further_items(record: Record) -> int:
    """Return how many items beside its own the scenes of a node take, or one more."""
    scenes = record.value.get("evidence") if record.kind == "node" else None
    count = len(scenes) if isinstance(scenes, list) else 0
    return count // IN_ITEM + 1 if count > MOST else 0


def _item(being_id: str, record: Record, stored: StoredRecord) -> Item:
    if isinstance(stored, Scene | Message | Conversation | CapturedIdentity):
        return stored.to_item(being_id)
    item: Item = {**place_of(keys.home(being_id), record).attributes(), **attributes_of(stored)}
    if EXPIRES_AT in record.value:
        item[EXPIRES_AT] = record.value[EXPIRES_AT]
    return stored.schema.stamp(item)


def _cluster_writes(being_id: str, cluster: Cluster, vectors: Vectors | None) -> list[Write]:
    """Return the writes of a cluster; one without its vector waits for a patrol."""
    if vectors is None:
        cluster = replace(cluster, dirty=cluster.state == "active")
        return [Put(cluster.to_item(being_id), Absent())]
    named: Item = {
        MEAN_OF + emb_id: packed_mean(vector, emb_id) for emb_id, vector in vectors.of.items()
    }
    item = cluster_item(being_id, cluster.cluster_id, cluster.n_active, named)
    return [Put(cluster.to_item(being_id), Absent()), Put(item)]


def searched_in(record: Record) -> IndexEntry | None:
    """Return the index entry of a record: of pending scenes, and of nodes that were not merged."""
    if not KINDS[record.kind].is_searched:
        return None
    stored = record.to_object()
    if isinstance(stored, Scene):
        return searchable(stored) if stored.status == "pending" else None
    assert isinstance(stored, Node)
    return searchable(stored) if stored.is_indexed else None


def counts_of(record: Record) -> dict[str, int]:
    """Return the counters that the record adds to."""
    kind = KINDS[record.kind]
    if record.kind == "scene":
        return {PENDING_SCENES: 1} if record.value.get("status") == "pending" else {}
    if record.kind == "letter_received":
        return {} if record.value.get("is_read") else {UNREAD: 1}
    cap = None if kind.is_version else cap_of(kind)
    return {} if cap is None else {cap[0]: 1}


def cap_of(kind: Kind) -> tuple[str, Cap] | None:
    """Return the counter of a kind with its cap, if it has one."""
    if kind.name == "relation":
        return RELATIONS, RELATION_CAPS[RELATIONS]
    if kind.target is None or kind.is_version or kind.target.most is None:
        return None
    return kind.target.counter, kind.target.caps[kind.target.counter]

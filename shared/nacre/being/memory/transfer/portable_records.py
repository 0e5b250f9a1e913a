"""Portable records: the data of a Being in a form that depends on no store and no Being.

A record has a kind, a key that is unique in its kind, and a value with the fields of the kind's
dataclass. Counters are not exported; the import counts again. Derived data (vectors, marks of
the index, leases) and secrets stay behind.

Ids of memories stay the same. The id of a marker is made from the Being's id, so that a client
that sends its history again is recognised; the import maps it.
"""

import hashlib
import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping
from typing import Any, cast

from nacre.access.beings import ORDER_NAME
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import KEEPS_QUESTIONS, KEPT_QUESTIONS
from nacre.being.memory.model.fields import name_key
from nacre.being.memory.model.lineage import class_of, origins_of, tellings_of
from nacre.being.memory.model.message_chain import marker_id_of
from nacre.being.memory.model.records import attributes_of, record_of
from nacre.being.memory.model.types import (
    CapturedIdentity,
    Cluster,
    Conversation,
    Marker,
    Message,
    Node,
    Relation,
    Scene,
    StoredRecord,
    least_trusted,
)
from nacre.being.memory.model.wordings import earlier_versions, wordings_of
from nacre.being.memory.store.entry_items import Entry
from nacre.being.memory.store.letters import Letter
from nacre.being.memory.store.targets import TARGETS, Target
from nacre.being.memory.transfer.record_shape import checked_record
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass, field, replace
from nacre.core.names import checked_order_name
from nacre.core.origins import origins_in, union
from nacre.ports.items.table import EXPIRES_AT, Item, Value
from nacre.ports.vectors.embedder import Vector

FORMAT = 1
"""The version of the format. Newer ones are refused, older ones are always read."""

_IDENTITY = frozenset({"being_id", "name", "owner", "created"})
# Attributes of a Being's item that belong to one store, or that are counted again.
_LOCAL = frozenset(
    {"pk", "sk", "schema", EXPIRES_AT, "queued_at", "repair_queued_at", "pending_scenes", "unread"}
) | {
    "pending_messages",
    "run_seq",
    "open_run",
    "work_seq",
    KEEPS_QUESTIONS,
    KEPT_QUESTIONS,
}
_BYTES = "$bytes"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of record, and where its items are stored."""

    name: str
    shape: type[StoredRecord] | None  # None: the attributes of the item unchanged
    partition: str  # after the Being's home partition; `H#` is followed by each month
    prefix: str = ""
    id_field: str | None = None  # the field that equals the key
    target: Target | None = None
    is_version: bool = False

    @property
    def is_searched(self) -> bool:
        """Return whether searches find records of this kind."""
        return self.name in ("scene", "node")


def _kinds() -> Iterator[Kind]:
    yield Kind("being", None, "", keys.META)
    for target in reversed(TARGETS.values()):
        yield Kind(target.name, Entry, "", target.prefix, "key", target)
        if target.versions is not None:
            yield Kind(f"{target.name}_version", Entry, "", target.versions, None, target, True)
    yield Kind("relation", Relation, "", keys.RELATION)
    yield Kind("letter_received", Letter, "", keys.RECEIVED, "letter_id")
    yield Kind("letter_sent", Letter, "", keys.SENT, "letter_id")
    yield Kind("scene", Scene, "#S", "", "scene_id")
    yield Kind("node", Node, "#N", "", "node_id")
    yield Kind("cluster", Cluster, "#C", "", "cluster_id")
    yield Kind("message", Message, "#H#")
    yield Kind("marker", Marker, "#M", keys.MARKER, "marker_id")
    yield Kind("conversation", Conversation, "#I#C", "", "conversation_id")
    yield Kind("captured_identity", CapturedIdentity, "#I", "", "identity")
    yield Kind("patrol_run", None, "#R")


KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _kinds()}
"""Every kind, in the order of an export."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a memory by embedding, and a digest of the text that they were made from.

    `subjects` are the vectors of the action alone, without days and actors.
    """

    text_sha: str
    of: Mapping[str, Vector]
    subjects: Mapping[str, Vector] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a Being."""

    kind: str
    key: str
    value: Mapping[str, Value]
    vectors: Vectors | None = field(default=None, compare=False)

    def to_object(self) -> Any:
        """Return the value as its dataclass, without checking it."""
        shape = KINDS[self.kind].shape
        assert shape is not None
        return record_of(shape, dict(self.value))


def record_in(kind: Kind, item: Item) -> Record:
    """Return the record in an item; the exporter adds a text that is stored apart."""
    key = str(item["sk"])[len(kind.prefix) :]
    if kind.shape is None:
        return Record(kind.name, key, _plain(kind, item))
    value = attributes_of(kind.shape.from_item(item))
    if EXPIRES_AT in item:
        value[EXPIRES_AT] = item[EXPIRES_AT]
    return Record(kind.name, key, value)


def _plain(kind: Kind, item: Item) -> dict[str, Value]:
    if kind.name == "being":
        return {name: value for name, value in item.items() if _is_exported(name)}
    home = str(item["pk"])[: -len(kind.partition)]
    return {name: _rebased(value, home, "B#") for name, value in item.items() if name not in _PLACE}


def _is_exported(name: str) -> bool:
    """Return whether an attribute of the Being's item is exported."""
    return name not in _IDENTITY | _LOCAL and not name.startswith(("gsi", "n_"))


_PLACE = frozenset({"pk", "sk"})


def _rebased(value: Value, home: str, target: str) -> Value:
    """Return an attribute with the home partition replaced, as in keys of indexes."""
    if isinstance(value, str) and value.startswith(home) and value[len(home) :][:1] in ("", "#"):
        return target + value[len(home) :]
    return value


def plain_item(kind: Kind, record: Record, home: str) -> Item:
    """Return the item of a record whose kind has no dataclass."""
    values = {name: _rebased(value, "B#", home) for name, value in record.value.items()}
    return {**values, "pk": home + kind.partition, "sk": kind.prefix + record.key}


def for_being(record: Record, source_id: str, target_id: str) -> Record:
    """Return the record for another Being."""
    if record.kind != "marker" or source_id == target_id:
        return record
    derived = _derived_marker(record, source_id)
    if not derived:
        return record
    new = marker_id_of(target_id, derived)
    return replace(record, key=new, value={**record.value, "marker_id": new})


def _derived_marker(record: Record, being_id: str) -> str | None:
    """Return the hash that the id of a marker is made from, if it is the Being's own."""
    tail = record.value.get("tail")
    last = tail[-1] if isinstance(tail, list) and tail else None
    if isinstance(last, str) and marker_id_of(being_id, last) == record.key:
        return last
    return None


class StateHash:
    """The hash of all records of a Being, in any order.

    It is made from the sum modulo 2**256 of the SHA-256 of each record as canonical JSON. It
    tells states apart; it is not a signature.
    """

    def __init__(self, being_id: str) -> None:
        self._being_id = being_id
        self._sum = 0
        self._count = 0

    def add(self, record: Record) -> None:
        """Add a record."""
        value, key = {**record.value}, record.key
        if record.kind == "marker" and _derived_marker(record, self._being_id):
            key, value = "", {**value, "marker_id": None}
        digest = hashlib.sha256(
            _canonical([record.kind, key, _lasting(record.kind, value)])
        ).digest()
        self._sum = (self._sum + int.from_bytes(digest)) % (1 << 256)
        self._count += 1

    def hexdigest(self) -> str:
        """Return the hash of the records added so far."""
        return hashlib.sha256(f"{FORMAT}:{self._count}:{self._sum:064x}".encode()).hexdigest()


def _lasting(kind: str, value: Mapping[str, Value]) -> Any:
    """Return the value without fields that only request work on derived data."""
    ignored = "dirty" if kind == "cluster" else None
    return packed({name: attribute for name, attribute in value.items() if name != ignored})


def is_same(first: Record, second: Record) -> bool:
    """Return whether two records have the same key and the same lasting value."""
    values = (_canonical(_lasting(record.kind, record.value)) for record in (first, second))
    return first.key == second.key and next(values) == next(values)


def encode(record: Record) -> bytes:
    """Return the record as a line of JSON."""
    line: dict[str, Any] = {
        "type": record.kind,
        "key": record.key,
        "value": packed(dict(record.value)),
    }
    if record.vectors is not None:
        line["vectors"] = {
            "text_sha": record.vectors.text_sha,
            "of": _encoded(record.vectors.of),
            **({"subjects": _encoded(subjects)} if (subjects := record.vectors.subjects) else {}),
        }
    return _canonical(line) + b"\n"


def decode(line: Mapping[str, Any], where: str) -> Record:
    """Return the record in a line; raises InvalidInputError that names `where` and the reason."""
    kind, key, value = KINDS.get(str(line.get("type"))), line.get("key"), line.get("value")
    if kind is None:
        raise InvalidInputError(f"{where}: unknown type {str(line.get('type'))[:40]!r}")
    if not isinstance(key, str) or not isinstance(value, dict):
        raise InvalidInputError(f"{where}: a {kind.name} has a text 'key' and an object 'value'")
    try:
        unpacked = _unpacked(value)
    except ValueError:
        raise InvalidInputError(f"{where}: bytes that are not in base 64") from None
    record = Record(kind.name, key, unpacked, _vectors(line.get("vectors"), where))
    _check(kind, record, where)
    return record


def _check(kind: Kind, record: Record, where: str) -> None:
    try:
        _canonical([record.key, packed(dict(record.value))])
    except UnicodeEncodeError:
        raise InvalidInputError(f"{where}: it holds a lone surrogate, which is not text") from None
    if len(record.key.encode()) > _LONGEST_KEY:
        raise InvalidInputError(f"{where}: the key has more than {_LONGEST_KEY} bytes")
    if kind.name == "being":
        if record.key or not all(map(_is_exported, record.value)):
            raise InvalidInputError(f"{where}: a being carries neither a key nor an identity")
        _check_order_name(record.value.get(ORDER_NAME), where)
        return
    if not record.key:
        raise InvalidInputError(f"{where}: a {kind.name} needs a key")
    if kind.shape is None:
        _check_plain(record.value, where)
        return
    extra = frozenset({EXPIRES_AT}) if kind.name.startswith(("letter", "marker")) else frozenset()
    checked_record(kind.shape, record.value, where, also=extra)
    _check_lineage(record, record.to_object(), where)
    if kind.name == "node":
        if not record.value.keys().isdisjoint(("earlier", "newest_earlier")):
            raise InvalidInputError(f"{where}: a node lists all of its scenes in 'evidence'")
        _check_wordings(record, where)
    if _key_of(kind, record) != record.key:
        raise InvalidInputError(f"{where}: the key of this {kind.name} is not that of its value")


def _check_lineage(record: Record, stored: Any, where: str) -> None:
    """Refuse origins that cannot be read, and a trust class above that of the origins.

    `stored` is the record, or a node as it was before a correction.
    """
    if record.value.keys().isdisjoint(("origins", "tellings", "wordings")):
        return
    if not hasattr(stored, "origins"):
        return
    try:
        origins = origins_in(stored.origins)
        tellings = tellings_of(stored) if isinstance(stored, Node) else ()
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}") from None
    if isinstance(stored, Scene | Node):
        origins = origins_of(stored)
        if least_trusted([stored.trust, class_of(origins)]) != stored.trust:
            raise InvalidInputError(f"{where}: its trust is above that of its origins")
    if not union(tellings) <= origins:
        raise InvalidInputError(f"{where}: 'tellings' names an origin that 'origins' does not")


def _check_wordings(record: Record, where: str) -> None:
    """Refuse earlier wordings that do not fit the fields of a node."""
    try:
        for wording in wordings_of(record.to_object()):
            before = {name: value for name, value in wording.fields.items() if value is not None}
            checked_record(Node, {**record.value, **_listed(before)}, where)
        for version in earlier_versions(record.to_object()):
            _check_lineage(record, version, where)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InvalidInputError(f"{where}: its earlier wordings cannot be read") from None


def _listed(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()
    }


def _check_order_name(name: Value, where: str) -> None:
    """Refuse a name that no owner could have set, because clients see it as a tool name."""
    try:
        is_valid = name is None or (isinstance(name, str) and checked_order_name(name) == name)
    except InvalidInputError:
        is_valid = False
    if not is_valid:
        raise InvalidInputError(f"{where}: '{ORDER_NAME}' is not a valid name for orders")


def _check_plain(value: Mapping[str, Value], where: str) -> None:
    """Refuse keys of indexes that belong to another Being."""
    if not isinstance(value.get("schema"), int):
        raise InvalidInputError(f"{where}: 'schema' must be a whole number")
    for name, attribute in value.items():
        if name in _PLACE or (
            name.startswith("gsi")
            and name.endswith("pk")
            and not (isinstance(attribute, str) and attribute.startswith(("B##", "RUN#")))
        ):
            raise InvalidInputError(f"{where}: {name[:40]!r} names a place that is not its own")


_LONGEST_KEY = 1000  # with its prefix it is a sort key, of at most 1024 bytes


def _key_of(kind: Kind, record: Record) -> str:
    value = cast("Mapping[str, Any]", record.value)
    if kind.id_field is not None:
        return str(value[kind.id_field])
    if kind.name == "relation":
        return name_key(value["entity"])
    if kind.name == "message":
        return f"{value['ts']}#{value['message_id']}"
    return f"{value['key']}#{value['version']:08}"


def _encoded(vectors: Mapping[str, Vector]) -> dict[str, str]:
    return {name: b64encode(vector).decode() for name, vector in vectors.items()}


def _decoded(texts: Mapping[str, str]) -> dict[str, Vector]:
    return {str(name): b64decode(text, validate=True) for name, text in texts.items()}


def _vectors(fields: object, where: str) -> Vectors | None:
    if fields is None:
        return None
    try:
        assert isinstance(fields, dict)
        of, subjects = _decoded(fields["of"]), _decoded(fields.get("subjects", {}))
        return Vectors(str(fields["text_sha"]), of, subjects)
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError, Base64Error):
        raise InvalidInputError(f"{where}: its vectors cannot be read") from None


def packed(value: Any) -> Any:
    """Return a value for JSON, with bytes in base 64."""
    if isinstance(value, bytes):
        return {_BYTES: b64encode(value).decode()}
    if isinstance(value, list | tuple):
        return [packed(entry) for entry in value]
    if isinstance(value, dict):
        return {name: packed(attribute) for name, attribute in value.items()}
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(entry) for entry in value]
    if isinstance(value, dict):
        if value.keys() == {_BYTES} and isinstance(value[_BYTES], str):
            return b64decode(value[_BYTES], validate=True)
        return {name: _unpacked(attribute) for name, attribute in value.items()}
    return value


def _canonical(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode()

"""What a moved memory is made of: typed records, which no store and no Being's id shapes.

A record is a kind, a key and a value. The key says which one of its kind it is; the value
has the fields of the kind's dataclass. Counters of the Being follow from its records and
are counted anew where they arrive, so a record names none. What is derived (vectors, marks of
the index, leases) or secret stays behind.

Ids of memories are kept, wherever they go. The id of a marker follows from the Being's, so
that a client which sends its history again is recognised; it is mapped on arrival.
"""

import hashlib
import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from nacre.access.beings import ORDER_NAME
from nacre.being.memory.model import keys
from nacre.being.memory.model.fields import name_key
from nacre.being.memory.model.message_chain import marker_id_of
from nacre.being.memory.model.records import attributes_of, record_of
from nacre.being.memory.model.types import (
    CLUSTER,
    MARKER,
    MESSAGE,
    NODE,
    RELATION,
    SCENE,
    Cluster,
    Marker,
    Message,
    Node,
    Relation,
    Scene,
)
from nacre.being.memory.store.entries import ENTRY, Entry
from nacre.being.memory.store.letters import LETTER, Letter
from nacre.being.memory.store.targets import TARGETS, Target
from nacre.being.memory.transfer.record_shape import checked_record
from nacre.core.errors import InvalidInputError
from nacre.core.names import checked_order_name
from nacre.ports.embedder import Vector
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import EXPIRES_AT, Item, Value

FORMAT = 1
"""The version of the format. A newer one is refused, an older one is always read."""

_IDENTITY = frozenset({"being_id", "name", "owner", "created"})
# What stands in a Being's item and is true of one store only, or counted from its records.
_LOCAL = frozenset({"pk", "sk", "schema", EXPIRES_AT, "queued_at", "pending_scenes", "unread"}) | {
    "pending_messages",
    "run_seq",
    "open_run",
    "work_seq",
}
_BYTES = "$bytes"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of record and where its items are."""

    name: str
    shape: type | None  # None: the attributes of the item as they are
    schema: ItemSchema | None
    partition: str  # behind the Being's own; `H#` stands for every month
    prefix: str = ""
    id_field: str | None = None  # the field that says the same as the key
    target: Target | None = None
    is_version: bool = False

    @property
    def is_searched(self) -> bool:
        """Whether searches find what it holds."""
        return self.name in ("scene", "node")


def _kinds() -> Iterator[Kind]:
    yield Kind("being", None, None, "", keys.META)
    for target in reversed(TARGETS.values()):
        yield Kind(target.name, Entry, ENTRY, "", target.prefix, "key", target)
        if target.versions is not None:
            yield Kind(
                f"{target.name}_version", Entry, ENTRY, "", target.versions, None, target, True
            )
    yield Kind("relation", Relation, RELATION, "", keys.RELATION)
    yield Kind("letter_received", Letter, LETTER, "", keys.RECEIVED, "letter_id")
    yield Kind("letter_sent", Letter, LETTER, "", keys.SENT, "letter_id")
    yield Kind("scene", Scene, SCENE, "#S", "", "scene_id")
    yield Kind("node", Node, NODE, "#N", "", "node_id")
    yield Kind("cluster", Cluster, CLUSTER, "#C", "", "cluster_id")
    yield Kind("message", Message, MESSAGE, "#H#")
    yield Kind("marker", Marker, MARKER, "#M", keys.MARKER, "marker_id")
    yield Kind("patrol_run", None, None, "#R")


KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _kinds()}
"""Every kind, in the order in which an export has them."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a memory by embedding, and a digest of the text that they were made of.

    `subjects` are those of what happened alone, without its days and actors.
    """

    text_sha: str
    of: Mapping[str, Vector]
    subjects: Mapping[str, Vector] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that a Being keeps."""

    kind: str
    key: str
    value: Mapping[str, Value]
    vectors: Vectors | None = field(default=None, compare=False)

    def told(self) -> Any:
        """Return the dataclass that the value holds, without checking it."""
        shape = KINDS[self.kind].shape
        assert shape is not None
        return record_of(shape, dict(self.value))


def record_in(kind: Kind, item: Item) -> Record:
    """Return the record that an item holds; the text of a long entry is added by the reader."""
    key = str(item["sk"])[len(kind.prefix) :]
    if kind.shape is None or kind.schema is None:
        return Record(kind.name, key, _plain(kind, item))
    value = attributes_of(record_of(kind.shape, kind.schema.read(item)))
    if EXPIRES_AT in item:
        value[EXPIRES_AT] = item[EXPIRES_AT]
    return Record(kind.name, key, value)


def _plain(kind: Kind, item: Item) -> dict[str, Value]:
    if kind.name == "being":
        return {name: value for name, value in item.items() if _is_carried(name)}
    home = str(item["pk"])[: -len(kind.partition)]
    return {name: _moved(value, home, "B#") for name, value in item.items() if name not in _PLACE}


def _is_carried(name: str) -> bool:
    """Whether an attribute of the Being's item is part of what it keeps."""
    return name not in _IDENTITY | _LOCAL and not name.startswith(("gsi", "n_"))


_PLACE = frozenset({"pk", "sk"})


def _moved(value: Value, home: str, other: str) -> Value:
    """Return an attribute with the Being's partition in it replaced, as places in indexes have."""
    if isinstance(value, str) and value.startswith(home) and value[len(home) :][:1] in ("", "#"):
        return other + value[len(home) :]
    return value


def plain_item(kind: Kind, record: Record, home: str) -> Item:
    """Return the item of a record without a shape."""
    values = {name: _moved(value, "B#", home) for name, value in record.value.items()}
    return {**values, "pk": home + kind.partition, "sk": kind.prefix + record.key}


def moved(record: Record, source_id: str, target_id: str) -> Record:
    """Return the record as it is for another Being."""
    if record.kind != "marker" or source_id == target_id:
        return record
    derived = _derived_marker(record, source_id)
    if not derived:
        return record
    new = marker_id_of(target_id, derived)
    return replace(record, key=new, value={**record.value, "marker_id": new})


def _derived_marker(record: Record, being_id: str) -> str | None:
    """Return the hash that a marker's id follows from, if it is the Being's own."""
    tail = record.value.get("tail")
    last = tail[-1] if isinstance(tail, list) and tail else None
    if isinstance(last, str) and marker_id_of(being_id, last) == record.key:
        return last
    return None


class StateHash:
    """The hash of all that a Being keeps, whatever order its records come in.

    Each record has a SHA-256 over its canonical JSON, and their sum modulo 2**256 is what
    counts. It tells two states apart; it is no signature.
    """

    def __init__(self, being_id: str) -> None:
        self._being_id = being_id
        self._sum = 0
        self._count = 0

    def add(self, record: Record) -> None:
        """Take in one more record."""
        value, key = {**record.value}, record.key
        if record.kind == "marker" and _derived_marker(record, self._being_id):
            key, value = "", {**value, "marker_id": None}
        digest = hashlib.sha256(
            _canonical([record.kind, key, _lasting(record.kind, value)])
        ).digest()
        self._sum = (self._sum + int.from_bytes(digest)) % (1 << 256)
        self._count += 1

    def hexdigest(self) -> str:
        """Return the hash of what was taken in so far."""
        return hashlib.sha256(f"{FORMAT}:{self._count}:{self._sum:064x}".encode()).hexdigest()


def _lasting(kind: str, value: Mapping[str, Value]) -> Any:
    """Return the value without what only asks for work on derived data."""
    left_out = "dirty" if kind == "cluster" else None
    return packed({name: each for name, each in value.items() if name != left_out})


def says_the_same(one: Record, other: Record) -> bool:
    """Whether two records keep the same under one key."""
    mine, theirs = (_canonical(_lasting(each.kind, each.value)) for each in (one, other))
    return one.key == other.key and mine == theirs


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
            "of": _written(record.vectors.of),
            **({"subjects": _written(subjects)} if (subjects := record.vectors.subjects) else {}),
        }
    return _canonical(line) + b"\n"


def decode(line: Mapping[str, Any], where: str) -> Record:
    """Return the record in a line; raises InvalidInputError that says where and what is wrong."""
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
        if record.key or not all(map(_is_carried, record.value)):
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
    if _key_of(kind, record) != record.key:
        raise InvalidInputError(f"{where}: the key of this {kind.name} is not that of its value")


def _check_order_name(name: Value, where: str) -> None:
    """Refuse what no owner could have said: clients see it as the name of a tool."""
    try:
        is_one = name is None or (isinstance(name, str) and checked_order_name(name) == name)
    except InvalidInputError:
        is_one = False
    if not is_one:
        raise InvalidInputError(f"{where}: '{ORDER_NAME}' is no name that orders can have")


def _check_plain(value: Mapping[str, Value], where: str) -> None:
    """Refuse places in an index that are another Being's."""
    if not isinstance(value.get("schema"), int):
        raise InvalidInputError(f"{where}: 'schema' must be a whole number")
    for name, each in value.items():
        if name in _PLACE or (
            name.startswith("gsi")
            and name.endswith("pk")
            and not (isinstance(each, str) and each.startswith(("B##", "RUN#")))
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


def _written(vectors: Mapping[str, Vector]) -> dict[str, str]:
    return {name: b64encode(each).decode() for name, each in vectors.items()}


def _read(written: Mapping[str, str]) -> dict[str, Vector]:
    return {str(name): b64decode(each, validate=True) for name, each in written.items()}


def _vectors(found: object, where: str) -> Vectors | None:
    if found is None:
        return None
    try:
        assert isinstance(found, dict)
        of, subjects = _read(found["of"]), _read(found.get("subjects", {}))
        return Vectors(str(found["text_sha"]), of, subjects)
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError, Base64Error):
        raise InvalidInputError(f"{where}: its vectors cannot be read") from None


def packed(value: Any) -> Any:
    """Return a value as JSON has it; bytes are written in base 64."""
    if isinstance(value, bytes):
        return {_BYTES: b64encode(value).decode()}
    if isinstance(value, list | tuple):
        return [packed(each) for each in value]
    if isinstance(value, dict):
        return {name: packed(each) for name, each in value.items()}
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(each) for each in value]
    if isinstance(value, dict):
        if value.keys() == {_BYTES} and isinstance(value[_BYTES], str):
            return b64decode(value[_BYTES], validate=True)
        return {name: _unpacked(each) for name, each in value.items()}
    return value


def _canonical(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode()

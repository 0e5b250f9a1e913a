"""The records of a memory: scenes, nodes, clusters, relations, messages.

Moments are text in UTC with milliseconds, `2026-04-14T07:30:00.000Z`, which sorts by time;
dates are `2026-04-14`. Ids are ULIDs where order matters and UUIDs made from content where
repeating a step must not make a second one.
"""

import hashlib
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, Self

from nacre.being.memory.model import keys
from nacre.being.memory.model.records import ADDED_LATER, attributes_of, record_of
from nacre.core.ids import ulid_milliseconds
from nacre.core.lazy_dataclasses import dataclass, field, fields
from nacre.core.limits import REVIVED_FROM
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import SCHEMA, Item

Source = Literal["tool", "extract", "import", "mirror"]
Trust = Literal["external", "import", "tool", "agent", "user"]
SceneStatus = Literal["pending", "consumed", "invalid"]
NodeStatus = Literal["active", "dying", "dead", "merged", "hidden"]
Author = Literal["agent", "mirror", "owner"]
"""Who changes a memory: a client with a token of the Being, an edited file, or the owner.

Agents write files too, so an edited file has the rights of an agent.
"""
AUTHORS: dict[Author, str] = {
    "agent": "an agent",
    "mirror": "an edited file",
    "owner": "its owner",
}
"""The authors as sentences name them."""

ClusterState = Literal["active", "retired"]

TRUST_ORDER: tuple[Trust, ...] = ("external", "import", "tool", "agent", "user")
"""From the least trusted to the most. A record made from several has the lowest of them."""

UNDONE = "undone"
"""The reason of a merged node whose merge was undone: it stays dead."""

SCENE = ItemSchema("scene", 1)
NODE = ItemSchema("memory", 2, {1: lambda item: item})  # 2: with earlier scenes elsewhere
CLUSTER = ItemSchema("cluster", 1)
RELATION = ItemSchema("relation", 1)
MESSAGE = ItemSchema("message", 1)
MARKER = ItemSchema("marker", 1)
CONVERSATION = ItemSchema("conversation", 1)
CAPTURED_IDENTITY = ItemSchema("captured_identity", 1)


ULID_LENGTH = 26  # letters and digits
_MERGES = uuid.UUID("6e616372-6500-5000-8000-6d6572676573")


def moment(time: datetime) -> str:
    """Return the time as it is stored: UTC with milliseconds."""
    utc = time.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"


def least_trusted(trusts: Sequence[Trust]) -> Trust:
    """Return the lowest of these trust classes."""
    return min(trusts, key=TRUST_ORDER.index)


def node_id_of(being_id: str, fingerprint: str) -> str:
    """Return the id of the node that a scene with this fingerprint becomes."""
    return str(uuid.uuid5(uuid.UUID(being_id), f"node:{fingerprint}"))


def merged_id_of(parents: Sequence[str]) -> str:
    """Return the id of the merge of these nodes, which does not depend on their order."""
    return str(uuid.uuid5(_MERGES, ",".join(sorted(parents))))


def session_key_hash(subject: str, session_key: str) -> str:
    """Return the hash under which a session key is stored; another caller gets another hash."""
    return hashlib.sha256(f"{subject}\n{session_key}".encode()).hexdigest()


class StoredRecord:
    """A record that is stored as an item of its schema."""

    __slots__ = ()
    schema: ClassVar[ItemSchema]

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the record in an item."""
        return record_of(cls, cls.schema.read(item))


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneText:
    """The text of an event: the fields that a scene, its draft and its node have in common."""

    action: str
    actors: tuple[str, ...]
    when: tuple[str, ...]  # dates; sorted and each once where they are stored
    setting: str | None = None
    feeling: str | None = None
    themes: tuple[str, ...] = ()
    importance: float = 0.5

    def text_fields(self) -> dict[str, Any]:
        """Return these fields alone, by name."""
        return {name: getattr(self, name) for name in _TEXT_FIELDS}


_TEXT_FIELDS = tuple(field.name for field in fields(SceneText))


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneDraft(SceneText):
    """A scene before it is checked and stored. One that brings an id is stored only once."""

    source: Source = "tool"
    trust: Trust = "agent"
    evidence: tuple[str, ...] = ()  # ids of messages
    origins: tuple[str, ...] = field(default=(), metadata={ADDED_LATER: True})  # see `lineage`
    scene_id: str | None = None
    client: str | None = None  # the client in whose conversation it was heard
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene(SceneText, StoredRecord):
    """Something that happened, as it was noted; a patrol makes memories of scenes."""

    schema = SCENE

    scene_id: str
    created_at: str
    fingerprint: str
    source: Source = "tool"
    trust: Trust = "agent"
    evidence: tuple[str, ...] = ()  # ids of messages
    origins: tuple[str, ...] = field(default=(), metadata={ADDED_LATER: True})  # see `lineage`
    client: str | None = None  # the client in whose conversation it was heard
    session: str | None = None
    status: SceneStatus = "pending"
    node_id: str | None = None
    run_id: str | None = None
    reason: str | None = None  # why it is invalid

    @property
    def id(self) -> str:
        """Return the scene's id."""
        return self.scene_id

    def to_item(self, being_id: str) -> Item:
        """Return the item of the scene; a pending one is listed in the pending index."""
        item: Item = {
            "pk": keys.scenes(being_id),
            "sk": self.scene_id,
            **attributes_of(self),
        }
        if self.status == "pending":
            item |= {"gsi1pk": keys.pending(being_id), "gsi1sk": self.scene_id}
        return self.schema.stamp(item)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(SceneText, StoredRecord):
    """A memory: one or more scenes that say the same, with its strength."""

    schema = NODE

    node_id: str
    created_at: str
    stability: float  # in active days; see `forgetting_curve`
    # Ids of scenes: all of a whole node, and of a stored one the newest; see `store.evidence`.
    evidence: tuple[str, ...] = ()
    trust: Trust = "agent"
    fingerprint: str | None = None  # a merged node has none
    cluster_id: str | None = None
    status: NodeStatus = "active"
    status_before: NodeStatus | None = None  # before it was merged or hidden
    merged_into: str | None = None
    parents: tuple[str, ...] = ()
    reason: str | None = None
    clock0: int = 0  # the Being's clock when stability was last set
    due: int | None = None  # the clock of its next change of status
    reactivation_count: int = 0  # only ever grows
    reactivation_done: int = 0  # the part that a patrol has counted
    count_at_death: int | None = None
    last_activated: str | None = None
    pinned: bool = False
    valid_from: str | None = None
    superseded_by: str | None = None
    valid_until: str | None = None  # the day from which the memory that superseded it holds
    # Ids of memories that were similar when it was made, but not the same.
    similar: tuple[str, ...] = field(default=(), metadata={ADDED_LATER: True})
    # Its texts before corrections, oldest first; see `wordings`.
    wordings: tuple[str, ...] = field(default=(), metadata={ADDED_LATER: True})
    # All origins of what it was made of, and each lineage if there are several; see `lineage`.
    origins: tuple[str, ...] = field(default=(), metadata={ADDED_LATER: True})
    tellings: tuple[str, ...] = field(default=(), metadata={ADDED_LATER: True})
    hidden_at: str | None = None
    hidden_by: Author | None = None
    emb_id: str | None = None  # the embedding of its vector
    # How many scenes it was told by before those in `evidence`, and the id of the newest of them.
    earlier: int = field(default=0, metadata={ADDED_LATER: True})
    newest_earlier: str | None = None
    version: int = 1  # raised by every change except reactivation

    @property
    def id(self) -> str:
        """Return the node's id."""
        return self.node_id

    def holds_on(self, day: str) -> bool:
        """Return whether nothing had superseded the node on a day."""
        return self.superseded_by is None or (self.valid_until or "9999") > day

    @property
    def is_living(self) -> bool:
        """Return whether the node is remembered now."""
        return self.status in ("active", "dying")

    @property
    def is_indexed(self) -> bool:
        """Return whether search indexes have the node: not one that was merged or undone."""
        return self.status != "merged" and self.reason != UNDONE

    @property
    def scene_count(self) -> int:
        """Return the number of scenes that it was told by."""
        return self.earlier + len(self.evidence)

    @property
    def noted_at(self) -> str:
        """Return when the newest of its scenes was noted, as far as their ids show."""
        ids = (id_ for id_ in self.evidence if len(id_) == ULID_LENGTH)
        newest = max(ids, default="")
        newest = max(newest, self.newest_earlier or "")
        milliseconds = ulid_milliseconds(newest)
        if milliseconds is None:
            return self.created_at
        return moment(datetime.fromtimestamp(milliseconds / 1000, UTC))

    @property
    def is_revivable(self) -> bool:
        """Return whether the next patrol revives the node."""
        count = self.reactivation_count - (self.count_at_death or 0)
        return self.status == "dead" and self.reason != UNDONE and count >= REVIVED_FROM

    def to_item(self, being_id: str) -> Item:
        """Return the item of the node, with the keys of the indexes that list it."""
        item: Item = {
            "pk": keys.nodes(being_id),
            "sk": self.node_id,
            **attributes_of(self),
        }
        if self.is_living:
            item |= {
                "gsi1pk": keys.activity(being_id),
                "gsi1sk": f"{self.last_activated or self.created_at}#{self.node_id}",
            }
        if self.reason != UNDONE and self.status != "hidden":
            item |= {
                "gsi2pk": keys.members(being_id, self.cluster_id),
                "gsi2sk": f"{self.status}#{self.node_id}",
            }
        queue_keys = self._queue_keys(being_id)
        if queue_keys is not None:
            item["gsi3pk"], item["gsi3sk"] = queue_keys
        item = self.schema.stamp(item)
        # An older version would lose the earlier scenes, and refuses version 2.
        return item if self.earlier else {**item, SCHEMA: 1}

    def _queue_keys(self, being_id: str) -> tuple[str, str] | None:
        """Return the keys of the index in which the node waits for a patrol, or is hidden."""
        if self.status == "hidden":
            return keys.hidden(being_id), f"{self.hidden_at or ''}#{self.node_id}"
        if self.is_revivable:
            return keys.revivable(being_id), self.node_id
        if not self.is_living:
            return None
        if self.reactivation_count > self.reactivation_done:
            return keys.touched(being_id), self.node_id
        if self.due is not None and not self.pinned:
            return keys.due(being_id), f"{self.due:08}#{self.node_id}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster(StoredRecord):
    """Nodes that belong together. All fields but the state are derived from the nodes."""

    schema = CLUSTER

    cluster_id: str
    created_at: str
    state: ClusterState = "active"
    children: tuple[str, ...] = ()  # where its nodes went when it was retired
    label: str = ""
    digest: str = ""
    digest_source: Literal["rules", "llm"] = "rules"
    n_active: int = 0
    themes: tuple[str, ...] = ()
    # The less trusted origins of what it summarises; see `lineage`.
    origins: tuple[str, ...] = field(default=(), metadata={ADDED_LATER: True})
    first_day: str | None = None
    last_day: str | None = None
    considered: str | None = None  # when a model last looked for duplicates in it
    # How much it matters now; see `cluster_weight`.
    weight: int | None = field(default=None, metadata={ADDED_LATER: True})
    dirty: bool = False
    version: int = 1

    def to_item(self, being_id: str) -> Item:
        """Return the item of the cluster, with the keys of the indexes that list it."""
        item: Item = {
            "pk": keys.clusters(being_id),
            "sk": self.cluster_id,
            **attributes_of(self),
        }
        if self.weight is not None and self.state == "active":
            item |= {
                "gsi1pk": keys.subjects(being_id),
                "gsi1sk": f"{self.weight:010}#{self.cluster_id}",
            }
        if self.dirty:
            item |= {"gsi3pk": keys.dirty(being_id), "gsi3sk": self.cluster_id}
        return self.schema.stamp(item)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation(StoredRecord):
    """The relation of the Being to an entity: a person, a device, an organisation."""

    schema = RELATION

    entity: str
    type: str
    content: str
    updated_at: str
    version: int = 1
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(StoredRecord):
    """A message of a conversation."""

    schema = MESSAGE

    message_id: str
    role: str
    content: str
    ts: str
    chain: str  # the hash of this and everything before it; its identity if it was captured
    session_key_hash: str | None = None
    # Of a message that was captured from a client:
    client: str | None = None
    session: str | None = None  # the client's own id for it
    project: str | None = None
    conversation_id: str | None = None
    # Of what its writer had received from other servers; see `lineage`.
    origins: tuple[str, ...] = field(default=(), metadata={ADDED_LATER: True})

    @property
    def place(self) -> str:
        """Return the sort key of the message: its time, then its id."""
        return f"{self.ts}#{self.message_id}"

    def to_item(self, being_id: str) -> Item:
        """Return the item of the message, in the partition of its month."""
        item: Item = {
            "pk": keys.history(being_id, self.ts[:7]),
            "sk": self.place,
            **attributes_of(self),
        }
        if self.conversation_id is not None:
            item |= {
                "gsi2pk": keys.conversation(being_id, self.conversation_id),
                "gsi2sk": self.place,
            }
        return self.schema.stamp(item)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation(StoredRecord):
    """A session of a client of which messages were captured."""

    schema = CONVERSATION

    conversation_id: str
    client: str
    session: str
    first: str  # the times of its first and its last message
    last: str
    messages: int
    version: int  # raised by every change
    project: str | None = None

    def to_item(self, being_id: str) -> Item:
        """Return the item of the conversation, listed by the time of its last message."""
        return self.schema.stamp(
            {
                "pk": keys.conversations(being_id),
                "sk": self.conversation_id,
                "gsi1pk": keys.latest_conversations(being_id),
                "gsi1sk": f"{self.last}#{self.conversation_id}",
                **attributes_of(self),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedIdentity(StoredRecord):
    """The identity of a captured message. It stays when the message is erased.

    So a message that was erased does not come back with a later import.
    """

    schema = CAPTURED_IDENTITY

    identity: str

    def to_item(self, being_id: str) -> Item:
        """Return the item of the identity."""
        return self.schema.stamp(
            {"pk": keys.captured(being_id), "sk": self.identity, **attributes_of(self)}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker(StoredRecord):
    """An end of the chain of messages, where the next batch may continue."""

    schema = MARKER

    marker_id: str
    tail: tuple[str, ...]  # the last hashes of the chain, oldest first
    count: int  # how many messages the chain had

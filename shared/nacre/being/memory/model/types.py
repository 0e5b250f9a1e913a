"""What a memory is made of: scenes, nodes, clusters, relations, messages.

Moments are text in UTC with milliseconds, `2026-04-14T07:30:00.000Z`, which sorts by time;
dates are `2026-04-14`. Ids are ULIDs where order matters and UUIDs made from content where
repeating a step must not make a second one.
"""

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, Self

from nacre.being.memory.model import keys
from nacre.being.memory.model.records import ADDED_LATER, attributes_of, record_of
from nacre.core.limits import REVIVED_FROM
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Item

Source = Literal["tool", "extract", "import"]
Trust = Literal["external", "import", "tool", "agent", "user"]
SceneStatus = Literal["pending", "consumed", "invalid"]
NodeStatus = Literal["active", "dying", "dead", "merged"]
ClusterState = Literal["active", "retired"]

TRUST_ORDER: tuple[Trust, ...] = ("external", "import", "tool", "agent", "user")
"""From the least trusted to the most: what is made of several has the lowest of them."""

UNDONE = "undone"
"""The reason of a merged node whose merge was taken back: it is dead for good."""

SCENE = ItemSchema("scene", 1)
NODE = ItemSchema("memory", 1)
CLUSTER = ItemSchema("cluster", 1)
RELATION = ItemSchema("relation", 1)
MESSAGE = ItemSchema("message", 1)
MARKER = ItemSchema("marker", 1)


_MERGES = uuid.UUID("6e616372-6500-5000-8000-6d6572676573")


def moment(time: datetime) -> str:
    """Return the time as it is stored: UTC with milliseconds."""
    utc = time.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"


def least_trusted(trusts: Sequence[Trust]) -> Trust:
    """Return the trust of what is made from all of these."""
    return min(trusts, key=TRUST_ORDER.index)


def node_id_of(being_id: str, fingerprint: str) -> str:
    """Return the id of the node that a scene with this fingerprint becomes."""
    return str(uuid.uuid5(uuid.UUID(being_id), f"node:{fingerprint}"))


def merged_id_of(parents: Sequence[str]) -> str:
    """Return the id of the node that merging these makes, in whatever order they come."""
    return str(uuid.uuid5(_MERGES, ",".join(sorted(parents))))


def session_key_hash(subject: str, session_key: str) -> str:
    """Return what is stored of a session key, so that it cannot be guessed by another caller."""
    return hashlib.sha256(f"{subject}\n{session_key}".encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Something that happened, as it was noted; a patrol makes memories of scenes."""

    scene_id: str
    action: str
    actors: tuple[str, ...]
    when: tuple[str, ...]  # dates, sorted, each once
    created_at: str
    fingerprint: str
    setting: str | None = None
    feeling: str | None = None
    themes: tuple[str, ...] = ()
    importance: float = 0.5
    source: Source = "tool"
    trust: Trust = "agent"
    evidence: tuple[str, ...] = ()  # ids of messages
    status: SceneStatus = "pending"
    node_id: str | None = None
    run_id: str | None = None
    reason: str | None = None  # why it is invalid

    def to_item(self, being_id: str) -> Item:
        """Return the item that holds the scene; a pending one stands in the pending list."""
        item: Item = {
            "pk": keys.scenes(being_id),
            "sk": self.scene_id,
            **attributes_of(self),
        }
        if self.status == "pending":
            item |= {"gsi1pk": keys.pending(being_id), "gsi1sk": self.scene_id}
        return SCENE.stamp(item)

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the scene in an item."""
        return record_of(cls, SCENE.read(item))


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A memory: one or more scenes that say the same, and how well it is remembered."""

    node_id: str
    action: str
    actors: tuple[str, ...]
    when: tuple[str, ...]
    created_at: str
    stability: float  # in active days; see the patrol's forgetting curve
    setting: str | None = None
    feeling: str | None = None
    themes: tuple[str, ...] = ()
    importance: float = 0.5
    evidence: tuple[str, ...] = ()  # ids of scenes
    trust: Trust = "agent"
    fingerprint: str | None = None  # a merged node has none
    cluster_id: str | None = None
    status: NodeStatus = "active"
    status_before: NodeStatus | None = None  # what it was before it was merged
    merged_into: str | None = None
    parents: tuple[str, ...] = ()
    reason: str | None = None
    clock0: int = 0  # the Being's clock when stability was last set
    due: int | None = None  # the clock at which something happens to it next
    reactivation_count: int = 0  # only ever grows
    reactivation_done: int = 0  # how much of it the patrol has folded in
    count_at_death: int | None = None
    last_activated: str | None = None
    pinned: bool = False
    valid_from: str | None = None
    superseded_by: str | None = None
    # Memories that were close when it was made, yet not the same.
    similar: tuple[str, ...] = field(default=(), metadata={ADDED_LATER: True})
    emb_id: str | None = None  # what its vector was made with
    version: int = 1  # raised by every change except reactivation

    @property
    def is_living(self) -> bool:
        """Whether it is remembered now."""
        return self.status in ("active", "dying")

    @property
    def is_revivable(self) -> bool:
        """Whether a patrol brings it back."""
        count = self.reactivation_count - (self.count_at_death or 0)
        return self.status == "dead" and self.reason != UNDONE and count >= REVIVED_FROM

    def to_item(self, being_id: str) -> Item:
        """Return the item that holds the node, with the places where it is listed."""
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
        if self.reason != UNDONE:
            item |= {
                "gsi2pk": keys.members(being_id, self.cluster_id),
                "gsi2sk": f"{self.status}#{self.node_id}",
            }
        waiting = self._waiting(being_id)
        if waiting is not None:
            item["gsi3pk"], item["gsi3sk"] = waiting
        return NODE.stamp(item)

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the node in an item."""
        return record_of(cls, NODE.read(item))

    def _waiting(self, being_id: str) -> tuple[str, str] | None:
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
class Cluster:
    """Nodes that belong together; all but its state follows from them."""

    cluster_id: str
    created_at: str
    state: ClusterState = "active"
    children: tuple[str, ...] = ()  # what it was split into, or moved to, when retired
    label: str = ""
    digest: str = ""
    digest_source: Literal["rules", "llm"] = "rules"
    n_active: int = 0
    themes: tuple[str, ...] = ()
    first_day: str | None = None
    last_day: str | None = None
    considered: str | None = None  # when a model last looked for what says the same in it
    dirty: bool = False
    version: int = 1

    def to_item(self, being_id: str) -> Item:
        """Return the item that holds the cluster; a dirty one stands in the dirty list."""
        item: Item = {
            "pk": keys.clusters(being_id),
            "sk": self.cluster_id,
            **attributes_of(self),
        }
        if self.dirty:
            item |= {"gsi3pk": keys.dirty(being_id), "gsi3sk": self.cluster_id}
        return CLUSTER.stamp(item)

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the cluster in an item."""
        return record_of(cls, CLUSTER.read(item))


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """How the Being stands to an entity: a person, a device, an organisation."""

    entity: str
    type: str
    content: str
    updated_at: str
    version: int = 1
    evidence: tuple[str, ...] = ()

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the relation in an item."""
        return record_of(cls, RELATION.read(item))


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Something that was said in a conversation."""

    message_id: str
    role: str
    content: str
    ts: str
    chain: str  # the hash of this and everything before it
    session_key_hash: str | None = None

    @property
    def place(self) -> str:
        """Where the message stands among all messages, by time."""
        return f"{self.ts}#{self.message_id}"

    def to_item(self, being_id: str) -> Item:
        """Return the item that holds the message, in the partition of its month."""
        return MESSAGE.stamp(
            {
                "pk": keys.history(being_id, self.ts[:7]),
                "sk": self.place,
                **attributes_of(self),
            }
        )

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the message in an item."""
        return record_of(cls, MESSAGE.read(item))


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """An end of the chain of messages: where the next batch may go on."""

    marker_id: str
    tail: tuple[str, ...]  # the last hashes of the chain, oldest first
    count: int  # how many messages the chain had

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the marker in an item."""
        return record_of(cls, MARKER.read(item))

"""What a patrol asks a language model for, and the plans that come back.

Every plan is checked against what was asked before it gets here, and turns into plain values
and back, so that a run stores it before applying it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar, cast

from nacre.being.memory.model.records import attributes_of, record_of
from nacre.being.memory.model.types import Cluster, Message, Node, Scene, Trust
from nacre.ports.items.table import Value

T = TypeVar("T")
Plain = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Thought(Generic[T]):
    """What came of one question; without a value, the reason says why.

    `of_question` says that it failed for what was asked: another model or another day would not
    help, as it does where a provider is down.
    """

    value: T | None
    reason: str | None
    input_tokens: int = 0
    output_tokens: int = 0
    of_question: bool = False

    def __post_init__(self) -> None:
        if (self.value is None) is (self.reason is None):
            raise ValueError("a thought has either a value or a reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneDraft:
    """A scene as it was found in messages; the id is the same whenever it is found again."""

    scene_id: str
    action: str
    actors: tuple[str, ...]
    when: tuple[str, ...]
    importance: float
    trust: Trust
    evidence: tuple[str, ...]  # ids of messages
    setting: str | None = None
    feeling: str | None = None
    themes: tuple[str, ...] = ()

    def to_plain(self) -> Plain:
        """Return the draft as plain values."""
        return attributes_of(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Value]) -> Self:
        """Return the draft in plain values."""
        return record_of(cls, dict(plain))


@dataclass(frozen=True, slots=True)
class Supersede:
    """A memory that is no longer so, and the one that is so instead."""

    old: str
    new: str
    why: str


@dataclass(frozen=True, slots=True)
class MergePlan:
    """Nodes of a group that say the same, with words for all of them; none or two and more.

    What supersedes another may be one of the merged; what is superseded never is.
    """

    merge: tuple[str, ...] = ()
    action: str = ""
    feeling: str | None = None
    supersede: tuple[Supersede, ...] = ()

    def to_plain(self) -> Plain:
        """Return the plan as plain values."""
        pairs: list[Value] = [attributes_of(pair) for pair in self.supersede]
        return {
            "merge": list(self.merge),
            "action": self.action,
            "feeling": self.feeling,
            "supersede": pairs,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Value]) -> Self:
        """Return the plan in plain values."""
        pairs = cast("list[dict[str, Value]]", plain.get("supersede") or [])
        flat = {name: value for name, value in plain.items() if name != "supersede"}
        found = record_of(cls, flat)
        return cls(
            found.merge,
            found.action,
            found.feeling,
            tuple(record_of(Supersede, pair) for pair in pairs),
        )


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """Whether a cluster falls into these two halves, and what each is about."""

    split: bool
    labels: tuple[str, str] = ("", "")

    def to_plain(self) -> Plain:
        """Return the plan as plain values."""
        return attributes_of(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Value]) -> Self:
        """Return the plan in plain values."""
        return record_of(cls, dict(plain))


@dataclass(frozen=True, slots=True)
class Digest:
    """What a cluster is about, in a few words and in a few lines."""

    label: str
    digest: str

    def to_plain(self) -> Plain:
        """Return the digest as plain values."""
        return attributes_of(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Value]) -> Self:
        """Return the digest in plain values."""
        return record_of(cls, dict(plain))


class Thinking(Protocol):
    """Asks a language model, within what a Being may spend in a day.

    Nothing raises because a model refuses, fails, is slow or says nonsense: the thought has
    no value then, and its reason belongs into the receipt. A reason holds no memory text.
    """

    model: str

    def extract(
        self, being_id: str, messages: Sequence[Message]
    ) -> Thought[tuple[SceneDraft, ...]]:
        """Return the scenes that stand in messages, each worth at least .3; maybe none."""
        ...

    def consolidate(self, being_id: str, group: Sequence[Node]) -> Thought[MergePlan]:
        """Return which of these nodes say the same or are no longer so; maybe none."""
        ...

    def split(
        self, being_id: str, halves: tuple[Sequence[Node], Sequence[Node]]
    ) -> Thought[SplitPlan]:
        """Return whether these halves of a cluster are two subjects, and their names."""
        ...

    def digest(self, being_id: str, cluster: Cluster, members: Sequence[Node]) -> Thought[Digest]:
        """Return what a cluster with these members is about."""
        ...

    def diary(self, being_id: str, scenes: Sequence[Scene]) -> Thought[str]:
        """Return a paragraph for the diary about what happened."""
        ...

    def think(
        self, being_id: str, clusters: Sequence[Cluster], nodes: Sequence[Node]
    ) -> Thought[tuple[str, ...]]:
        """Return what stands out across these memories, in a few short notes."""
        ...

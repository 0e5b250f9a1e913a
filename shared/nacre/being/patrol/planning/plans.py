"""The questions that a patrol can ask, and the plans that come back.

Every plan has been checked against its question. It can be turned into plain values and back, so a
run stores it before applying it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, Self, TypeVar, cast

from nacre.being.memory.model.records import attributes_of, record_of
from nacre.being.memory.model.types import Cluster, Message, Node, Scene, SceneDraft
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.ports.items.table import Value

T = TypeVar("T")
Plain = dict[str, Value]


@dataclass(frozen=True, slots=True)
class PlanResult(Generic[T]):
    """The answer to one question; without a value, there is a reason.

    `is_question_fault` means that the question itself caused the failure. Another model or
    another day would not help then.
    """

    value: T | None
    reason: str | None
    input_tokens: int = 0
    output_tokens: int = 0
    is_question_fault: bool = False

    def __post_init__(self) -> None:
        if (self.value is None) is (self.reason is None):
            raise ValueError("a result has either a value or a reason")

    @property
    def tokens(self) -> dict[str, int]:
        """The cost of the question, as a run counts it."""
        return {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}


def draft_to_plain(draft: SceneDraft) -> Plain:
    """Return an extracted draft as plain values."""
    plain = attributes_of(draft)
    del plain["source"]  # always "extract"
    return plain


def draft_from_plain(plain: Mapping[str, Value]) -> SceneDraft:
    """Return the extracted draft in plain values."""
    return record_of(SceneDraft, {**plain, "source": "extract"})


@dataclass(frozen=True, slots=True)
class Proposals:
    """The entries of a plan that a model proposes, the reasons for gaps, and the tokens it cost."""

    entries: list[Value] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    tokens: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Supersede:
    """A memory that is no longer true, and the one that replaces it."""

    old: str
    new: str
    why: str


@dataclass(frozen=True, slots=True)
class MergePlan:
    """Nodes of a group that say the same, with one text for all; none, or at least two.

    A memory that supersedes another may be one of the merged; a superseded one never is.
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
        base = record_of(cls, flat)
        return cls(
            base.merge,
            base.action,
            base.feeling,
            tuple(record_of(Supersede, pair) for pair in pairs),
        )


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """A decision whether a cluster is to be split into two halves, and their labels."""

    split: bool
    labels: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Digest:
    """The label of a cluster in a few words, and its digest in a few lines."""

    label: str
    digest: str


class Planner(Protocol):
    """Asks a language model, within the daily budget of a Being.

    No method raises because a model refuses, fails, is slow or answers nonsense. Then the result
    has no value, and its reason is for the receipt. Reasons contain no text of memories.
    """

    model: str

    def extract(
        self, being_id: str, messages: Sequence[Message]
    ) -> PlanResult[tuple[SceneDraft, ...]]:
        """Return the scenes in messages with an importance of at least 0.3; maybe none."""
        ...

    def consolidate(self, being_id: str, group: Sequence[Node]) -> PlanResult[MergePlan]:
        """Return which of these nodes say the same or are superseded; maybe none."""
        ...

    def split(
        self, being_id: str, halves: tuple[Sequence[Node], Sequence[Node]]
    ) -> PlanResult[SplitPlan]:
        """Return whether these halves of a cluster are two subjects, and their labels."""
        ...

    def digest(
        self, being_id: str, cluster: Cluster, members: Sequence[Node]
    ) -> PlanResult[Digest]:
        """Return the label and the digest of a cluster with these members."""
        ...

    def diary(self, being_id: str, scenes: Sequence[Scene]) -> PlanResult[str]:
        """Return a paragraph for the diary about what happened."""
        ...

    def think_notes(
        self, being_id: str, clusters: Sequence[Cluster], nodes: Sequence[Node]
    ) -> PlanResult[tuple[str, ...]]:
        """Return a few short notes on the notable points of these memories."""
        ...

"""A stand-in for a model: the same question always gets the same answer."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from nacre.being.memory.model.types import Cluster, Message, Node, Scene, SceneDraft
from nacre.being.patrol.planning.plans import (
    Digest,
    MergePlan,
    PlanResult,
    SplitPlan,
    Supersede,
)


@dataclass
class StandIn:
    """A Planner that merges, divides and describes by rule.

    `silent` are kinds of questions that fail, `failing` the numbers of those that do, from 0.
    """

    model: str = "stand-in"
    silent: frozenset[str] = frozenset()
    failing: frozenset[int] = frozenset()
    asked: list[str] = field(default_factory=list)

    def extract(
        self, being_id: str, messages: Sequence[Message]
    ) -> PlanResult[tuple[SceneDraft, ...]]:
        if self._fails("extract"):
            return PlanResult(None, "the model does not answer")
        drafts = tuple(
            SceneDraft(
                scene_id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{message.chain}:0")),
                action=message.content,
                actors=("Ann",),
                when=(message.ts[:10],),
                importance=0.5,
                source="extract",
                trust="user" if message.role == "user" else "agent",
                evidence=(message.message_id,),
            )
            for message in messages
        )
        return PlanResult(drafts, None, 10, 5)

    def consolidate(self, being_id: str, group: Sequence[Node]) -> PlanResult[MergePlan]:
        if self._fails("consolidate"):
            return PlanResult(None, "the model does not answer")
        ids = [node.node_id for node in group]
        if len(ids) == 2 and ids[0] > f"{8:x}":
            return PlanResult(
                MergePlan(supersede=(Supersede(ids[0], ids[1], "newer"),)), None, 7, 3
            )
        old = ids[2:3]
        plan = MergePlan(
            merge=tuple(node_id for node_id in ids if node_id not in old),
            action="; ".join(sorted(node.action for node in group)),
            supersede=tuple(Supersede(node_id, ids[0], "newer") for node_id in old),
        )
        return PlanResult(plan, None, 7, 3)

    def split(
        self, being_id: str, halves: tuple[Sequence[Node], Sequence[Node]]
    ) -> PlanResult[SplitPlan]:
        if self._fails("split"):
            return PlanResult(None, "the model does not answer")
        first, second = (half[0].action.split()[0] for half in halves)
        return PlanResult(SplitPlan(True, (first, second)), None, 7, 3)

    def digest(
        self, being_id: str, cluster: Cluster, members: Sequence[Node]
    ) -> PlanResult[Digest]:
        if self._fails("digest"):
            return PlanResult(None, "the model does not answer")
        label = f"{len(members)} memories"
        return PlanResult(Digest(label, members[0].action), None, 7, 3)

    def diary(self, being_id: str, scenes: Sequence[Scene]) -> PlanResult[str]:
        if self._fails("diary"):
            return PlanResult(None, "the model does not answer")
        return PlanResult(f"{len(scenes)} things happened", None, 7, 3)

    def think_notes(
        self, being_id: str, clusters: Sequence[Cluster], nodes: Sequence[Node]
    ) -> PlanResult[tuple[str, ...]]:
        if self._fails("think"):
            return PlanResult(None, "the model does not answer")
        return PlanResult((f"{len(nodes)} memories, {len(clusters)} subjects",), None, 7, 3)

    def _fails(self, kind: str) -> bool:
        number = len(self.asked)
        self.asked.append(kind)
        return kind in self.silent or number in self.failing


class Refusing(StandIn):
    """A stand-in that never reads what is vile."""

    def extract(
        self, being_id: str, messages: Sequence[Message]
    ) -> PlanResult[tuple[SceneDraft, ...]]:
        if any("vile" in message.content for message in messages):
            return PlanResult(None, "it refuses", 4, 2, is_question_fault=True)
        return super().extract(being_id, messages)

"""Months with a Being in which everything that changes a memory happens, and recalls among it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from nacre.being.memory.model.types import Node
from nacre.being.patrol.planning.plans import MergePlan, PlanResult
from nacre.being.tools.reading_tools import NOTHING_FOUND
from nacre.core.errors import NacreError
from nacre.wiring.features.past_recall import queries_at
from tests.being.patrol.stand_in import StandIn
from tests.benchmarks.memory_load import DID, WHAT, WHERE, WHO, WHY, mind
from tests.benchmarks.patrolled import Patrolled

_HEARD = (
    "By the way, I adopted a cat named {}",
    "I work as a {} at the harbour now",
    "My sister {} moved to Lisbon last week",
)
_NAMES = ("Mochi", "Pico", "baker", "pilot", "Ines", "Olga")
_TIMES = ("", "", "", " yesterday", " last week", " three days ago")


@dataclass(frozen=True)
class Recorded:
    """A recall as it was answered."""

    at: datetime
    message: str
    text: str
    trace: str  # the scores of its memories


class _Reluctant(StandIn):
    """A model that merges now and then."""

    def consolidate(self, being_id: str, group: Sequence[Node]) -> PlanResult[MergePlan]:
        if len(self.asked) % 4:
            self.asked.append("consolidate")
            return PlanResult(MergePlan(), None, 1, 1)
        return super().consolidate(being_id, group)


@dataclass
class Life:
    """A Being that is told, corrected, patrolled and asked, on a clock that never stands still."""

    folder: Path
    seed: int = 1
    recorded: list[Recorded] = field(default_factory=list)
    erased_ids: set[str] = field(default_factory=set)
    erased_texts: set[str] = field(default_factory=set)
    happened: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.being = Patrolled(self.folder, planner=_Reluctant())
        self.rng = Random(self.seed)
        self.told: list[str] = []
        self.waiting: list[str] = []
        self.last_erased = self.being.calendar.now

    @property
    def being_id(self) -> str:
        """The Being."""
        return self.being.being_id

    def live(self, days: int, *, recalls_a_day: int, deletes: bool = True) -> None:
        """Live through some days; with `deletes`, something is deleted or erased now and then."""
        for day in range(days):
            self.tell()
            for number in range(recalls_a_day):
                self.recall()
                if number % 3 == 0:
                    self.change()
            if deletes and day % 7 == 3:
                self.delete()
            if day % 2:
                self._do("patrol", self.being.patrol)
                self.waiting.clear()
            self.being.calendar.next_day()

    def tell(self) -> None:
        """Note new things and retell old ones, and let a hook capture what was said."""
        scenes: list[dict[str, Any]] = []
        for _ in range(self.rng.randrange(1, 5)):
            parts = map(self.rng.choice, (WHO, DID, WHAT, WHERE, WHY))
            self.told.append(" ".join(parts))
            scenes.append({"action": self.told[-1], "importance": self.rng.choice((0.0, 0.0, 0.6))})
        if self.rng.random() < 0.4:
            again = self.rng.choice(self.told)
            scenes.append({"action": again, "actors": [again.split()[0]]})
        self.waiting += self.being.note(scenes)
        self._pass("note")
        if self.rng.random() < 0.3:
            text = self.rng.choice(_HEARD).format(self.rng.choice(_NAMES))
            at = self.being.calendar.now.isoformat()
            message = {"role": "user", "text": text, "at": at}
            self.being.call("capture_messages", client="codex", session="s", messages=[message])
            self._pass("capture")

    def recall(self) -> None:
        """Ask something, and keep the answer."""
        about = f"{self.rng.choice(WHO)} and {self.rng.choice(WHAT)} {self.rng.choice(WHERE)}"
        message = self.rng.choice((f"What about {about}", f"Tell me of {self.rng.choice(_NAMES)}"))
        if self.rng.random() < 0.2:
            message = f"What happened{self.rng.choice(_TIMES)}"
        message += self.rng.choice(_TIMES) + "?"
        answer = self.being.call("recall", user_message=message)
        [block] = answer["content"]
        trace = json.dumps(answer["_meta"]["nacre/search"])
        self.recorded.append(Recorded(self.being.calendar.now, message, block["text"], trace))
        self._pass("recall")

    def change(self) -> None:
        """Change something, as the owner or an agent does."""
        living = [node for node in self.being.nodes() if node.is_living]
        if len(living) < 3:
            return
        node, other = self.rng.sample(living, 2)
        edits = mind(self.being.laptop).memory.edits
        choices: list[tuple[str, Callable[[], object]]] = [
            ("correct", lambda: self._memory("update", node, f"{node.action}, and sang")),
            ("hide", lambda: self._memory("delete", node)),
            ("take back", lambda: self._memory("update", self._changed(), "undo")),
            ("merge", lambda: self._merge(node, other)),
            ("undo a merge", self._undo_merge),
            ("pin", lambda: edits.pin(self.being_id, node.node_id, pinned=not node.pinned)),
        ]
        self._do(*self.rng.choice(choices))

    def delete(self) -> None:
        """Delete a scene as an agent does, and erase a memory as the owner does."""
        self._do("delete a scene", self._delete_scene)
        node = self.rng.choice([node for node in self.being.nodes() if node.is_living])
        self._do("erase", lambda: self._erase(node))
        self.last_erased = self.being.calendar.now

    def again(self, recorded: Recorded) -> Recorded:
        """Return the answer as of then."""
        with queries_at(self.being.laptop, self.being_id, recorded.at) as queries:
            reply = queries.recall(self.being_id, recorded.message, counted=False)
        text = reply.text or NOTHING_FOUND
        return Recorded(recorded.at, recorded.message, text, json.dumps(reply.trace))

    def _memory(self, action: str, node: Node | None, content: str | None = None) -> None:
        if node is not None:
            self.being.call(
                "update_memory",
                target="memories",
                action=action,
                key=node.node_id,
                content=content,
            )

    def _changed(self) -> Node | None:
        changed = [node for node in self.being.nodes() if node.status == "hidden" or node.wordings]
        return self.rng.choice(changed) if changed else None

    def _merge(self, node: Node, other: Node) -> None:
        ids = [node.node_id, other.node_id]
        self.being.call("merge_nodes", node_ids=ids, summary=f"{node.action}; {other.action}")

    def _undo_merge(self) -> None:
        merged = [node for node in self.being.nodes() if node.is_living and node.parents]
        if merged:
            ids = [self.rng.choice(merged).node_id]
            self.being.call("merge_nodes", node_ids=ids, summary="undo")

    def _delete_scene(self) -> None:
        if self.waiting:
            gone = self.waiting.pop(self.rng.randrange(len(self.waiting)))
            self.being.call("update_notes", action="update", scene_ids=[gone], notes=["gone"])
            self.erased_ids.add(gone)

    def _erase(self, node: Node) -> None:
        receipt = self.being.laptop.eraser.node(self.being_id, node.node_id)
        self.erased_ids |= {*receipt.ids}
        self.erased_texts |= {*receipt.texts}

    def shows_erased(self, recorded: Recorded) -> bool:
        """Return whether an answer has an id or a text that was erased since.

        Another memory may have the same text.
        """
        return any(erased in recorded.text for erased in self.erased_ids | self.erased_texts)

    def _do(self, name: str, act: Callable[[], object]) -> None:
        try:
            act()
        except NacreError:
            name = f"{name}, refused"
        self._pass(name)

    def _pass(self, name: str) -> None:
        self.happened[name] = self.happened.get(name, 0) + 1
        self.being.calendar.now += timedelta(seconds=self.rng.randrange(1, 600))

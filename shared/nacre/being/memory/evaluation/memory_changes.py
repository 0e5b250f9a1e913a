"""The changes of memories since they were the answer to a question, told apart from others.

A memory that was merged, and a scene that became a memory, is followed to the memory that it is
now: an answer that shows this one has lost nothing.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from nacre.being.memory.evaluation.answer_changes import CREATED, AnswerChange
from nacre.being.memory.evaluation.answers import Answer
from nacre.being.memory.model.types import UNDONE, Node, Scene, moment
from nacre.being.memory.search.candidates import Memory, MemoryReader
from nacre.being.memory.store.kept_questions import FoundMemory, KeptQuestion, line_hash
from nacre.core.ids import ulid_milliseconds
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.vectors.vector_index import Kind


@dataclass(frozen=True, slots=True)
class PresentMemory:
    """The present memory that a memory became, None if it is gone, and whether by a merge."""

    memory: Memory | None
    is_merged: bool = False


class PresentMemories:
    """The present state of all memories that some answers name."""

    def __init__(self, reader: MemoryReader, being_id: str, kinds: Mapping[str, Kind]) -> None:
        self._known = {memory.id: memory for memory in reader.read(being_id, kinds)}
        while successors := {
            successor
            for memory in self._known.values()
            if (successor := memory.successor) is not None and successor not in self._known
        }:
            nodes: dict[str, Kind] = dict.fromkeys(sorted(successors), "node")
            more = reader.read(being_id, nodes)
            if not more:
                break
            self._known |= {memory.id: memory for memory in more}

    def of(self, memory_id: str) -> PresentMemory:
        """Return the present memory of an id."""
        memory, is_merged, visited = self._known.get(memory_id), False, set[str]()
        while memory is not None and memory.successor is not None and memory.id not in visited:
            visited.add(memory.id)
            is_merged |= isinstance(memory.record, Node)
            memory = self._known.get(memory.successor)
        return PresentMemory(memory, is_merged)

    def texts(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the lines of the memories that exist."""
        return {id_: self._known[id_].text for id_ in ids if id_ in self._known}


def since_kept(
    question: KeptQuestion,
    answer: Answer,
    memories: PresentMemories,
    *,
    embedding: str,
    version: str,
) -> AnswerChange:
    """Return the change from the kept answer to the present one, with its causes.

    A cause is a change of a memory in one of the answers (`corrected`, `merged`, `forgotten`,
    `hidden`, `superseded`, `undone`, `gone` or `created`), another `embedding` or another
    `version` of Nacre. If there is none, the `ranking` of the memories is another one: by others,
    by recalls or by age. The loss of a memory is not judged if the memory itself changed, or if a
    new one took its place.
    """
    before: dict[str, None] = {}
    causes: dict[str, None] = {}
    judged: list[str] = []
    for hit in question.found:
        present = memories.of(hit.id)
        id_ = hit.id if present.memory is None else present.memory.id
        before[id_] = None
        own = _causes(question, hit, present)
        causes |= dict.fromkeys(own)
        if not set(own) - {"merged"}:
            judged.append(id_)
    for id_ in answer.kinds:
        memory = memories.of(id_).memory
        if id_ not in before and memory and _first_noted(memory.record) >= question.asked:
            causes[CREATED] = None
    if CREATED in causes and len(answer.ids) >= len(before):
        judged = []
    if tuple(before) != answer.ids:
        if question.embedding != embedding:
            causes["embedding"] = None
        if question.version != version:
            causes["version"] = None
        if not causes:
            causes["ranking"] = None
    return AnswerChange(question, tuple(before), answer.ids, tuple(judged), tuple(causes))


def _first_noted(record: Node | Scene) -> str:
    """Return when the first of its scenes was noted, as far as their ids show."""
    if isinstance(record, Scene):
        return record.created_at
    times = [time for id_ in record.evidence if (time := ulid_milliseconds(id_)) is not None]
    if not times:
        return record.created_at
    return moment(datetime.fromtimestamp(min(times) / 1000, UTC))


def _causes(question: KeptQuestion, hit: FoundMemory, present: PresentMemory) -> tuple[str, ...]:
    """Return the changes of a memory since it was found that may keep it out of an answer.

    A search finds forgotten memories too, and with `as_of` superseded ones.
    """
    memory = present.memory
    if memory is None:
        return ("gone",)
    causes = ["merged"] if present.is_merged else []
    record = memory.record
    arguments = question.arguments
    if record.status == "dead" and (question.tool == "recall" or "status" in arguments):
        causes.append("forgotten")
    if record.status == "hidden":
        causes.append("hidden")
    if isinstance(record, Node):
        if record.superseded_by is not None and "as_of" not in arguments:
            causes.append("superseded")
        if record.reason == UNDONE:
            causes.append("undone")
    if memory.id == hit.id and line_hash(memory.text) != hit.line:
        causes.append("corrected")
    return tuple(causes)

"""The recent memories of a Being: the newest ones, weighted by importance.

The newest memory is always one of them. The others are chosen by importance and age, so that a
report of every night does not push out the one event of yesterday. Waiting scenes count like the
memories that they become. The number of reads does not depend on the size of the memory.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from nacre.being.memory.model.types import Node, Scene
from nacre.being.memory.search.candidates import Memory
from nacre.being.memory.store.nodes import Nodes
from nacre.being.memory.store.scenes import Scenes
from nacre.being.memory.text.memory_text import scene_line
from nacre.core.clock import Clock
from nacre.core.lazy_dataclasses import dataclass
from nacre.text.analysis import terms

_POOL = 60  # of the newest scenes, and of the memories that were activated last
_HALF_LIFE = 3.0  # days after which an important event counts half
_LEAST = 0.05  # an event without importance is still better than none
_FOREIGN = "import"


@dataclass(frozen=True, slots=True)
class NewestMemories:
    """The newest memories and waiting scenes that still hold, newest first.

    `has_every_node` says that no living node is missing, as in a small memory.
    """

    memories: tuple[Memory, ...]
    has_every_node: bool

    def members(self, cluster_id: str) -> list[Memory]:
        """Return the memories of a cluster."""
        return [memory for memory in self.memories if memory.cluster_id == cluster_id]


@dataclass(frozen=True, slots=True)
class RecentMemories:
    """Chooses the recent memories of Beings. It never writes."""

    nodes: Nodes
    scenes: Scenes
    clock: Clock

    def newest(self, being_id: str) -> NewestMemories:
        """Return the newest memories of a Being."""
        noted = self.scenes.newest(being_id, limit=_POOL)
        active = self.nodes.recent(being_id, limit=_POOL).nodes
        nodes = {node.node_id: node for node in active}
        missing = {scene.node_id for scene in noted if scene.node_id} - set(nodes)
        nodes |= self.nodes.get_many(being_id, sorted(missing))
        memories = [Memory(scene, scene_line(scene)) for scene in noted]
        memories += [Memory(node, scene_line(node)) for node in nodes.values()]
        in_order = sorted(filter(holds, memories), key=_order, reverse=True)
        return NewestMemories(tuple(in_order), len(active) < _POOL)

    def chosen(self, newest: Sequence[Memory], count: int) -> list[Memory]:
        """Return so many of the newest memories: the newest, and the most important of the others.

        Of memories with the same words only the newest is taken. They are in the order of their
        time, the newest first.
        """
        times: Counter[frozenset[str]] = Counter()
        for memory in newest:
            times[_routine(memory)] += max(1, len(memory.record.when))
        distinct = list({_words(memory): memory for memory in reversed(newest)}.values())[::-1]
        now = self.clock()

        def weight(memory: Memory) -> float:
            age = max(0.0, (now - _time(noted_at(memory))).total_seconds() / 86_400)
            importance = (memory.record.importance + _LEAST) ** 2
            # An event that happens every day is no news.
            return importance * math.exp2(-age / _HALF_LIFE) / math.sqrt(times[_routine(memory)])

        others = sorted(distinct[1:], key=weight, reverse=True)[: max(0, count - 1)]
        return sorted([*distinct[:1], *others], key=_order, reverse=True)[:count]


def holds(memory: Memory) -> bool:
    """Return whether a memory is remembered and has not been replaced by another one."""
    return memory.is_current and (isinstance(memory.record, Scene) or memory.record.is_living)


def newest_statement(memories: Iterable[Memory]) -> Memory | None:
    """Return the memory that is true and whose event is the latest, or None."""
    current = [memory for memory in memories if holds(memory)]
    return max(current, key=_latest, default=None)


def noted_at(memory: Memory) -> str:
    """Return when a memory was noted; of one that was imported, the day of its event."""
    record = memory.record
    noted = record.noted_at if isinstance(record, Node) else record.created_at
    if record.trust == _FOREIGN and record.when:
        return min(noted, f"{max(record.when)}T00:00:00.000Z")
    return noted


def _latest(memory: Memory) -> tuple[str, str, str]:
    noted = noted_at(memory)
    return max(memory.record.when, default=noted[:10]), noted, memory.id


def _order(memory: Memory) -> tuple[str, float, str, str]:
    record = memory.record
    activated = (record.last_activated if isinstance(record, Node) else None) or ""
    return noted_at(memory), record.importance, activated, memory.id


def _words(memory: Memory) -> frozenset[str]:
    return frozenset(terms(memory.record.action))


def _routine(memory: Memory) -> frozenset[str]:
    """Return the words that reports of a routine share, whatever their numbers."""
    return frozenset(word for word in _words(memory) if not word.isdecimal())


def _time(moment: str) -> datetime:
    return datetime.fromisoformat(moment).astimezone(UTC)

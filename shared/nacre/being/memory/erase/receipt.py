"""What was erased: how much of each kind, and what must not be found anywhere any more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nacre.being.memory.model.types import Node, Scene
from nacre.being.memory.text.memory_text import scene_line


@dataclass(frozen=True, slots=True)
class Erased:
    """What became of a request to erase.

    `made_of_it` are scenes that somebody made of erased messages, and that stay.
    """

    counts: Mapping[str, int]
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    made_of_it: tuple[str, ...] = ()


def erased_memories(scenes: Sequence[Scene], nodes: Sequence[Node]) -> Erased:
    """Return what erasing these was."""
    counts = {"node": len(nodes), "scene": len(scenes)}
    ids = [*(node.node_id for node in nodes), *(scene.scene_id for scene in scenes)]
    return Erased(
        {kind: count for kind, count in counts.items() if count},
        tuple(ids),
        texts_of([*nodes, *scenes]),
    )


def texts_of(memories: Sequence[Node | Scene]) -> tuple[str, ...]:
    """Return the texts of memories: what happened, how it felt, and the line that shows it."""
    found: dict[str, None] = {}
    for each in memories:
        found |= dict.fromkeys(text for text in (each.action, each.feeling) if text)
        found[scene_line(each)] = None
    return tuple(found)

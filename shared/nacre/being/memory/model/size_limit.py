"""How much a memory may hold: its item has to fit the store, and each recall writes all of it."""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from nacre.being.memory.model.types import Node, Scene
from nacre.core.limits import NODE_LIST_BYTES

_AROUND = 3  # bytes that a store adds to each entry of a list, at the most


def has_room(nodes: Sequence[Node], scene: Scene | None = None) -> bool:
    """Whether one memory can hold what these do together, and a scene's part as well."""
    evidence = {each for node in nodes for each in node.evidence}
    told: list[Node | Scene] = [*nodes]
    if scene is not None:
        evidence.add(scene.scene_id)
        told.append(scene)
    tags = (
        {day for each in told for day in each.when},
        {actor for each in told for actor in each.actors},
        {theme for each in told for theme in each.themes},
    )
    return sum(map(_size, (evidence, *tags))) <= NODE_LIST_BYTES


def sequel_of(fingerprint: str, number: int) -> str:
    """Return what names the memory that goes on with an event; the first has the event's own.

    It follows from the event alone, so that every repetition of a step finds the same memory.
    """
    return fingerprint if number == 1 else sha256(f"{fingerprint}+{number}".encode()).hexdigest()


def _size(texts: Iterable[str]) -> int:
    return sum(len(text.encode()) + _AROUND for text in texts)

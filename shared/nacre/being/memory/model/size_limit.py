"""The size limit of a node: its item must fit the store, and a merge all of its scenes."""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from nacre.being.memory.model.types import ULID_LENGTH, Node, Scene, SceneText
from nacre.core.limits import NODE_LIST_BYTES

_OVERHEAD = 3  # bytes that a store adds to each entry of a list, at the most


def fits_in_one_node(nodes: Sequence[Node], scene: Scene | None = None) -> bool:
    """Return whether one node can hold the lists of all these nodes, and of the scene."""
    evidence = {scene_id for node in nodes for scene_id in node.evidence}
    texts: list[SceneText] = [*nodes]
    if scene is not None:
        evidence.add(scene.scene_id)
        texts.append(scene)
    tags = (
        {day for text in texts for day in text.when},
        {actor for text in texts for actor in text.actors},
        {theme for text in texts for theme in text.themes},
    )
    earlier = sum(node.earlier for node in nodes) * (ULID_LENGTH + _OVERHEAD)
    return earlier + sum(map(_size, (evidence, *tags))) <= NODE_LIST_BYTES


def sequel_of(fingerprint: str, number: int) -> str:
    """Return the fingerprint of the node that continues a full one; the first has the event's.

    It is made from the event alone, so a repeated step finds the same node.
    """
    return fingerprint if number == 1 else sha256(f"{fingerprint}+{number}".encode()).hexdigest()


def _size(texts: Iterable[str]) -> int:
    return sum(len(text.encode()) + _OVERHEAD for text in texts)

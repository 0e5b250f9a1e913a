"""The receipt of erasing: counts by kind, and ids and texts that no store may hold any more."""

from collections import Counter
from collections.abc import Mapping, Sequence

from nacre.being.memory.model.types import Node, Scene
from nacre.being.memory.model.wordings import earlier_versions
from nacre.being.memory.text.memory_text import scene_line
from nacre.core.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EraseReceipt:
    """The result of erasing.

    `derived_scenes` are scenes that were made from erased messages, and that stay.
    """

    counts: Mapping[str, int]
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    derived_scenes: tuple[str, ...] = ()


def receipt_of(scenes: Sequence[Scene], nodes: Sequence[Node]) -> EraseReceipt:
    """Return the receipt for these memories."""
    counts = {"node": len(nodes), "scene": len(scenes)}
    ids = [*(node.node_id for node in nodes), *(scene.scene_id for scene in scenes)]
    return EraseReceipt(
        {kind: count for kind, count in counts.items() if count},
        tuple(ids),
        texts_of([*nodes, *scenes]),
    )


def combined_receipt(receipts: Sequence[EraseReceipt]) -> EraseReceipt:
    """Return one receipt for several."""
    counts: Counter[str] = Counter()
    for receipt in receipts:
        counts.update(receipt.counts)
    return EraseReceipt(
        dict(counts),
        tuple(dict.fromkeys(id_ for receipt in receipts for id_ in receipt.ids)),
        tuple(dict.fromkeys(text for receipt in receipts for text in receipt.texts)),
        tuple(dict.fromkeys(id_ for receipt in receipts for id_ in receipt.derived_scenes)),
    )


def texts_of(memories: Sequence[Node | Scene]) -> tuple[str, ...]:
    """Return the texts of memories: their actions, their feelings and their lines."""
    texts: dict[str, None] = {}
    for memory in memories:
        texts |= dict.fromkeys(text for text in (memory.action, memory.feeling) if text)
        texts[scene_line(memory)] = None
        if isinstance(memory, Node):
            texts |= dict.fromkeys(version.action for version in earlier_versions(memory))
    return tuple(texts)

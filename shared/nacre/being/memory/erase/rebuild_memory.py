"""A memory made again of what remains of its evidence."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nacre.being.memory.model.types import Node, Scene, least_trusted


def rebuilt(
    node: Node, evidence: Sequence[str], scenes: Sequence[Scene], parents: Sequence[Node]
) -> Node:
    """Return the node with this evidence, as the scenes of it and its parents tell it.

    A merged memory keeps its text, which was written from its parents; any other takes the
    text of its most important scene. Importance never falls.
    """
    told: list[Node | Scene] = [*parents, *scenes]
    after = node
    if not parents:
        lead = min(scenes, key=lambda scene: (-scene.importance, scene.scene_id))
        after = replace(
            node,
            action=lead.action,
            feeling=lead.feeling,
            setting=lead.setting,
            fingerprint=lead.fingerprint,
        )
    return replace(
        after,
        evidence=tuple(evidence),
        actors=_union(each.actors for each in told),
        when=tuple(sorted(_union(each.when for each in told))),
        themes=_union(each.themes for each in told),
        trust=least_trusted([each.trust for each in told]),
        emb_id=None,
        version=node.version + 1,
    )


def _union(parts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for part in parts for each in part))

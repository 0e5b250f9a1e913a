"""Making memories of scenes: what is known gets further evidence, what is new joins a cluster.

Scenes are taken in their order, each decided on all that was written before it, and written in
one transaction with everything that follows from it.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from nacre.being.memory.model.counters import PENDING_SCENES
from nacre.being.memory.model.forgetting_curve import DYING_BELOW, clock_below, initial_stability
from nacre.being.memory.model.types import Node, Scene, least_trusted, node_id_of
from nacre.being.memory.store.clusters import marking_dirty
from nacre.being.memory.store.nodes import replacing
from nacre.being.memory.store.retry import settled
from nacre.being.patrol.compare.scene_decision import Invalid, Known, New
from nacre.being.patrol.run.round import Round
from nacre.being.patrol.steps.join_cluster import cluster_of, joining
from nacre.core.errors import UnavailableError
from nacre.core.limits import REVIVAL_STEP
from nacre.ports.embedder import Vector
from nacre.ports.items.table import Absent, Compare, Put, Write

_BETWEEN = 20  # scenes, between two looks at the lease


def assign(work: Round, scene_ids: Sequence[str]) -> None:
    """Make memories of those of the scenes that wait; raises UnavailableError to go on later."""
    vectors = scene_vectors(work, scene_ids)
    waiting = [each for each in scene_ids if each in vectors]
    for number, scene_id in enumerate(waiting, start=1):
        settled(partial(_assign, work, scene_id, vectors[scene_id]))
        if number % _BETWEEN == 0:
            work.keep()


def scene_vectors(work: Round, scene_ids: Sequence[str]) -> dict[str, Vector]:
    """Return the vectors of the scenes that still wait, made at once where they lack."""
    waiting = {
        scene.scene_id: scene
        for scene in work.memory.scenes.get_many(work.being_id, scene_ids).values()
        if scene.status == "pending"
    }
    scenes = list(waiting.values())
    known = known_vectors(work, scenes)
    if work.space.embedder is not None and len(known) < len(scenes):
        # One request for all; what has no point at all is embedded for this run only.
        _, items = work.indexing.read(work.being_id, list(waiting))
        if items and not work.indexing.sync(work.being_id, list(items)):
            raise UnavailableError("the embedding model does not answer")
        known = known_vectors(work, scenes)
    return work.space.vectors_of({each: waiting[each].action for each in waiting}, known)


def known_vectors(work: Round, scenes: Sequence[Scene]) -> dict[str, Vector]:
    """Return the vectors that scenes have been given already, by their ids."""
    if work.space.embedder is None or not scenes:
        return {}
    _, items = work.indexing.read(work.being_id, [scene.scene_id for scene in scenes])
    found = {}
    for scene in scenes:
        item = items.get(scene.scene_id)
        vector = None if item is None else item.subjects.get(work.space.emb_id)
        if item is not None and vector is not None and item.subject == scene.action:
            found[scene.scene_id] = vector
    return found


def _assign(work: Round, scene_id: str, vector: Vector) -> None:
    scene = work.memory.scenes.get_many(work.being_id, [scene_id]).get(scene_id)
    if scene is None or scene.status != "pending":
        return  # its owner took it back
    decision = work.deciding.decide(scene, vector)
    match decision:
        case Invalid(reason):
            _set_aside(work, scene, reason)
        case Known(node):
            _add_evidence(work, scene, node)
        case New(home, fingerprint, similar):
            node = replace(_node_of(work, scene, fingerprint), similar=similar)
            cluster_id = cluster_of(work, home, node.node_id)
            node = replace(node, cluster_id=cluster_id)
            writes: list[Write] = [Put(node.to_item(work.being_id), Absent())]
            writes += joining(work, home, cluster_id, vector)
            _write(work, scene, node, writes, like={node.node_id: scene_id}, nodes_created=1)
        case _:
            assert_never(decision)


def _set_aside(work: Round, scene: Scene, reason: str) -> None:
    after = replace(scene, status="invalid", reason=reason, run_id=work.run.run_id)
    points = work.telling.writes([], [scene.scene_id])
    _commit(
        work, scene, after, points, counts={"invalid": 1}, reasons=("invalid scenes were kept",)
    )


def _add_evidence(work: Round, scene: Scene, node: Node) -> None:
    # Telling it again counts as a recall: it refreshes a living memory in this run's next
    # steps, and brings a forgotten one back.
    recalled = REVIVAL_STEP if node.status == "dead" else 1
    stands_alone = node.status == "merged"  # what it was merged into is gone
    after = replace(
        node,
        evidence=(*node.evidence, scene.scene_id),
        when=tuple(sorted({*node.when, *scene.when})),
        importance=max(node.importance, scene.importance),
        trust=least_trusted([node.trust, scene.trust]),
        reactivation_count=node.reactivation_count + recalled,
        last_activated=max(node.last_activated or "", work.run.now),
        version=node.version + 1,
    )
    if stands_alone:
        after = replace(
            after, status="active", merged_into=None, status_before=None, cluster_id=None
        )
    writes: list[Write] = [replacing(work.being_id, node, after)]
    if after.is_living and after.cluster_id is not None:
        writes.append(marking_dirty(work.being_id, after.cluster_id))
    _write(work, scene, after, writes, evidence_added=1)


def _write(
    work: Round,
    scene: Scene,
    node: Node,
    writes: list[Write],
    *,
    like: dict[str, str] | None = None,
    **counts: int,
) -> None:
    after = replace(scene, status="consumed", node_id=node.node_id, run_id=work.run.run_id)
    writes += work.telling.writes([node], [scene.scene_id], like=like)
    _commit(work, scene, after, writes, counts=counts)


def _commit(
    work: Round,
    scene: Scene,
    after: Scene,
    writes: list[Write],
    *,
    counts: dict[str, int],
    reasons: Sequence[str] = (),
) -> None:
    still = Compare("status", "=", scene.status)
    writes = [*writes, Put(after.to_item(work.being_id), still)]
    work.ledger.commit(writes, counts=counts, reasons=reasons, meta={PENDING_SCENES: -1})
    work.telling.tell(writes)


def _node_of(work: Round, scene: Scene, fingerprint: str) -> Node:
    stability = initial_stability(scene.importance)
    return Node(
        node_id=node_id_of(work.being_id, fingerprint),
        action=scene.action,
        actors=scene.actors,
        when=scene.when,
        created_at=work.run.now,
        stability=stability,
        setting=scene.setting,
        feeling=scene.feeling,
        themes=scene.themes,
        importance=scene.importance,
        evidence=(scene.scene_id,),
        trust=scene.trust,
        fingerprint=fingerprint,
        clock0=work.run.clock,
        due=clock_below(work.run.clock, stability, DYING_BELOW),
        valid_from=min(scene.when, default=None),
    )

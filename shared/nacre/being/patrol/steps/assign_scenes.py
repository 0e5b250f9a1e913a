"""The step that turns scenes into memories: as evidence of a known one, or as a new one.

Scenes are taken in order. Each decision sees all earlier writes, and each scene is written in one
transaction with everything that follows from it.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import assert_never

from nacre.being.memory.model.counters import PENDING_SCENES
from nacre.being.memory.model.forgetting_curve import DYING_BELOW, clock_below, initial_stability
from nacre.being.memory.model.lineage import made_of, told_again
from nacre.being.memory.model.types import Node, Scene, SceneText, node_id_of
from nacre.being.memory.model.wordings import dismissed_days
from nacre.being.memory.store.clusters import marking_dirty
from nacre.being.memory.store.evidence import telling_writes
from nacre.being.memory.store.nodes import unchanged
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.patrol.compare import grouping
from nacre.being.patrol.compare.grouping import place_of
from nacre.being.patrol.compare.scene_decision import InvalidScene, KnownEvent, NewEvent
from nacre.being.patrol.compare.space import Space, is_due, measured, space_of
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.steps.join_cluster import cluster_id_for, joining
from nacre.core.errors import UnavailableError
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import REVIVAL_STEP
from nacre.ports.items.table import Absent, Compare, Item, Put, Write
from nacre.ports.vectors.embedder import Vector

STEP = 1
_BATCH = 20  # scenes between two renewals of the lease
_MEASURED_NODES = 200
_STAYS_HIDDEN = "scenes that say what a hidden memory says were added to it; it stays hidden"


def assign(context: RunContext) -> None:
    """Turn the run's waiting scenes into memories; UnavailableError leaves the rest for later."""
    scene_ids = context.scene_ids()
    _measure(context, scene_ids)
    vectors = scene_vectors(context, scene_ids)
    waiting = [scene_id for scene_id in scene_ids if scene_id in vectors]
    for number, scene_id in enumerate(waiting, start=1):
        retry_on_conflict(partial(_assign, context, scene_id, vectors[scene_id]))
        if number % _BATCH == 0:
            context.renew_lease()


def scene_vectors(context: RunContext, scene_ids: Sequence[str]) -> dict[str, Vector]:
    """Return the vectors of the scenes that still wait; missing ones take one request."""
    waiting = {
        scene.scene_id: scene
        for scene in context.memory.scenes.get_many(context.being_id, scene_ids).values()
        if scene.status == "pending"
    }
    scenes = list(waiting.values())
    vectors = context.neighbours.stored_subjects(scenes, context.space)
    if context.space.embedder is not None and len(vectors) < len(scenes):
        # One request for all. Scenes without an index point are embedded for this run only.
        _, items = context.indexing.read(context.being_id, list(waiting))
        if items and not context.indexing.sync(context.being_id, list(items)):
            raise UnavailableError("the embedding model does not answer")
        vectors = context.neighbours.stored_subjects(scenes, context.space)
    return context.space.vectors_of(
        {scene_id: scene.action for scene_id, scene in waiting.items()}, vectors
    )


def _assign(context: RunContext, scene_id: str, vector: Vector) -> None:
    scene = context.memory.scenes.get_many(context.being_id, [scene_id]).get(scene_id)
    if scene is None or scene.status != "pending":
        return  # the owner has deleted it
    decision = context.decider.decide(scene, vector)
    match decision:
        case InvalidScene(reason):
            _set_aside(context, scene, reason)
        case KnownEvent(node):
            _add_evidence(context, scene, node)
        case NewEvent(candidate, fingerprint, similar):
            node = replace(_node_of(context, scene, fingerprint), similar=similar)
            cluster_id = cluster_id_for(context, candidate, node.node_id)
            node = replace(node, cluster_id=cluster_id)
            writes: list[Write] = [Put(node.to_item(context.being_id), Absent())]
            writes += joining(context, candidate, cluster_id, node, vector)
            _write(context, scene, node, writes, like={node.node_id: scene_id}, nodes_created=1)
        case _:
            assert_never(decision)


def _set_aside(context: RunContext, scene: Scene, reason: str) -> None:
    after = replace(scene, status="invalid", reason=reason, run_id=context.run.run_id)
    points = context.index_updates.writes([], [scene.scene_id])
    _commit(
        context, scene, after, points, counts={"invalid": 1}, reasons=("invalid scenes were kept",)
    )


def _add_evidence(context: RunContext, scene: Scene, node: Node) -> None:
    # A repeated scene counts as a recall: later steps of this run refresh a living memory and
    # revive a forgotten one.
    recalls = {"dead": REVIVAL_STEP, "hidden": 0}.get(node.status, 1)
    is_orphan = node.status == "merged"  # the memory that it was merged into is gone
    after = replace(
        told_again(node, scene),
        evidence=(*node.evidence, scene.scene_id),
        when=tuple(sorted({*node.when, *scene.when} - dismissed_days(node))),
        importance=max(node.importance, scene.importance),
        reactivation_count=node.reactivation_count + recalls,
        last_activated=max(node.last_activated or "", context.run.now if recalls else "") or None,
        version=node.version + 1,
    )
    if is_orphan:
        after = replace(
            after, status="active", merged_into=None, status_before=None, cluster_id=None
        )
    writes = telling_writes(context.table, context.being_id, node, after, when=unchanged(node))
    if after.is_living and after.cluster_id is not None:
        writes.append(marking_dirty(context.being_id, after.cluster_id))
    reasons = (_STAYS_HIDDEN,) if after.status == "hidden" else ()
    _write(context, scene, after, writes, reasons=reasons, evidence_added=1)


def _write(
    context: RunContext,
    scene: Scene,
    node: Node,
    writes: list[Write],
    *,
    like: dict[str, str] | None = None,
    reasons: Sequence[str] = (),
    **counts: int,
) -> None:
    after = replace(scene, status="consumed", node_id=node.node_id, run_id=context.run.run_id)
    writes += context.index_updates.writes([node], [scene.scene_id], like=like)
    _commit(context, scene, after, writes, counts=counts, reasons=reasons)


def _commit(
    context: RunContext,
    scene: Scene,
    after: Scene,
    writes: list[Write],
    *,
    counts: dict[str, int],
    reasons: Sequence[str] = (),
) -> None:
    same = Compare("status", "=", scene.status)
    writes = [*writes, Put(after.to_item(context.being_id), same)]
    context.commit(writes, counts=counts, reasons=reasons, meta={PENDING_SCENES: -1})


def _node_of(context: RunContext, scene: Scene, fingerprint: str) -> Node:
    stability = initial_stability(scene.importance)
    node = Node(
        node_id=node_id_of(context.being_id, fingerprint),
        action=scene.action,
        actors=scene.actors,
        when=scene.when,
        created_at=context.run.now,
        stability=stability,
        setting=scene.setting,
        feeling=scene.feeling,
        themes=scene.themes,
        importance=scene.importance,
        evidence=(scene.scene_id,),
        trust=scene.trust,
        fingerprint=fingerprint,
        clock0=context.run.clock,
        due=clock_below(context.run.clock, stability, DYING_BELOW),
        valid_from=min(scene.when, default=None),
    )
    return made_of(node, [scene])


def _are_due(space: Space, count: int) -> tuple[bool, bool]:
    """Return whether to measure cosines and groups on this number of notes."""
    return is_due(space, count), grouping.is_due(space.grouping, count)


def _measures(
    context: RunContext,
    space: Space,
    memories: Mapping[str, SceneText],
    vectors: Mapping[str, Vector],
) -> list[Item]:
    items: list[Item] = []
    cosines_are_due, groups_are_due = _are_due(space, len(memories))
    cosines = measured(list(vectors.values())) if cosines_are_due else None
    if cosines is not None:
        items.append(cosines.to_item(context.being_id, space.emb_id))
    places = [place_of(memory, vectors[id_]) for id_, memory in memories.items() if id_ in vectors]
    groups = grouping.measured(places) if groups_are_due else None
    if groups is not None:
        items.append(groups.to_item(context.being_id, space.emb_id))
    return items


def _measure(context: RunContext, scene_ids: Sequence[str]) -> None:
    """Measure the vector space on the run's scenes and the newest memories, while these are few.

    Cluster means are not changed, but distances to them are.
    """
    if context.run.step >= STEP:
        return
    space = space_of(context.table, context.indexing, context.being_id)
    if space.embedder is None or not any(
        _are_due(space, _MEASURED_NODES)
    ):  # the measures are final
        return
    newest = context.memory.nodes.recent(context.being_id, limit=_MEASURED_NODES).nodes
    measures: list[Item] = []
    if any(_are_due(space, len(newest) + len(scene_ids))):
        vectors = scene_vectors(context, scene_ids)
        scenes = context.memory.scenes.get_many(context.being_id, vectors)
        memories: dict[str, SceneText] = {id_: scenes[id_] for id_ in vectors if id_ in scenes}
        # Only here an index of AWS may lack a new memory, which hardly changes the measure.
        vectors |= context.neighbours.subjects(newest, replace(space, measure=None))
        memories |= {node.node_id: node for node in newest}
        measures = _measures(context, space, memories, vectors)
    context.ledger.commit([Put(item) for item in measures], step=STEP)
    context.__dict__.pop("space", None)  # both were computed from the earlier measure
    context.__dict__.pop("decider", None)

"""A dry run: what a patrol would do now, by the same decisions; nothing is written.

Each scene is looked at as if it came alone, so of several that say the same new thing only those
with the same words are counted as one.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_MESSAGES, PENDING_SCENES, count_in, counters
from nacre.being.memory.model.types import Node, Scene
from nacre.being.patrol.compare.scene_decision import Invalid, Known
from nacre.being.patrol.run.claim import clock_of, pending_scenes
from nacre.being.patrol.run.round import Round
from nacre.being.patrol.run.runs import INPUT_TOKENS, OUTPUT_TOKENS, Receipt
from nacre.being.patrol.steps.assign_scenes import known_vectors
from nacre.being.patrol.steps.cluster_changes import dirty_clusters
from nacre.being.patrol.steps.forget_memories import faded
from nacre.being.patrol.steps.merge_memories import proposed
from nacre.being.patrol.steps.split_clusters import falls_apart, halves_of
from nacre.core.limits import PATROL_FORGOTTEN, PATROL_MOVES, PATROL_SCENES, SPLIT_FROM
from nacre.ports.items.table import Range


def rehearse(work: Round) -> Receipt:
    """Return the receipt of a run that stops after its plans."""
    meta = counters(work.table, work.being_id)
    scenes = pending_scenes(work.table, work.being_id, limit=PATROL_SCENES)
    unread = count_in(meta, PENDING_MESSAGES)
    clock = clock_of(meta, work.run.today, is_active=bool(scenes or unread))
    counts: Counter[str] = Counter(scenes_taken=len(scenes))
    reasons: list[str] = []
    _assigned(work, scenes, counts)
    _flagged(work, clock, counts)
    partition = keys.revivable(work.being_id)
    revived = work.table.query(partition, index="gsi3", limit=PATROL_MOVES)
    counts["revived"] = len(revived.items)
    if work.thinking is None:
        reasons.append("no_llm: consolidation skipped")
        reasons.append("no_llm: splitting skipped")
        reasons += ["no_llm: extraction skipped"] if unread else []
    else:
        reasons += ["a dry run does not read messages"] if unread else []
        _consolidated(work, counts, reasons)
        _split(work, counts, reasons)
    left = max(0, count_in(meta, PENDING_SCENES) - len(scenes))
    found = {name: count for name, count in counts.items() if count}
    run = replace(
        work.run, clock=clock, counts=dict(sorted(found.items())), reasons=tuple(sorted(reasons))
    )
    return replace(run.receipt, state="dry", backlog=left)


def _assigned(work: Round, scenes: Sequence[Scene], counts: Counter[str]) -> None:
    vectors = work.space.vectors_of(
        {scene.scene_id: scene.action for scene in scenes}, known_vectors(work, scenes)
    )
    told: set[str] = set()
    for scene in scenes:
        decision = work.deciding.decide(scene, vectors[scene.scene_id])
        if isinstance(decision, Invalid):
            counts["invalid"] += 1
        elif isinstance(decision, Known) or scene.fingerprint in told:
            counts["evidence_added"] += 1
        else:
            counts["nodes_created"] += 1
            told.add(scene.fingerprint)


def _flagged(work: Round, clock: int, counts: Counter[str]) -> None:
    touched = work.table.query(keys.touched(work.being_id), index="gsi3", limit=PATROL_FORGOTTEN)
    counts["refreshed"] = len(touched.items)
    page = work.table.query(
        keys.due(work.being_id),
        index="gsi3",
        keys=Range(high=f"{clock:08}$"),
        limit=PATROL_FORGOTTEN,
    )
    for node in work.memory.nodes.get_many(
        work.being_id, [str(item["sk"]) for item in page.items]
    ).values():
        after = faded(node, clock)
        if after.status != node.status:
            counts[after.status] += 1


def _consolidated(work: Round, counts: Counter[str], reasons: list[str]) -> None:
    found = proposed(work)
    counts.update(found.tokens)
    reasons += found.reasons
    for _, plan in found.plans:
        counts["merged"] += len(plan.merge)
        counts["superseded"] += len(plan.supersede)


def _split(work: Round, counts: Counter[str], reasons: list[str]) -> None:
    assert work.thinking is not None
    for cluster in dirty_clusters(work):
        if cluster.n_active < SPLIT_FROM:
            continue
        members = {node.node_id: node for node in work.nearest.members(cluster.cluster_id)}
        found = halves_of(work, list(members.values()))
        if found is None or not falls_apart(found, len(members)):
            continue
        first: list[Node] = [members[each] for each in found.first]
        thought = work.thinking.split(
            work.being_id, (first, [members[each] for each in found.second])
        )
        counts[INPUT_TOKENS] += thought.input_tokens
        counts[OUTPUT_TOKENS] += thought.output_tokens
        if thought.value is None:
            reasons.append(f"splitting: {thought.reason}")
        else:
            counts["split"] += int(thought.value.split)

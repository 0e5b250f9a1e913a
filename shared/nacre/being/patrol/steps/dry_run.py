"""A dry run: reports the decisions that a patrol would make now, and writes nothing.

Each scene is decided on its own. So several new scenes with the same meaning are counted as one
memory only if they also have the same words.
"""

from collections import Counter
from collections.abc import Sequence

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_MESSAGES, PENDING_SCENES, count_in, counters
from nacre.being.memory.model.types import Scene
from nacre.being.memory.store.recall_log import counted, recalled_nodes, waiting_recalls
from nacre.being.patrol.compare.scene_decision import InvalidScene, KnownEvent
from nacre.being.patrol.planning.plans import MergePlan
from nacre.being.patrol.run.claim import clock_of, pending_scenes
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.run.runs import Receipt
from nacre.being.patrol.steps.forget_memories import due_node_ids, faded
from nacre.being.patrol.steps.merge_memories import proposed_merges
from nacre.being.patrol.steps.split_clusters import proposed_splits
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import PATROL_FORGOTTEN, PATROL_MOVES, PATROL_RECALLS, PATROL_SCENES


def dry_run_receipt(context: RunContext) -> Receipt:
    """Return the receipt of a run that stops after its plans."""
    meta = counters(context.table, context.being_id)
    scenes = pending_scenes(context.table, context.being_id, limit=PATROL_SCENES)
    unread = count_in(meta, PENDING_MESSAGES)
    clock = clock_of(meta, context.run.today, is_active=bool(scenes or unread))
    counts: Counter[str] = Counter(scenes_taken=len(scenes))
    reasons: list[str] = []
    _count_assigned(context, scenes, counts)
    recalled_dead = _count_recalled_and_faded(context, clock, counts)
    partition = keys.revivable(context.being_id)
    revived = context.table.query(partition, index="gsi3", limit=PATROL_MOVES)
    counts["revived"] = len({str(item["sk"]) for item in revived.items} | recalled_dead)
    if context.planner is None:
        reasons.append("no_llm: consolidation skipped")
        reasons += ["no_llm: extraction skipped"] if unread else []
    else:
        reasons += ["a dry run does not read messages"] if unread else []
        _count_merges(context, counts, reasons)
    splits = proposed_splits(context)
    counts.update(splits.tokens)
    counts["split"] += len(splits.entries)
    reasons += splits.reasons
    backlog = max(0, count_in(meta, PENDING_SCENES) - len(scenes))
    nonzero = {name: count for name, count in counts.items() if count}
    run = replace(
        context.run,
        clock=clock,
        counts=dict(sorted(nonzero.items())),
        reasons=tuple(sorted(reasons)),
    )
    return replace(run.receipt, state="dry", backlog=backlog)


def _count_assigned(context: RunContext, scenes: Sequence[Scene], counts: Counter[str]) -> None:
    vectors = context.space.vectors_of(
        {scene.scene_id: scene.action for scene in scenes},
        context.neighbours.stored_subjects(scenes, context.space),
    )
    fingerprints: set[str] = set()
    for scene in scenes:
        decision = context.decider.decide(scene, vectors[scene.scene_id])
        if isinstance(decision, InvalidScene):
            counts["invalid"] += 1
        elif isinstance(decision, KnownEvent) or scene.fingerprint in fingerprints:
            counts["evidence_added"] += 1
        else:
            counts["nodes_created"] += 1
            fingerprints.add(scene.fingerprint)


def _count_recalled_and_faded(context: RunContext, clock: int, counts: Counter[str]) -> set[str]:
    """Count these memories, and return the ids of forgotten ones that recalls bring back."""
    touched = context.table.query(
        keys.touched(context.being_id), index="gsi3", limit=PATROL_FORGOTTEN
    )
    entries = waiting_recalls(context.table, context.being_id, limit=PATROL_RECALLS)
    counts["recalls"] = len(entries)
    recalled = recalled_nodes(context.table, context.being_id, entries)
    refreshed = {node_id for node_id, (node, _) in recalled.items() if node.is_living}
    counts["refreshed"] = len(refreshed.union(str(item["sk"]) for item in touched.items))
    due = due_node_ids(context, clock, PATROL_FORGOTTEN)
    unrecalled = [node_id for node_id in due if node_id not in refreshed]
    for node in context.memory.nodes.get_many(context.being_id, unrecalled).values():
        after = faded(node, clock)
        if after.status != node.status:
            counts[after.status] += 1
    return {
        node_id
        for node_id, (node, tally) in recalled.items()
        if counted(node, tally, context.run.now).is_revivable
    }


def _count_merges(context: RunContext, counts: Counter[str], reasons: list[str]) -> None:
    merges = proposed_merges(context)
    counts.update(merges.tokens)
    reasons += merges.reasons
    for entry in merges.entries:
        if isinstance(entry, dict) and isinstance(fields := entry.get("plan"), dict):
            plan = MergePlan.from_plain(fields)
            counts["merged"] += len(plan.merge)
            counts["superseded"] += len(plan.supersede)

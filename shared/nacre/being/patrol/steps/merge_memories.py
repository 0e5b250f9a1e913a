"""Consolidating: memories that say the same become one, in words that a model finds.

Only groups with a member that is new or dying are looked at, in clusters that changed. What the
model says is stored before anything is done, and then each group is one transaction.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any

from nacre.being.memory.model.merged_text import strongest_of, united
from nacre.being.memory.model.size_limit import has_room
from nacre.being.memory.model.types import Cluster, Node, merged_id_of
from nacre.being.memory.store.nodes import replacing
from nacre.being.memory.store.retry import settled
from nacre.being.patrol.compare.geometry import numbers
from nacre.being.patrol.planning.plans import MergePlan
from nacre.being.patrol.run.round import Round
from nacre.being.patrol.run.runs import INPUT_TOKENS, OUTPUT_TOKENS
from nacre.being.patrol.steps.cluster_changes import dirty_clusters, dirtying
from nacre.core.limits import MERGE_GROUP, PATROL_MERGES
from nacre.ports.embedder import Vector
from nacre.ports.items.table import Absent, Put, Value, Write

STEP = 4
PLAN = "MERGE"


@dataclass(frozen=True, slots=True)
class Proposals:
    """What a model would merge, group by group, and what asking it has cost."""

    plans: list[tuple[list[str], MergePlan]] = field(default_factory=list)
    considered: list[str] = field(default_factory=list)  # clusters with nothing left unasked
    reasons: list[str] = field(default_factory=list)
    tokens: Counter[str] = field(default_factory=Counter)


def consolidate(work: Round) -> None:
    """Merge what says the same and mark what is no longer so; decided for all groups first."""
    if work.run.step < STEP:
        if work.thinking is None:
            return
        _plan(work)
    for entry in work.runs.plan(work.being_id, work.run.seq, PLAN) or []:
        if isinstance(entry.get("plan"), dict):
            settled(partial(_apply, work, entry))
            work.keep()


def considered(work: Round) -> frozenset[str]:
    """Return the clusters in which nothing was left unasked."""
    entries = work.runs.plan(work.being_id, work.run.seq, PLAN) or []
    return frozenset(
        each for entry in entries for each in entry.get("considered", ()) if isinstance(each, str)
    )


def groups_of(
    cluster: Cluster, members: Sequence[Node], vectors: Mapping[str, Vector], near: "Nearness"
) -> list[list[str]]:
    """Return the groups of 2 to 6 members that may say the same, each with a new or dying one."""
    around = {node.node_id: numbers(vectors[node.node_id]) for node in members}
    by_id = {node.node_id: node for node in members}
    pairs = []
    for one, other in combinations(sorted(by_id), 2):
        nearness = round(near.between(around[one], around[other]), 6)
        if nearness >= near.least(by_id[one]):
            pairs.append((-nearness, one, other))
    group_of = {node_id: [node_id] for node_id in by_id}
    for _, one, other in sorted(pairs):  # the nearest first, so that a full group is a good one
        first, second = group_of[one], group_of[other]
        if first is not second and len(first) + len(second) <= MERGE_GROUP:
            first += second
            group_of.update(dict.fromkeys(second, first))
    distinct = {id(group): sorted(group) for group in group_of.values() if len(group) > 1}
    return sorted(
        group
        for group in distinct.values()
        if any(_is_fresh(by_id[node_id], cluster) for node_id in group)
    )


class Nearness:
    """How near two memories are, and how near those are that may say the same."""

    def __init__(self, work: Round) -> None:
        self.between = work.space.nearness
        self._alike = work.space.alike

    def least(self, node: Node) -> float:
        """Return the nearness from which a memory may say the same as this one."""
        return self._alike(node.action)


def _is_fresh(node: Node, cluster: Cluster) -> bool:
    is_new = cluster.considered is None or node.created_at > cluster.considered
    return is_new or node.status == "dying"


def proposed(work: Round) -> Proposals:
    """Ask the model about the groups of all clusters that changed; nothing is stored."""
    assert work.thinking is not None
    found = Proposals()
    asked = 0
    for cluster in dirty_clusters(work):
        if cluster.state != "active" or cluster.n_active < 2:
            continue
        members = {node.node_id: node for node in work.nearest.members(cluster.cluster_id)}
        vectors = work.nearest.subjects(list(members.values()), work.space)
        groups = groups_of(cluster, list(members.values()), vectors, Nearness(work))
        answered = 0
        for group in groups[: PATROL_MERGES - asked]:
            asked += 1
            thought = work.thinking.consolidate(
                work.being_id, [members[node_id] for node_id in group]
            )
            work.keep()
            found.tokens[INPUT_TOKENS] += thought.input_tokens
            found.tokens[OUTPUT_TOKENS] += thought.output_tokens
            if thought.value is None:
                found.reasons.append(f"consolidation: {thought.reason}")
                continue
            answered += 1
            if (fault := fault_of(thought.value, group)) is not None:
                found.reasons.append(f"consolidation: {fault}")
            elif thought.value.merge or thought.value.supersede:
                found.plans.append((group, thought.value))
        if answered == len(groups):
            found.considered.append(cluster.cluster_id)
    return found


def _plan(work: Round) -> None:
    found = proposed(work)
    entries: list[Value] = [
        {"group": list(group), "plan": plan.to_plain()} for group, plan in found.plans
    ]
    entries.append({"considered": list(found.considered)})
    work.ledger.plan(PLAN, entries, step=STEP, reasons=found.reasons, counts=found.tokens)


def fault_of(plan: MergePlan, group: Sequence[str]) -> str | None:
    """Return what is wrong with a plan for this group, or None."""
    named = {*plan.merge, *(each for pair in plan.supersede for each in (pair.old, pair.new))}
    if not named <= set(group):
        return "the model named a memory that it was not asked about"
    if len(set(plan.merge)) == 1:
        return "the model merged a memory with itself"
    if any(pair.old in plan.merge or pair.old == pair.new for pair in plan.supersede):
        return "the model superseded a memory that it kept"
    return None


def _apply(work: Round, entry: dict[str, Any]) -> None:
    plan = MergePlan.from_plain(entry["plan"])
    ids = sorted(set(plan.merge))
    merged_id = merged_id_of(ids)
    old_ids = [pair.old for pair in plan.supersede]
    found = work.memory.nodes.get_many(work.being_id, [*ids, merged_id, *old_ids])
    before = found.get(merged_id)
    writes: list[Write] = []
    live: list[Node] = []
    gone: list[str] = []
    counts: dict[str, int] = {}
    sources = [found[each] for each in ids if each in found and found[each].is_living]
    can_merge = len(ids) > 1 and len(sources) == len(ids) and before is None and bool(plan.action)
    if can_merge and not has_room(sources):
        can_merge = False
        work.ledger.note("consolidation: memories of more scenes than one can hold stay apart")
    if can_merge:
        new = _merged(work, plan, merged_id, sources)
        writes.append(Put(new.to_item(work.being_id), Absent()))
        writes += [replacing(work.being_id, each, _into(each, merged_id)) for each in sources]
        for cluster_id in sorted({each.cluster_id or "" for each in sources}):
            fewer = sum(each.cluster_id == cluster_id for each in sources)
            members = int(new.cluster_id == cluster_id) - fewer
            writes += dirtying(work, cluster_id or None, members=members)
        live, gone = [new], [each.node_id for each in sources]
        counts["merged"] = len(sources)
    for pair in plan.supersede:
        old = found.get(pair.old)
        by = merged_id if pair.new in ids and (can_merge or before is not None) else pair.new
        if old is not None and old.is_living and old.superseded_by is None:
            after = replace(old, superseded_by=by, version=old.version + 1)
            writes.append(replacing(work.being_id, old, after))
            counts["superseded"] = counts.get("superseded", 0) + 1
    if writes:
        if live:
            writes += work.telling.writes(live, gone)
        work.ledger.commit(writes, counts=counts)
        work.telling.tell(writes)


def _merged(work: Round, plan: MergePlan, merged_id: str, sources: Sequence[Node]) -> Node:
    return replace(
        united(sources, work.run.clock),
        node_id=merged_id,
        action=plan.action,
        feeling=plan.feeling or strongest_of(sources).feeling,
        created_at=work.run.now,
        version=1,
    )


def _into(source: Node, merged_id: str) -> Node:
    return replace(
        source,
        status="merged",
        status_before=source.status,
        merged_into=merged_id,
        version=source.version + 1,
    )

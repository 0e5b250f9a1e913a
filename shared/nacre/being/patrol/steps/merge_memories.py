"""The step that merges: memories that say the same become one, in words that a model writes.

Only groups with a new or dying member are considered, in clusters that changed. All answers of the
model are stored first; then each group is merged in one transaction.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

from nacre.being.memory.model.merged_node import merged_node, strongest_of
from nacre.being.memory.model.size_limit import fits_in_one_node
from nacre.being.memory.model.types import Cluster, Node, merged_id_of
from nacre.being.memory.search.changed_facts import Fact, tells_of_change
from nacre.being.memory.store.evidence import node_writes
from nacre.being.memory.store.nodes import replacing
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.patrol.compare.geometry import numbers
from nacre.being.patrol.planning.plans import MergePlan, Proposals
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.steps.cluster_changes import dirty_clusters, dirtying
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import MERGE_GROUP, PATROL_MERGES
from nacre.ports.items.table import Absent, Value, Write
from nacre.ports.vectors.embedder import Vector

STEP = 4
PLAN = "MERGE"


def merge(context: RunContext) -> None:
    """Merge memories that say the same, and mark superseded ones; all is decided before."""
    if context.run.step < STEP:
        if context.planner is None:
            return
        proposals = proposed_merges(context)
        context.ledger.plan(
            PLAN, proposals.entries, step=STEP, reasons=proposals.reasons, counts=proposals.tokens
        )
    for entry in context.plan(PLAN) or []:
        if isinstance(entry.get("plan"), dict):
            retry_on_conflict(partial(_apply, context, entry))
            context.renew_lease()


def considered_clusters(context: RunContext) -> frozenset[str]:
    """Return the clusters all of whose groups the model has answered for."""
    entries = context.plan(PLAN) or []
    return frozenset(
        cluster_id
        for entry in entries
        for cluster_id in entry.get("considered", ())
        if isinstance(cluster_id, str)
    )


def groups_of(
    context: RunContext,
    cluster: Cluster,
    members: Sequence[Node],
    vectors: Mapping[str, Vector],
) -> list[list[str]]:
    """Return groups of 2 to 6 members that may say the same, each with a new or dying member."""
    numbers_of = {node.node_id: numbers(vectors[node.node_id]) for node in members}
    by_id = {node.node_id: node for node in members}
    pairs = []
    for first_id, second_id in combinations(sorted(by_id), 2):
        nearness = round(context.space.nearness(numbers_of[first_id], numbers_of[second_id]), 6)
        if nearness >= context.space.alike(by_id[first_id].action):
            pairs.append((-nearness, first_id, second_id))
    group_of = {node_id: [node_id] for node_id in by_id}
    for _, first_id, second_id in sorted(pairs):  # the nearest first, so that full groups are good
        first, second = group_of[first_id], group_of[second_id]
        if first is not second and len(first) + len(second) <= MERGE_GROUP:
            first += second
            group_of.update(dict.fromkeys(second, first))
    distinct = {id(group): sorted(group) for group in group_of.values() if len(group) > 1}
    return sorted(
        group
        for group in distinct.values()
        if any(_is_fresh(by_id[node_id], cluster) for node_id in group)
    )


def changed_pairs(
    context: RunContext,
    cluster: Cluster,
    members: Mapping[str, Node],
    vectors: Mapping[str, Vector],
) -> list[tuple[Node, Node]]:
    """Return pairs of memories, in any clusters, of which the later may supersede the older.

    Texts about a fact that changed need not be close ("lives in Bonn", "moved to Ulm"), so these
    pairs come from the people and the subject. Each has a new member of this cluster.
    """
    pairs: dict[tuple[str, str], tuple[Node, Node]] = {}
    for node in members.values():
        if not _is_fresh(node, cluster):
            continue
        near = context.neighbours.around(vectors[node.node_id], node.action, context.space)
        others = context.memory.nodes.get_many(context.being_id, near.node_ids)
        for other in others.values():
            older, newer = sorted((node, other), key=lambda memory: Fact.of(memory).since)
            if (
                other.is_living
                and older.superseded_by is None
                and tells_of_change(Fact.of(older), Fact.of(newer))
            ):
                pairs[older.node_id, newer.node_id] = (older, newer)
    return [pairs[ids] for ids in sorted(pairs)]


def _is_fresh(node: Node, cluster: Cluster) -> bool:
    is_new = cluster.considered is None or node.created_at > cluster.considered
    return is_new or node.status == "dying"


def proposed_merges(context: RunContext) -> Proposals:
    """Ask the model about the groups of all dirty clusters, without storing anything."""
    assert context.planner is not None
    proposals = Proposals()
    considered: list[Value] = []  # clusters all of whose groups the model has answered for
    questions = 0
    sent: list[list[str]] = []  # a pair of two clusters is sent once
    for cluster in dirty_clusters(context):
        if cluster.state != "active":
            continue
        members = {node.node_id: node for node in context.neighbours.members(cluster.cluster_id)}
        vectors = context.neighbours.subjects(list(members.values()), context.space)
        groups = groups_of(context, cluster, list(members.values()), vectors)
        for older, newer in changed_pairs(context, cluster, members, vectors):
            pair = sorted((older.node_id, newer.node_id))
            if not any({*pair} <= {*group} for group in (*groups, *sent)):
                members |= {older.node_id: older, newer.node_id: newer}
                groups.append(pair)
        answers = 0
        for group in groups[: PATROL_MERGES - questions]:
            questions += 1
            sent.append(group)
            result = context.planner.consolidate(
                context.being_id, [members[node_id] for node_id in group]
            )
            context.renew_lease()
            proposals.tokens.update(result.tokens)
            if result.value is None:
                proposals.reasons.append(f"consolidation: {result.reason}")
                continue
            answers += 1
            if (fault := fault_of(result.value, group)) is not None:
                proposals.reasons.append(f"consolidation: {fault}")
            elif result.value.merge or result.value.supersede:
                plan = result.value.to_plain()
                proposals.entries.append({"group": list(group), "plan": plan})
        if answers == len(groups):
            considered.append(cluster.cluster_id)
    proposals.entries.append({"considered": considered})
    return proposals


def fault_of(plan: MergePlan, group: Sequence[str]) -> str | None:
    """Return the reason why a plan for this group cannot be used, or None."""
    node_ids = {
        *plan.merge,
        *(node_id for pair in plan.supersede for node_id in (pair.old, pair.new)),
    }
    if not node_ids <= set(group):
        return "the model named a memory that it was not asked about"
    if len(set(plan.merge)) == 1:
        return "the model merged a memory with itself"
    if any(pair.old in plan.merge or pair.old == pair.new for pair in plan.supersede):
        return "the model superseded a memory that it kept"
    return None


def _apply(context: RunContext, entry: dict[str, Any]) -> None:
    plan = MergePlan.from_plain(entry["plan"])
    ids = sorted(set(plan.merge))
    merged_id = merged_id_of(ids)
    pair_ids = [node_id for pair in plan.supersede for node_id in (pair.old, pair.new)]
    nodes = context.memory.nodes.get_many(context.being_id, [*ids, merged_id, *pair_ids])
    before = nodes.get(merged_id)
    writes: list[Write] = []
    live: list[Node] = []
    gone: list[str] = []
    counts: dict[str, int] = {}
    sources = [nodes[id_] for id_ in ids if id_ in nodes and nodes[id_].is_living]
    can_merge = len(ids) > 1 and len(sources) == len(ids) and before is None and bool(plan.action)
    if can_merge and not fits_in_one_node(sources):
        can_merge = False
        context.ledger.note("consolidation: memories of more scenes than one can hold stay apart")
    if can_merge:
        new = _merged(context, plan, merged_id, sources)
        writes += node_writes(context.being_id, new, when=Absent())
        writes += [
            replacing(context.being_id, source, _into(source, merged_id)) for source in sources
        ]
        for cluster_id in sorted({source.cluster_id or "" for source in sources}):
            fewer = sum(source.cluster_id == cluster_id for source in sources)
            members = int(new.cluster_id == cluster_id) - fewer
            writes += dirtying(context, cluster_id or None, members=members)
        live, gone = [new], [source.node_id for source in sources]
        counts["merged"] = len(sources)
    for pair in plan.supersede:
        old = nodes.get(pair.old)
        by = merged_id if pair.new in ids and (can_merge or before is not None) else pair.new
        newer = nodes.get(pair.new)
        is_hidden = newer is not None and newer.status == "hidden"  # since the plan was made
        if old is not None and old.is_living and old.superseded_by is None and not is_hidden:
            until = None if newer is None else min(newer.when, default=None)
            after = replace(old, superseded_by=by, valid_until=until, version=old.version + 1)
            writes.append(replacing(context.being_id, old, after))
            live.append(after)
            counts["superseded"] = counts.get("superseded", 0) + 1
    if writes:
        writes += context.index_updates.writes(live, gone)
        context.commit(writes, counts=counts)


def _merged(context: RunContext, plan: MergePlan, merged_id: str, sources: Sequence[Node]) -> Node:
    return replace(
        merged_node(context.memory.nodes.whole(context.being_id, sources), context.run.clock),
        node_id=merged_id,
        action=plan.action,
        feeling=plan.feeling or strongest_of(sources).feeling,
        created_at=context.run.now,
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

"""The step that renews clusters: all that follows from the members is computed and written."""

from collections.abc import Sequence
from functools import cached_property

from nacre.being.memory.index.cluster_vectors import (
    ClusterMean,
    ClusterMeans,
    Mean,
    mean_of,
    vector_place,
)
from nacre.being.memory.model.cluster_weight import cluster_weight
from nacre.being.memory.model.lineage import untrusted_origins
from nacre.being.memory.model.types import Cluster, Node
from nacre.being.memory.store.clusters import replacing
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.patrol.compare.geometry import mean as place_mean
from nacre.being.patrol.compare.geometry import packed
from nacre.being.patrol.compare.grouping import circumstances
from nacre.being.patrol.compare.space import HASHED, hashed
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.steps.cluster_changes import dirty_clusters
from nacre.being.patrol.steps.cluster_digests import Background, digest_of, themes_of
from nacre.being.patrol.steps.cluster_labels import label_of
from nacre.being.patrol.steps.merge_memories import considered_clusters
from nacre.core.errors import ConditionFailedError
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import PATROL_DIGESTS
from nacre.ports.items.table import Delete, Item, Put, Write

_BATCH = 10  # clusters in one transaction
_DESCRIBED = 3  # members; a model is not asked about smaller clusters
_SAMPLE = 200  # memories that show which words are common


@dataclass(frozen=True, slots=True)
class _Renewal:
    cluster: Cluster  # as it was read
    writes: tuple[Write, ...]
    counts: dict[str, int]
    reasons: tuple[str, ...]


def renew(context: RunContext) -> None:
    """Renew every dirty cluster."""
    renewing = _Renewing(context, considered_clusters(context))
    dirty = sorted(
        (cluster for cluster in dirty_clusters(context) if cluster.state == "active"),
        key=lambda cluster: (-cluster.n_active, cluster.cluster_id),
    )
    questions_left = PATROL_DIGESTS - context.ledger.counts().get("digests_llm", 0)
    for first in range(0, len(dirty), _BATCH):
        batch = []
        for cluster in dirty[first : first + _BATCH]:
            renewal = renewing.of(cluster, may_ask=questions_left > 0)
            questions_left -= renewal.counts.get("digests_llm", 0)
            batch.append(renewal)
        try:
            _commit(context, batch)
        except ConditionFailedError:  # one of them has been changed meanwhile
            for renewal in batch:
                retry_on_conflict(lambda id_=renewal.cluster.cluster_id: renewing.again(id_))  # type: ignore[misc]
        context.renew_lease()


def _commit(context: RunContext, batch: Sequence[_Renewal]) -> None:
    counts: dict[str, int] = {}
    for renewal in batch:
        for name, count in renewal.counts.items():
            counts[name] = counts.get(name, 0) + count
    context.ledger.commit(
        [write for renewal in batch for write in renewal.writes],
        counts=counts,
        reasons=[reason for renewal in batch for reason in renewal.reasons],
    )


@dataclass(frozen=True)
class _Renewing:
    context: RunContext
    considered: frozenset[str]

    @cached_property
    def background(self) -> Background:
        newest = self.context.memory.nodes.recent(self.context.being_id, limit=_SAMPLE)
        return Background(newest.nodes)

    def again(self, cluster_id: str) -> None:
        cluster = self.context.memory.clusters.get(self.context.being_id, cluster_id)
        if cluster is not None and cluster.dirty and cluster.state == "active":
            _commit(self.context, [self.of(cluster, may_ask=False)])

    def of(self, cluster: Cluster, *, may_ask: bool) -> _Renewal:
        members = self.context.neighbours.members(cluster.cluster_id)
        days = [day for node in members for day in node.when]
        themes = themes_of(members, self.background)
        digest = digest_of(members, themes, self.context.run.clock)
        if members:
            before = cluster.label if cluster.digest_source == "rules" else ""
            label = label_of(members, self.background, themes, before)
            digest = replace(digest, label=label)
        counts = {"renewed": 1}
        reasons: list[str] = []
        by_model = False
        if may_ask and self.context.planner is not None and len(members) >= _DESCRIBED:
            result = self.context.planner.digest(self.context.being_id, cluster, members)
            self.context.renew_lease()
            counts |= result.tokens
            if result.value is None:
                reasons.append(f"digests: {result.reason}")
            else:
                digest, by_model = result.value, True
                counts["digests_llm"] = 1
        # An index of AWS may lag behind recent moves; then the next run renews it again.
        is_settled = len(members) == cluster.n_active
        counts["unsettled"] = int(not is_settled)
        is_considered = cluster.cluster_id in self.considered
        after = replace(
            cluster,
            label=digest.label,
            digest=digest.digest,
            digest_source="llm" if by_model else "rules",
            n_active=len(members),
            themes=themes,
            origins=untrusted_origins(members),
            first_day=min(days, default=None),
            last_day=max(days, default=None),
            weight=cluster_weight(members),
            considered=self.context.run.now if is_considered else cluster.considered,
            dirty=not is_settled,
            version=cluster.version + 1,
        )
        item = self._vectors(cluster.cluster_id, members)
        place = vector_place(self.context.being_id, cluster.cluster_id)
        return _Renewal(
            cluster,
            (
                replacing(self.context.being_id, after, version=cluster.version),
                Delete(place) if item is None else Put(item),
            ),
            counts,
            tuple(reasons),
        )

    def _vectors(self, cluster_id: str, members: Sequence[Node]) -> Item | None:
        means = self._means(members)
        if not means:
            return None
        place = packed(place_mean([circumstances(node) for node in members]))
        return ClusterMean(means, place).to_item(self.context.being_id, cluster_id, len(members))

    def _means(self, members: Sequence[Node]) -> dict[str, Mean]:
        if self.context.space.emb_id == HASHED:
            mean = mean_of([hashed(node.action) for node in members])
            return {} if mean is None else {HASHED: mean}
        means = ClusterMeans(self.context.table, self.context.memory.nodes, self.context.indexing)
        return means.of(self.context.being_id, [node.node_id for node in members])

"""Renewing: everything about a cluster that follows from its members, in one write."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from nacre.being.memory.index.cluster_vectors import (
    LENGTH_OF,
    ClusterMeans,
    cluster_item,
    mean_of,
    vector_place,
)
from nacre.being.memory.index.vector_items import VECTOR_OF
from nacre.being.memory.model.types import Cluster, Node
from nacre.being.memory.store.clusters import replacing
from nacre.being.memory.store.retry import settled
from nacre.being.patrol.compare.hashed_vectors import HASHED, hashed
from nacre.being.patrol.run.round import Round
from nacre.being.patrol.run.runs import INPUT_TOKENS, OUTPUT_TOKENS
from nacre.being.patrol.steps.cluster_changes import dirty_clusters
from nacre.being.patrol.steps.cluster_digests import Background, digest_of, themes_of
from nacre.core.errors import ConditionFailedError
from nacre.core.limits import PATROL_DIGESTS
from nacre.ports.items.table import Delete, Item, Put, Write

_AT_ONCE = 10  # clusters in one transaction
_DESCRIBED = 3  # members, from which a model is worth asking
_SAMPLE = 200  # memories that say which words are common


@dataclass(frozen=True, slots=True)
class _Renewal:
    cluster: Cluster  # as it was read
    writes: tuple[Write, ...]
    counts: dict[str, int]
    reasons: tuple[str, ...]


def renew(work: Round, considered: frozenset[str]) -> None:
    """Renew every dirty cluster; `considered` are those whose groups a model has looked at."""
    renewing = _Renewing(work, considered)
    dirty = sorted(
        (each for each in dirty_clusters(work) if each.state == "active"),
        key=lambda each: (-each.n_active, each.cluster_id),
    )
    room = PATROL_DIGESTS - work.ledger.counts().get("digests_llm", 0)
    for first in range(0, len(dirty), _AT_ONCE):
        some = []
        for cluster in dirty[first : first + _AT_ONCE]:
            found = renewing.of(cluster, may_ask=room > 0)
            room -= found.counts.get("digests_llm", 0)
            some.append(found)
        try:
            _commit(work, some)
        except ConditionFailedError:  # somebody has changed one of them meanwhile
            for found in some:
                settled(lambda id_=found.cluster.cluster_id: renewing.again(id_))  # type: ignore[misc]
        work.keep()


def _commit(work: Round, some: Sequence[_Renewal]) -> None:
    counts: dict[str, int] = {}
    for found in some:
        for name, count in found.counts.items():
            counts[name] = counts.get(name, 0) + count
    work.ledger.commit(
        [write for found in some for write in found.writes],
        counts=counts,
        reasons=[reason for found in some for reason in found.reasons],
    )


@dataclass(frozen=True)
class _Renewing:
    work: Round
    considered: frozenset[str]

    @cached_property
    def background(self) -> Background:
        newest = self.work.memory.nodes.recent(self.work.being_id, limit=_SAMPLE)
        return Background(newest.nodes)

    def again(self, cluster_id: str) -> None:
        cluster = self.work.memory.clusters.get(self.work.being_id, cluster_id)
        if cluster is not None and cluster.dirty and cluster.state == "active":
            _commit(self.work, [self.of(cluster, may_ask=False)])

    def of(self, cluster: Cluster, *, may_ask: bool) -> _Renewal:
        members = self.work.nearest.members(cluster.cluster_id)
        days = [day for node in members for day in node.when]
        themes = themes_of(members, self.background)
        told = digest_of(members, themes, self.work.run.clock)
        counts = {"renewed": 1}
        reasons: list[str] = []
        by_model = False
        if may_ask and self.work.thinking is not None and len(members) >= _DESCRIBED:
            thought = self.work.thinking.digest(self.work.being_id, cluster, members)
            self.work.keep()
            counts |= {INPUT_TOKENS: thought.input_tokens, OUTPUT_TOKENS: thought.output_tokens}
            if thought.value is None:
                reasons.append(f"digests: {thought.reason}")
            else:
                told, by_model = thought.value, True
                counts["digests_llm"] = 1
        # An index of AWS may lag behind what was moved: then the next run looks again.
        is_settled = len(members) == cluster.n_active
        counts["unsettled"] = int(not is_settled)
        is_considered = cluster.cluster_id in self.considered
        after = replace(
            cluster,
            label=told.label,
            digest=told.digest,
            digest_source="llm" if by_model else "rules",
            n_active=len(members),
            themes=themes,
            first_day=min(days, default=None),
            last_day=max(days, default=None),
            considered=self.work.run.now if is_considered else cluster.considered,
            dirty=not is_settled,
            version=cluster.version + 1,
        )
        item = self._vectors(cluster.cluster_id, members)
        place = vector_place(self.work.being_id, cluster.cluster_id)
        return _Renewal(
            cluster,
            (
                replacing(self.work.being_id, after, version=cluster.version),
                Delete(place) if item is None else Put(item),
            ),
            counts,
            tuple(reasons),
        )

    def _vectors(self, cluster_id: str, members: Sequence[Node]) -> Item | None:
        if self.work.space.emb_id == HASHED:
            mean = mean_of([hashed(node.action) for node in members])
            if mean is None:
                return None
            found: Item = {VECTOR_OF + HASHED: mean[0], LENGTH_OF + HASHED: mean[1]}
            return cluster_item(self.work.being_id, cluster_id, len(members), found)
        means = ClusterMeans(self.work.table, self.work.memory.nodes, self.work.indexing)
        return means.item(self.work.being_id, cluster_id, [node.node_id for node in members])

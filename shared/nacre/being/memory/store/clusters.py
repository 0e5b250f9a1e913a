"""The clusters of a Being in the item store."""

from collections.abc import Iterable

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Cluster
from nacre.being.memory.store.partitions import records_by_id
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Absent, Change, Compare, Key, Present, Put, Table, Update

_OTHERS = 200  # clusters that are read to find large ones


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """Some clusters in the order of their ids; `next` is where to continue."""

    clusters: tuple[Cluster, ...]
    next: str | None


class Clusters:
    """Reads and writes clusters."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, being_id: str, cluster_id: str) -> Cluster | None:
        """Return the cluster, or None."""
        return self.get_many(being_id, [cluster_id]).get(cluster_id)

    def get_many(self, being_id: str, cluster_ids: Iterable[str]) -> dict[str, Cluster]:
        """Return the clusters that exist, by id."""
        return records_by_id(self._table, Cluster, keys.clusters(being_id), cluster_ids)

    def page(
        self, being_id: str, *, limit: int | None = None, start: str | None = None
    ) -> ClusterPage:
        """Return clusters, retired ones included."""
        page = self._table.query(keys.clusters(being_id), limit=limit, start=start)
        return ClusterPage(tuple(map(Cluster.from_item, page.items)), page.next)

    def active(self, being_id: str) -> list[Cluster]:
        """Return all clusters that are not retired, the largest first, then by id."""
        clusters = map(Cluster.from_item, every_item(self._table, keys.clusters(being_id)))
        active = [cluster for cluster in clusters if cluster.state == "active"]
        return sorted(active, key=_by_size)

    def weightiest(self, being_id: str, *, limit: int) -> list[Cluster]:
        """Return the active clusters that matter most, and large ones without a weight after them.

        A cluster of an older version has no weight until a patrol renews it.
        """
        page = self._table.query(
            keys.subjects(being_id), index="gsi1", descending=True, limit=limit
        )
        weighty = list(map(Cluster.from_item, page.items))
        if len(weighty) < limit:
            ids = {cluster.cluster_id for cluster in weighty}
            others = [
                cluster
                for cluster in self.page(being_id, limit=_OTHERS).clusters
                if cluster.state == "active" and cluster.cluster_id not in ids
            ]
            weighty += sorted(others, key=_by_size)
        return weighty[:limit]

    def with_predecessors(self, being_id: str, cluster_ids: Iterable[str]) -> list[Cluster]:
        """Return these clusters, and recursively the retired ones whose members they have."""
        clusters = [
            Cluster.from_item(item) for item in every_item(self._table, keys.clusters(being_id))
        ]
        ids = set(cluster_ids)
        while more := {c.cluster_id for c in clusters if ids & set(c.children)} - ids:
            ids |= more
        return [cluster for cluster in clusters if cluster.cluster_id in ids]

    def add(self, being_id: str, cluster: Cluster) -> None:
        """Store a new cluster; raises ConditionFailedError when its id is taken."""
        self._table.put(cluster.to_item(being_id), when=Absent())

    def replace(self, being_id: str, cluster: Cluster, *, version: int) -> None:
        """Replace this version of a cluster."""
        self._table.put(cluster.to_item(being_id), when=Compare("version", "=", version))


def _by_size(cluster: Cluster) -> tuple[int, str]:
    return -cluster.n_active, cluster.cluster_id


def replacing(being_id: str, cluster: Cluster, *, version: int) -> Put:
    """Return the write of `Clusters.replace`."""
    return Put(cluster.to_item(being_id), Compare("version", "=", version))


def without_summary(cluster: Cluster, *, fewer: int) -> Cluster:
    """Return a cluster with so many members fewer, and without texts made from its members."""
    return replace(
        cluster,
        label="",
        digest="",
        digest_source="rules",
        themes=(),
        origins=(),
        first_day=None,
        last_day=None,
        n_active=max(0, cluster.n_active - fewer),
        dirty=cluster.state == "active",
        version=cluster.version + 1,
    )


def marking_dirty(being_id: str, cluster_id: str, *, members: int = 0) -> Update:
    """Return the write that asks the next patrol to renew the derived fields of a cluster.

    `members` is added to its count of living nodes.
    """
    change = Change(
        set={"dirty": True, "gsi3pk": keys.dirty(being_id), "gsi3sk": cluster_id},
        add={"version": 1, **({"n_active": members} if members else {})},
    )
    return Update(Key(keys.clusters(being_id), cluster_id), change, Present())

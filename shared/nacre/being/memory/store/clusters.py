"""Clusters: nodes that belong together, as they are listed and marked for renewal."""

from collections.abc import Iterable
from dataclasses import dataclass

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Cluster
from nacre.ports.items.table import Absent, Change, Compare, Key, Present, Put, Table, Update


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """Some clusters in the order of their ids; `next` is where more begin."""

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
        places = [Key(keys.clusters(being_id), each) for each in cluster_ids if each]
        found = self._table.get_many(places)
        return {place.sk: Cluster.from_item(item) for place, item in found.items()}

    def page(
        self, being_id: str, *, limit: int | None = None, start: str | None = None
    ) -> ClusterPage:
        """Return clusters, retired ones included."""
        page = self._table.query(keys.clusters(being_id), limit=limit, start=start)
        return ClusterPage(tuple(map(Cluster.from_item, page.items)), page.next)

    def active(self, being_id: str) -> list[Cluster]:
        """Return all clusters that have members, the largest first, then by id."""
        active = []
        start = None
        while True:
            page = self.page(being_id, start=start)
            active += [cluster for cluster in page.clusters if cluster.state == "active"]
            if (start := page.next) is None:
                return sorted(active, key=lambda each: (-each.n_active, each.cluster_id))

    def add(self, being_id: str, cluster: Cluster) -> None:
        """Store a new cluster; raises ConditionFailedError when its id is taken."""
        self._table.put(cluster.to_item(being_id), when=Absent())

    def replace(self, being_id: str, cluster: Cluster, *, version: int) -> None:
        """Store a cluster in the place of this version of it."""
        self._table.put(cluster.to_item(being_id), when=Compare("version", "=", version))


def replacing(being_id: str, cluster: Cluster, *, version: int) -> Put:
    """Return the write that does what `Clusters.replace` does."""
    return Put(cluster.to_item(being_id), Compare("version", "=", version))


def marking_dirty(being_id: str, cluster_id: str, *, members: int = 0) -> Update:
    """Return the write that asks the next patrol to renew what follows from the members.

    `members` is by how many living ones they become more.
    """
    change = Change(
        set={"dirty": True, "gsi3pk": keys.dirty(being_id), "gsi3sk": cluster_id},
        add={"version": 1, **({"n_active": members} if members else {})},
    )
    return Update(Key(keys.clusters(being_id), cluster_id), change, Present())

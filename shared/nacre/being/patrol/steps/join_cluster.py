"""A memory's home: the cluster it joins, or a new one that begins with it."""

import uuid
from collections.abc import Sequence

from nacre.being.memory.index.cluster_vectors import LENGTH_OF, cluster_item
from nacre.being.memory.index.vector_items import VECTOR_OF
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Cluster
from nacre.being.patrol.compare.geometry import dot, numbers, packed
from nacre.being.patrol.compare.nearest import Home, mean_in
from nacre.being.patrol.run.round import Round
from nacre.core.limits import CLUSTER_MEMBERS
from nacre.ports.embedder import Vector
from nacre.ports.items.table import Absent, Change, Compare, Every, Item, Key, Put, Update, Write

_CLUSTERS = uuid.UUID("6e616372-6500-5000-8000-636c75737465")


def new_cluster_id(node_id: str, run_id: str) -> str:
    """Return the id of the cluster that a run begins with this node."""
    return str(uuid.uuid5(_CLUSTERS, f"{node_id}:{run_id}"))


def cluster_of(work: Round, home: Home | None, node_id: str) -> str:
    """Return the id of the cluster, the new one where there is no home yet."""
    return new_cluster_id(node_id, work.run.run_id) if home is None else home.cluster.cluster_id


def joining(work: Round, home: Home | None, cluster_id: str, vector: Vector) -> list[Write]:
    """Return the writes that count a further member in, and move the mean.

    They hold only while the cluster is as it was read, so no two members take one place.
    """
    if home is None:
        cluster = Cluster(cluster_id=cluster_id, created_at=work.run.now, n_active=1, dirty=True)
        return [
            Put(cluster.to_item(work.being_id), Absent()),
            Put(_vectors(work, cluster_id, 1, {}, [numbers(vector)])),
        ]
    before = home.cluster.n_active
    same = Every(
        (
            Compare("version", "=", home.cluster.version),
            Compare("state", "=", "active"),
            Compare("n_active", "<", CLUSTER_MEMBERS),
        )
    )
    change = Change(
        set={"dirty": True, "gsi3pk": keys.dirty(work.being_id), "gsi3sk": cluster_id},
        add={"version": 1, "n_active": 1},
    )
    sums = [numbers(vector)]
    if home.vector is not None and before > 0:
        sums.append(tuple(before * part for part in mean_in(home)))
    return [
        Update(Key(keys.clusters(work.being_id), cluster_id), change, same),
        Put(_vectors(work, cluster_id, before + 1, home.vectors, sums)),
    ]


def _vectors(
    work: Round, cluster_id: str, count: int, kept: Item, sums: Sequence[Sequence[float]]
) -> Item:
    emb_id = work.space.emb_id
    found = {name: value for name, value in kept.items() if name.startswith((VECTOR_OF, LENGTH_OF))}
    total = tuple(map(sum, zip(*sums, strict=True)))
    length = dot(total, total) ** 0.5
    if length:
        found[VECTOR_OF + emb_id] = packed([part / length for part in total])
        found[LENGTH_OF + emb_id] = length / count
    return cluster_item(work.being_id, cluster_id, count, found)

"""The writes with which a memory joins a cluster, or begins a new one."""

import uuid
from collections.abc import Mapping, Sequence

from nacre.being.memory.index.cluster_vectors import ClusterMean, Mean
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Cluster, SceneText
from nacre.being.patrol.compare.geometry import Numbers, dot, numbers, packed
from nacre.being.patrol.compare.grouping import circumstances
from nacre.being.patrol.compare.neighbours import CandidateCluster, cluster_mean
from nacre.being.patrol.run.context import RunContext
from nacre.core.limits import CLUSTER_MEMBERS
from nacre.ports.items.table import Absent, Change, Compare, Every, Item, Key, Put, Update, Write
from nacre.ports.vectors.embedder import Vector

_CLUSTERS = uuid.UUID("6e616372-6500-5000-8000-636c75737465")


def new_cluster_id(node_id: str, run_id: str) -> str:
    """Return the id of the cluster that a run begins with this node."""
    return str(uuid.uuid5(_CLUSTERS, f"{node_id}:{run_id}"))


def cluster_id_for(context: RunContext, candidate: CandidateCluster | None, node_id: str) -> str:
    """Return the id of the cluster, or the id of a new one if there is none."""
    return (
        new_cluster_id(node_id, context.run.run_id)
        if candidate is None
        else candidate.cluster.cluster_id
    )


def joining(
    context: RunContext,
    candidate: CandidateCluster | None,
    cluster_id: str,
    memory: SceneText,
    vector: Vector,
) -> list[Write]:
    """Return the writes that add a member to a cluster and update its mean.

    They fail if the cluster has changed since it was read, so two members cannot take one place.
    """
    if candidate is None:
        cluster = Cluster(cluster_id=cluster_id, created_at=context.run.now, n_active=1, dirty=True)
        return [
            Put(cluster.to_item(context.being_id), Absent()),
            Put(_vectors(context, cluster_id, 1, {}, [numbers(vector)], circumstances(memory))),
        ]
    before = candidate.cluster.n_active
    unchanged = Every(
        (
            Compare("version", "=", candidate.cluster.version),
            Compare("state", "=", "active"),
            Compare("n_active", "<", CLUSTER_MEMBERS),
        )
    )
    change = Change(
        set={"dirty": True, "gsi3pk": keys.dirty(context.being_id), "gsi3sk": cluster_id},
        add={"version": 1, "n_active": 1},
    )
    added = circumstances(memory)
    hashed = added if before == 0 else _mean(candidate.circumstances, before, added)
    sums = [numbers(vector)]
    if candidate.vector is not None and before > 0:
        sums.append(tuple(before * part for part in cluster_mean(candidate)))
    return [
        Update(Key(keys.clusters(context.being_id), cluster_id), change, unchanged),
        Put(_vectors(context, cluster_id, before + 1, candidate.means, sums, hashed)),
    ]


def _mean(before: Numbers | None, count: int, added: Numbers) -> Numbers | None:
    """Return the mean with one more member; None if the mean before is not known."""
    if before is None:
        return None
    return tuple(
        (count * mean + part) / (count + 1) for mean, part in zip(before, added, strict=True)
    )


def _vectors(
    context: RunContext,
    cluster_id: str,
    count: int,
    means: Mapping[str, Mean],
    sums: Sequence[Sequence[float]],
    hashed: Numbers | None,
) -> Item:
    total = tuple(map(sum, zip(*sums, strict=True)))
    length = dot(total, total) ** 0.5
    if length:
        mean = Mean(packed([part / length for part in total]), length / count)
        means = {**means, context.space.emb_id: mean}
    stored = ClusterMean(means, None if hashed is None else packed(hashed))
    return stored.to_item(context.being_id, cluster_id, count)

"""Changes that several steps make: a cluster that is to be renewed, one that is given up."""

from dataclasses import replace

from nacre.being.memory.index.cluster_vectors import vector_place
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Cluster, Node
from nacre.being.memory.store.clusters import marking_dirty, replacing
from nacre.being.memory.store.nodes import replacing as replacing_node
from nacre.being.patrol.compare.nearest import Home
from nacre.being.patrol.run.round import Round
from nacre.being.patrol.steps.join_cluster import joining
from nacre.ports.embedder import Vector
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Delete, Write


def dirtying(work: Round, cluster_id: str | None, *, members: int = 0) -> list[Write]:
    """Return the write that marks a cluster for renewal; none where there is no such cluster."""
    if cluster_id is None or work.memory.clusters.get(work.being_id, cluster_id) is None:
        return []
    return [marking_dirty(work.being_id, cluster_id, members=members)]


def dirty_clusters(work: Round) -> list[Cluster]:
    """Return the clusters that are to be renewed, by id, as last acknowledged."""
    dirty = every_item(work.table, keys.dirty(work.being_id), index="gsi3")
    listed = [str(item["sk"]) for item in dirty]
    found = work.memory.clusters.get_many(work.being_id, listed)
    return [found[each] for each in sorted(found) if found[each].dirty]


def move(work: Round, node: Node, home: Home, vector: Vector) -> None:
    """Let a node change from its cluster to another one that has room."""
    target = home.cluster.cluster_id
    after = replace(node, cluster_id=target, version=node.version + 1)
    writes: list[Write] = [replacing_node(work.being_id, node, after)]
    writes += dirtying(work, node.cluster_id, members=-1)
    writes += joining(work, home, target, vector)
    writes += work.telling.writes([after])
    work.ledger.commit(writes, counts={"moved": 1})
    work.telling.tell(writes)


def retire(work: Round, cluster_id: str, children: tuple[str, ...], **counts: int) -> None:
    """Give up a cluster, unless it has living members (again)."""
    cluster = work.memory.clusters.get(work.being_id, cluster_id)
    if cluster is None or cluster.state == "retired" or cluster.n_active > 0:
        return
    after = replace(
        cluster,
        state="retired",
        children=children,
        n_active=0,
        dirty=False,
        version=cluster.version + 1,
    )
    work.ledger.commit(
        [
            replacing(work.being_id, after, version=cluster.version),
            Delete(vector_place(work.being_id, cluster_id)),
        ],
        counts={"retired": 1, **counts},
    )

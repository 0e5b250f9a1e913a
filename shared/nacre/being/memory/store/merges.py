"""Merging: one memory in the place of several, which stay and can come back.

The sources keep everything they were and point to what they became. Taking a merge back
makes them what they were; what the merged memory has learned since goes to the strongest.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from nacre.being.memory.model.counters import count_in, counters, write_counted
from nacre.being.memory.model.fields import checked_name, checked_text, optional_text
from nacre.being.memory.model.merged_text import strongest_of, united, with_what_was_learned
from nacre.being.memory.model.size_limit import has_room
from nacre.being.memory.model.types import UNDONE, Node, merged_id_of, moment
from nacre.being.memory.store.clusters import Clusters, marking_dirty
from nacre.being.memory.store.nodes import Nodes, replacing
from nacre.being.memory.store.retry import settled
from nacre.being.memory.text.searchable_text import SearchIndex, searchable
from nacre.core.clock import Clock
from nacre.core.errors import InvalidInputError, NotFoundError, UnavailableError
from nacre.core.limits import MAX_ACTION_BYTES, MAX_FEELING_BYTES, MAX_MERGED_NODES
from nacre.ports.items.table import Absent, Compare, Put, Table, Write

CLOCK = "clock"  # the Being's counter of active days


class ClusterVectors(Protocol):
    """Derived vectors of clusters."""

    def renew(self, being_id: str, cluster_id: str, moved: Iterable[str] = ()) -> None:
        """Make the cluster's vector the mean of its living members' vectors, of length 1.

        `moved` are nodes that have just come or gone. Raises UnavailableError when that is
        not possible now.
        """
        ...


@dataclass(frozen=True, slots=True)
class Merge:
    """A merged memory and what it was made of."""

    node: Node
    sources: tuple[Node, ...]


class Merges:
    """Merges nodes and takes merges back."""

    def __init__(
        self,
        table: Table,
        nodes: Nodes,
        clusters: Clusters,
        index: SearchIndex,
        vectors: ClusterVectors,
        *,
        clock: Clock,
    ) -> None:
        self._table = table
        self._nodes = nodes
        self._clusters = clusters
        self._index = index
        self._vectors = vectors
        self._clock = clock

    def merge(
        self, being_id: str, node_ids: Sequence[str], *, action: str, feeling: str | None = None
    ) -> Merge:
        """Make one node of several; they stay, as `merged`.

        Actors, dates, themes and evidence are united, the highest importance and the lowest
        trust count. Raises InvalidInputError for fewer than two, too many or merged ones,
        NotFoundError for ids that do not exist.
        """
        ids = list(dict.fromkeys(checked_name(each, "node_ids") for each in node_ids))
        if len(ids) < 2:
            raise InvalidInputError("'node_ids' needs at least two different ids")
        if len(ids) > MAX_MERGED_NODES:
            raise InvalidInputError(
                f"'node_ids' has {len(ids)} ids and its limit is {MAX_MERGED_NODES}; merge in steps"
            )
        action = checked_text(action, "summary", limit=MAX_ACTION_BYTES)
        feeling = optional_text(feeling, "feeling", limit=MAX_FEELING_BYTES)
        return settled(lambda: self._merge(being_id, ids, action, feeling))

    def undo(self, being_id: str, node_id: str) -> Merge:
        """Take a merge back: its sources are what they were before.

        Raises InvalidInputError for a node that is not a merge, or was merged further itself.
        """
        node_id = checked_name(node_id, "node_ids")
        return settled(lambda: self._undo(being_id, node_id))

    def _merge(self, being_id: str, ids: Sequence[str], action: str, feeling: str | None) -> Merge:
        merged_id = merged_id_of(ids)
        found = self._nodes.get_many(being_id, [*ids, merged_id])
        before = found.pop(merged_id, None)
        sources = [found[each] for each in sorted(ids) if each in found]
        _check_sources(ids, sources)
        if not has_room(sources):
            raise InvalidInputError(
                "these memories are of more scenes than one can hold; merge fewer of them"
            )
        clock = count_in(counters(self._table, being_id), CLOCK)
        whole = united(sources, clock)
        new = replace(
            whole,
            node_id=merged_id,
            cluster_id=self._living(being_id, whole.cluster_id),
            action=action,
            feeling=feeling or strongest_of(sources).feeling,
            created_at=moment(self._clock()),
            version=1 if before is None else before.version + 1,
        )
        when = Absent() if before is None else Compare("version", "=", before.version)
        writes: list[Write] = [Put(new.to_item(being_id), when)]
        for source in sources:
            after = replace(
                source,
                status="merged",
                status_before=source.status,
                merged_into=merged_id,
                version=source.version + 1,
            )
            writes.append(replacing(being_id, source, after))
        moved = Counter(source.cluster_id for source in sources if source.is_living)
        change = Counter({new.cluster_id: 1})
        change.subtract(moved)
        touched = {source.cluster_id for source in sources}
        self._write(being_id, writes, change, touched, live=[new], gone=sources)
        return Merge(new, tuple(sources))

    def _undo(self, being_id: str, node_id: str) -> Merge:
        node = self._nodes.get(being_id, node_id)
        if node is None:
            raise NotFoundError(f"there is no memory {node_id}")
        if node.reason == UNDONE:
            raise InvalidInputError(f"the merge into {node_id} was taken back already")
        if node.status == "merged":
            raise InvalidInputError(
                f"{node_id} was merged into {node.merged_into}; take that merge back first"
            )
        parents = self._nodes.get_many(being_id, node.parents)
        sources = [each for each in parents.values() if each.merged_into == node_id]
        if not sources:
            raise InvalidInputError(f"{node_id} was not made by merging")
        homes = self._homes(being_id, node, sources)
        strongest = strongest_of(sources)
        restored = []
        writes: list[Write] = []
        for source in sources:
            after = replace(
                source,
                status=source.status_before or "active",
                status_before=None,
                merged_into=None,
                cluster_id=homes[source.node_id],
                version=source.version + 1,
            )
            if source is strongest:
                after = with_what_was_learned(after, node, sources)
            restored.append(after)
            writes.append(replacing(being_id, source, after))
        gone = replace(
            node,
            status="dead",
            reason=UNDONE,
            count_at_death=node.reactivation_count,
            cluster_id=None,
            evidence=(),  # its sources have it again
            due=None,
            version=node.version + 1,
        )
        writes.append(replacing(being_id, node, gone))
        living = [each for each in restored if each.is_living]
        change = Counter(each.cluster_id for each in living)
        change.subtract({node.cluster_id: 1 if node.is_living else 0})
        touched = {node.cluster_id, *homes.values()}
        self._write(being_id, writes, change, touched, live=restored, gone=[node])
        return Merge(gone, tuple(restored))

    def _write(
        self,
        being_id: str,
        writes: list[Write],
        change: Counter[str | None],
        touched: Iterable[str | None],
        *,
        live: Sequence[Node],
        gone: Sequence[Node],
    ) -> None:
        """Commit with the search and the clusters, then renew what follows from them."""
        wanted = sorted({each for each in (*touched, *change) if each is not None})
        clusters = sorted(self._clusters.get_many(being_id, wanted))
        writes += [marking_dirty(being_id, each, members=change[each]) for each in clusters]
        entries = [searchable(node) for node in live]
        ids = [node.node_id for node in gone]
        writes += self._index.writes(being_id, entries)
        writes += self._index.remove_writes(being_id, ids)
        write_counted(self._table, being_id, writes, has_work=True)
        self._index.apply(being_id, entries)
        self._index.remove(being_id, ids)
        for each in clusters:
            with suppress(UnavailableError):  # it is marked dirty: the next patrol does it
                self._vectors.renew(being_id, each, [node.node_id for node in (*live, *gone)])

    def _living(self, being_id: str, cluster_id: str | None) -> str | None:
        """Return the cluster, or None where it was given up: a patrol finds the node a new one."""
        found = None if cluster_id is None else self._clusters.get(being_id, cluster_id)
        return None if found is not None and found.state == "retired" else cluster_id

    def _homes(self, being_id: str, node: Node, sources: Sequence[Node]) -> dict[str, str | None]:
        """Return each source's cluster; where that is no more, the cluster of the merged node."""
        wanted = {source.cluster_id for source in sources if source.cluster_id is not None}
        found = self._clusters.get_many(being_id, sorted(wanted))
        return {
            source.node_id: node.cluster_id
            if source.cluster_id in found and found[source.cluster_id].state == "retired"
            else source.cluster_id
            for source in sources
        }


def _check_sources(ids: Sequence[str], sources: Sequence[Node]) -> None:
    missing = set(ids) - {source.node_id for source in sources}
    if missing:
        raise NotFoundError(f"there is no memory {', '.join(sorted(missing))[:300]}")
    for source in sources:
        if source.status == "merged":
            raise InvalidInputError(
                f"{source.node_id} was merged into {source.merged_into}; use that id"
            )
        if source.reason == UNDONE:
            raise InvalidInputError(
                f"the merge into {source.node_id} was taken back; use the ids it was made of"
            )

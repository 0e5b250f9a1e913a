"""Changes that a person or a model makes to memories: new texts, pins, merges and undone merges.

An agent changes nothing that the owner has pinned.

The sources of a merge are kept with the id of the merged node. Undoing a merge restores them;
evidence and recalls that the merged node got since go to the strongest source.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from typing import Protocol

from nacre.being.memory.model.counters import CLOCK, count_in, counters, write_counted
from nacre.being.memory.model.fields import (
    checked_name,
    checked_scene_text,
    checked_text,
    optional_text,
)
from nacre.being.memory.model.forgetting_curve import DYING_BELOW, clock_below
from nacre.being.memory.model.lineage import with_vouch, without_vouch
from nacre.being.memory.model.merged_node import merged_node, strongest_of, with_later_changes
from nacre.being.memory.model.size_limit import fits_in_one_node
from nacre.being.memory.model.types import (
    UNDONE,
    Author,
    Node,
    SceneText,
    merged_id_of,
    moment,
)
from nacre.being.memory.model.wordings import ORIGIN_OF, corrected
from nacre.being.memory.store.clusters import Clusters, marking_dirty
from nacre.being.memory.store.evidence import node_writes
from nacre.being.memory.store.nodes import Nodes, replacing, rewriting
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.memory.text.searchable_text import SearchIndex, searchable
from nacre.core.clock import Clock
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError, UnavailableError
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import MAX_ACTION_BYTES, MAX_FEELING_BYTES, MAX_MERGED_NODES
from nacre.core.origins import Origin
from nacre.ports.items.table import Absent, Compare, Table, Write


class ClusterVectors(Protocol):
    """The derived vectors of clusters."""

    def renew(self, being_id: str, cluster_id: str, moved: Iterable[str] = ()) -> None:
        """Compute the cluster's vector again from its living members.

        `moved` are nodes that have just joined or left. Raises UnavailableError when that is
        not possible now.
        """
        ...


@dataclass(frozen=True, slots=True)
class Merge:
    """A merged node and its sources."""

    node: Node
    sources: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MemoryEdits:
    """Changes nodes, merges them and undoes merges."""

    table: Table
    nodes: Nodes
    clusters: Clusters
    index: SearchIndex
    vectors: ClusterVectors
    clock: Clock

    def reword(self, being_id: str, node_id: str, text: SceneText, *, version: int) -> Node:
        """Replace the text of a memory that is still at this version, as its owner.

        Its evidence and trust stay, the owner joins its origins, and the earlier wording is kept.
        Raises NotFoundError, ConflictError when it was changed meanwhile, and
        InvalidInputError for a merged memory: the one it was merged into is to be changed.
        """
        fields = checked_scene_text(text).text_fields()

        def change(node: Node) -> Node:
            if node.version != version:
                raise ConflictError(
                    "the memory has changed meanwhile; look at it again, then repeat your change"
                )
            return corrected(node, fields, by="owner", now=moment(self.clock()))

        return retry_on_conflict(lambda: self.change(being_id, node_id, change))

    def pin(self, being_id: str, node_id: str, *, pinned: bool) -> Node:
        """Pin a living memory, so that it is never forgotten, or unpin it, to fade from today on.

        Raises InvalidInputError for one that is not living.
        """

        def change(node: Node) -> Node:
            if not node.is_living:
                raise InvalidInputError("only a memory that is not forgotten can be pinned")
            if node.pinned == pinned:
                return node
            clock = count_in(counters(self.table, being_id), CLOCK)
            due = clock_below(clock, node.stability, DYING_BELOW)
            return replace(node, pinned=pinned, status="active", clock0=clock, due=due)

        return retry_on_conflict(lambda: self.change(being_id, node_id, change))

    def vouch(self, being_id: str, node_id: str, *, vouched: bool, version: int) -> Node:
        """Make the text of a memory at this version the owner's word, or take that back.

        Only the owner does that, who has read the text. Raises NotFoundError, InvalidInputError
        for a memory that cannot be changed, and ConflictError when it was changed meanwhile.
        """

        def change(node: Node) -> Node:
            if node.version != version:
                raise ConflictError(
                    "the memory has changed meanwhile; look at it again before you vouch for it"
                )
            return with_vouch(node) if vouched else without_vouch(node)

        return retry_on_conflict(lambda: self.change(being_id, node_id, change))

    def merge(
        self,
        being_id: str,
        node_ids: Sequence[str],
        *,
        action: str,
        feeling: str | None = None,
        by: Author = "owner",
        origins: Collection[Origin] = (),
    ) -> Merge:
        """Merge nodes into one; the sources stay, with the status `merged`.

        The node has the actors, dates, themes, evidence and origins of all, the highest importance
        and the lowest trust. `origins` are those of whatever the author of the text has received,
        beside the author. Raises InvalidInputError for fewer than two, too many, merged or hidden
        nodes and for those that an agent may not change, NotFoundError for ids that do not exist.
        """
        ids = list(dict.fromkeys(checked_name(node_id, "node_ids") for node_id in node_ids))
        if len(ids) < 2:
            raise InvalidInputError("'node_ids' needs at least two different ids")
        if len(ids) > MAX_MERGED_NODES:
            raise InvalidInputError(
                f"'node_ids' has {len(ids)} ids and its limit is {MAX_MERGED_NODES}; merge in steps"
            )
        action = checked_text(action, "summary", limit=MAX_ACTION_BYTES)
        feeling = optional_text(feeling, "feeling", limit=MAX_FEELING_BYTES)
        return retry_on_conflict(lambda: self._merge(being_id, ids, action, feeling, by, origins))

    def undo_merge(self, being_id: str, node_id: str, *, by: Author = "owner") -> Merge:
        """Undo a merge and restore its sources; those of a hidden one are hidden too.

        Raises InvalidInputError for a node that is not a merge, that was merged itself, or that
        an agent may not change.
        """
        node_id = checked_name(node_id, "node_ids")
        return retry_on_conflict(lambda: self._undo(being_id, node_id, by))

    def current(self, being_id: str, node_id: str) -> Node:
        """Return a memory that can be changed; raises an error that says why it cannot."""
        node = self.nodes.get(being_id, checked_name(node_id, "node_id"))
        if node is None:
            raise NotFoundError("there is no such memory")
        if node.status == "merged":
            raise InvalidInputError(f"it was merged into {node.merged_into}; change that one")
        if node.reason == UNDONE:
            raise InvalidInputError("its merge was taken back; change what it was made of")
        return node

    def change(self, being_id: str, node_id: str, change: Callable[[Node], Node]) -> Node:
        """Write a node that `change` returns for the current one; one attempt."""
        before = self.current(being_id, node_id)
        if before.status == "hidden":
            raise InvalidInputError("it is hidden; take that back before you change it")
        after = change(before)
        if after == before:
            return before
        after = replace(after, version=before.version + 1)
        self.commit(
            being_id,
            rewriting(being_id, before, after),
            Counter(),
            [after.cluster_id],
            live=[after],
            renews=after.action != before.action,
        )
        return after

    def _merge(
        self,
        being_id: str,
        ids: Sequence[str],
        action: str,
        feeling: str | None,
        by: Author,
        origins: Collection[Origin],
    ) -> Merge:
        merged_id = merged_id_of(ids)
        nodes = self.nodes.get_many(being_id, [*ids, merged_id])
        before = nodes.pop(merged_id, None)
        sources = [nodes[node_id] for node_id in sorted(ids) if node_id in nodes]
        _check_sources(ids, sources)
        for source in sources:
            check_author(source, by)
        if not fits_in_one_node(sources):
            raise InvalidInputError(
                "these memories are of more scenes than one can hold; merge fewer of them"
            )
        clock = count_in(counters(self.table, being_id), CLOCK)
        author = ORIGIN_OF[by]
        merged = merged_node(self.nodes.whole(being_id, sources), clock, {author, *origins})
        new = replace(
            merged,
            node_id=merged_id,
            cluster_id=self._unless_retired(being_id, merged.cluster_id),
            action=action,
            feeling=feeling or strongest_of(sources).feeling,
            created_at=moment(self.clock()),
            version=1 if before is None else before.version + 1,
        )
        when = Absent() if before is None else Compare("version", "=", before.version)
        writes = node_writes(being_id, new, when=when, before=before)
        for source in sources:
            after = replace(
                source,
                status="merged",
                status_before=source.status,
                merged_into=merged_id,
                version=source.version + 1,
            )
            writes.append(replacing(being_id, source, after))
        change = Counter({new.cluster_id: 1})
        change.subtract(source.cluster_id for source in sources if source.is_living)
        touched = {source.cluster_id for source in sources}
        self.commit(being_id, writes, change, touched, live=[new], gone=sources)
        return Merge(new, tuple(sources))

    def _undo(self, being_id: str, node_id: str, by: Author) -> Merge:
        node = self.nodes.get(being_id, node_id)
        if node is None:
            raise NotFoundError(f"there is no memory {node_id}")
        if node.reason == UNDONE:
            raise InvalidInputError(f"the merge into {node_id} was taken back already")
        if node.status == "merged":
            raise InvalidInputError(
                f"{node_id} was merged into {node.merged_into}; take that merge back first"
            )
        check_author(node, by)
        is_hidden = node.status == "hidden"
        if is_hidden and by == "agent":
            raise InvalidInputError(f"{node_id} is hidden; take that back first")
        parents = self.nodes.get_many(being_id, node.parents)
        sources = [parent for parent in parents.values() if parent.merged_into == node_id]
        if not sources:
            raise InvalidInputError(f"{node_id} was not made by merging")
        cluster_ids = self._cluster_ids(being_id, node, sources)
        strongest = strongest_of(sources)
        restored = []
        writes: list[Write] = []
        for source in sources:
            after = replace(
                source,
                status=source.status_before or "active",
                status_before=None,
                merged_into=None,
                cluster_id=cluster_ids[source.node_id],
                version=source.version + 1,
            )
            if source is strongest:
                after = self._with_later_changes(being_id, after, node, sources)
            if is_hidden:
                after = hidden_node(after, by=node.hidden_by or by, at=node.hidden_at or "")
            restored.append(after)
            if source is strongest:
                writes += rewriting(being_id, source, after)
            else:
                writes.append(replacing(being_id, source, after))
        undone = replace(
            node,
            status="dead",
            status_before=None,
            hidden_at=None,
            hidden_by=None,
            reason=UNDONE,
            count_at_death=node.reactivation_count,
            cluster_id=None,
            evidence=(),  # its sources have it
            earlier=0,
            newest_earlier=None,
            due=None,
            version=node.version + 1,
        )
        writes += rewriting(being_id, node, undone)
        change = Counter(source.cluster_id for source in restored if source.is_living)
        change.subtract({node.cluster_id: 1 if node.is_living else 0})
        touched = {node.cluster_id, *cluster_ids.values()}
        self.commit(being_id, writes, change, touched, live=restored, gone=[node])
        return Merge(undone, tuple(restored))

    def _with_later_changes(
        self, being_id: str, strongest: Node, node: Node, sources: Sequence[Node]
    ) -> Node:
        """Return a restored source, whole, with the changes that its merge got later."""
        strongest, node, *whole = self.nodes.whole(being_id, [strongest, node, *sources])
        return with_later_changes(strongest, node, whole)

    def commit(
        self,
        being_id: str,
        writes: list[Write],
        change: Counter[str | None],
        touched: Iterable[str | None],
        *,
        live: Sequence[Node],
        gone: Sequence[Node] = (),
        renews: bool = True,
    ) -> None:
        """Write with the changes of the index and of the clusters, in one transaction.

        `renews` says whether the vectors of the clusters change, which are then computed again.
        """
        ids = sorted({cluster_id for cluster_id in (*touched, *change) if cluster_id is not None})
        cluster_ids = sorted(self.clusters.get_many(being_id, ids))
        writes += [
            marking_dirty(being_id, cluster_id, members=change[cluster_id])
            for cluster_id in cluster_ids
        ]
        index_change = self.index.prepare(
            being_id, list(map(searchable, live)), [node.node_id for node in gone]
        )
        write_counted(self.table, being_id, [*writes, *index_change.writes], has_work=True)
        index_change.apply()
        moved = [node.node_id for node in (*live, *gone)]
        for cluster_id in cluster_ids if renews else ():
            with suppress(UnavailableError):  # the next patrol renews what is marked dirty
                self.vectors.renew(being_id, cluster_id, moved)

    def _unless_retired(self, being_id: str, cluster_id: str | None) -> str | None:
        """Return the cluster, or None if it is retired: a patrol then finds the node a new one."""
        cluster = None if cluster_id is None else self.clusters.get(being_id, cluster_id)
        return None if cluster is not None and cluster.state == "retired" else cluster_id

    def _cluster_ids(
        self, being_id: str, node: Node, sources: Sequence[Node]
    ) -> dict[str, str | None]:
        """Return the cluster of each source, or of the merged node where that is retired."""
        ids = {source.cluster_id for source in sources if source.cluster_id is not None}
        clusters = self.clusters.get_many(being_id, sorted(ids))
        return {
            source.node_id: node.cluster_id
            if source.cluster_id in clusters and clusters[source.cluster_id].state == "retired"
            else source.cluster_id
            for source in sources
        }


def check_author(node: Node, by: Author) -> None:
    """Raise InvalidInputError if anybody but the owner wants to change a pinned memory."""
    if by != "owner" and node.pinned:
        raise InvalidInputError(
            f"{node.node_id} is pinned: only the owner changes it, in the console"
        )


def hidden_node(node: Node, *, by: Author, at: str) -> Node:
    """Return the node, hidden; the caller raises its version."""
    return replace(node, status="hidden", status_before=node.status, hidden_at=at, hidden_by=by)


def _check_sources(ids: Sequence[str], sources: Sequence[Node]) -> None:
    missing = set(ids) - {source.node_id for source in sources}
    if missing:
        raise NotFoundError(f"there is no memory {', '.join(sorted(missing))[:300]}")
    for source in sources:
        if source.status == "merged":
            raise InvalidInputError(
                f"{source.node_id} was merged into {source.merged_into}; use that id"
            )
        if source.status == "hidden":
            raise InvalidInputError(f"{source.node_id} is hidden; take that back first")
        if source.reason == UNDONE:
            raise InvalidInputError(
                f"the merge into {source.node_id} was taken back; use the ids it was made of"
            )

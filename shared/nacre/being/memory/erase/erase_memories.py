"""Erasing memories: a node or a scene, with everything that was made from it.

A node and its scenes say the same, so they are erased together. A merged node has the text of
its sources, so merges with an erased node are undone first, which restores the other sources.
The summaries of its clusters are emptied until a patrol renews them.

Every step can be repeated. The memory that was asked for is deleted last, so that an
interrupted command finds it again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from random import Random

from nacre.being.memory.erase.receipt import EraseReceipt, receipt_of, texts_of
from nacre.being.memory.index.cluster_vectors import ClusterMeans, vector_place
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_SCENES, write_counted
from nacre.being.memory.model.fields import checked_name
from nacre.being.memory.model.merged_node import rebuilt_node
from nacre.being.memory.model.types import UNDONE, Node, Scene
from nacre.being.memory.store.clusters import Clusters, without_summary
from nacre.being.memory.store.diary import erase_written
from nacre.being.memory.store.edits import MemoryEdits
from nacre.being.memory.store.event_nodes import event_note_deletions
from nacre.being.memory.store.evidence import evidence_deletions, holders_of, number_of_items
from nacre.being.memory.store.kept_questions import erase_questions
from nacre.being.memory.store.nodes import Nodes, rewriting, unchanged
from nacre.being.memory.store.partitions import items_in, records_by_id
from nacre.being.memory.store.recall_log import RecallLog
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.memory.text.searchable_text import searchable
from nacre.being.memory.transfer.deferred_index import DeferredIndex
from nacre.core.clock import Clock
from nacre.core.errors import NotFoundError, UnavailableError
from nacre.core.lazy_dataclasses import replace
from nacre.ports.items.table import (
    Delete,
    Key,
    Present,
    Put,
    Table,
    Value,
    Write,
)
from nacre.ports.memory_changes import MemoryChanges
from nacre.ports.vectors.vector_index import VectorIndex

_WRITES = 90  # in one transaction, with room for the mark and the counters
_JOURNAL = "#PLAN#JOURNAL#"  # in the key of a text that a run is about to write into the diary
_SHORTEST = 12  # characters of a text that is searched within other texts


class MemoryEraser:
    """Erases memories of Beings. A repair updates the index later.

    `changes` is the record of changes of memories, if there is one.
    """

    def __init__(
        self, table: Table, *, clock: Clock, rng: Random, changes: MemoryChanges | None = None
    ) -> None:
        self._table = table
        self._changes = changes
        self._clock = clock
        self._rng = rng
        self._index = DeferredIndex(table, clock=clock, rng=rng)
        self._nodes = Nodes(table, self._index)
        self._recalls = RecallLog(table, clock=clock, rng=rng)
        self._clusters = Clusters(table)
        reading = IndexSync(table, _no_index, None, clock=clock, rng=rng)
        self._means = ClusterMeans(table, self._nodes, reading)
        self._edits = MemoryEdits(
            table, self._nodes, self._clusters, self._index, self._means, clock=clock
        )

    def node(self, being_id: str, node_id: str) -> EraseReceipt:
        """Erase a node with its scenes, and the nodes that it was merged from or into."""
        node = self._nodes.get(being_id, checked_name(node_id, "node"))
        if node is None:
            raise NotFoundError(f"there is no memory {node_id[:64]!r}")
        self._undo_merges(being_id, node)
        return self._erase(being_id, [node.node_id])

    def scene(self, being_id: str, scene_id: str) -> EraseReceipt:
        """Erase a scene; its node is rebuilt from its other scenes, or erased if there are none."""
        scene_id = checked_name(scene_id, "scene")
        scene = self._scenes(being_id, [scene_id]).get(scene_id)
        if scene is None:
            raise NotFoundError(f"there is no scene {scene_id[:64]!r}")
        elsewhere = holders_of(self._table, being_id, scene_id)
        holders = [
            node
            for node in self._all_nodes(being_id)
            if scene_id in node.evidence or node.node_id in elsewhere
        ]
        holder_ids = {node.node_id for node in holders}
        for node in holders:
            if not holder_ids & set(node.parents):  # a merge is undone through its sources
                self._undo_merges(being_id, node)
        only_this = [
            node_id
            for node_id in sorted(holder_ids)
            if retry_on_conflict(partial(self._rebuild_without, being_id, node_id, scene_id))
        ]
        if scene.node_id is not None:
            holder_ids.add(scene.node_id)  # an interrupted command may have rebuilt it already
        return self._erase(being_id, only_this, scenes=[scene], made_of=holder_ids)

    def _undo_merges(self, being_id: str, node: Node) -> None:
        chain = [node]
        while chain[-1].status == "merged" and chain[-1].merged_into is not None:
            merge = self._nodes.get(being_id, chain[-1].merged_into)
            if merge is None or merge in chain:
                break
            chain.append(merge)
        for merge in reversed(chain[1:]):
            self._edits.undo_merge(being_id, merge.node_id)

    def _erase(
        self,
        being_id: str,
        node_ids: Sequence[str],
        *,
        scenes: Sequence[Scene] = (),
        made_of: Iterable[str] = (),
    ) -> EraseReceipt:
        """Erase nodes with their sources, scenes, and everything that was made from `made_of`."""
        named = {*node_ids, *made_of}
        linked = {  # most memories have no links, and there may be many
            node.node_id: node
            for node in self._all_nodes(being_id)
            if node.node_id in named
            or node.parents
            or node.merged_into
            or node.superseded_by
            or node.similar
        }
        sources = _with_sources(linked, node_ids)
        products = _made_of(linked, {*made_of, *sources})
        nodes = [*(node for node in products if node.node_id not in sources), *sources.values()]
        ids = {node.node_id for node in nodes}
        evidence = dict.fromkeys(
            scene_id
            for node in self._nodes.whole(being_id, sources.values())
            for scene_id in node.evidence
        )
        erased_scenes = {
            **self._scenes(being_id, evidence),
            **{scene.scene_id: scene for scene in scenes},
        }
        for node in linked.values():
            if node.node_id not in ids and ids & {node.superseded_by, *node.similar}:
                retry_on_conflict(partial(self._remove_links, being_id, node.node_id, ids))
        changed = [linked[node_id] for node_id in made_of if node_id in linked]
        self._empty_clusters(being_id, [*nodes, *changed], nodes)
        memories: list[Node | Scene] = [*erased_scenes.values(), *nodes]
        self._scrub_runs(being_id, {*ids, *erased_scenes}, texts_of(memories))
        self._scrub_changes(being_id, {*ids, *erased_scenes}, texts_of(memories))
        runs = {scene.run_id for scene in erased_scenes.values() if scene.run_id is not None}
        erase_written(self._table, being_id, runs, clock=self._clock, rng=self._rng)
        self._recalls.remove(being_id, ids)
        erase_questions(self._table, being_id, {*ids, *erased_scenes}, texts_of(memories))
        # The memories that were asked for go last, so that an interrupted command finds them.
        asked_for = {*node_ids, *(scene.scene_id for scene in scenes)}
        self._delete(being_id, sorted(memories, key=lambda memory: memory.id in asked_for))
        self._renew(being_id, [*nodes, *changed])
        return receipt_of(list(erased_scenes.values()), nodes)

    def _rebuild_without(self, being_id: str, node_id: str, scene_id: str) -> bool:
        """Rebuild a node without a scene; return True if no evidence remains."""
        stored = self._nodes.get(being_id, node_id)
        if stored is None:
            return False
        [node] = self._nodes.whole(being_id, [stored])
        if scene_id not in node.evidence:
            return False
        others = [evidence_id for evidence_id in node.evidence if evidence_id != scene_id]
        scenes = self._scenes(being_id, others)
        parents = [
            parent
            for parent in self._nodes.get_many(being_id, node.parents).values()
            if parent.merged_into == node_id
        ]
        if not scenes and not parents:
            return True
        after = rebuilt_node(node, others, list(scenes.values()), parents)
        writes = rewriting(being_id, stored, after)
        if after.status != "merged":
            writes += self._index.prepare(being_id, [searchable(after)]).writes
        write_counted(self._table, being_id, writes, has_work=True)
        return False

    def _remove_links(self, being_id: str, node_id: str, erased: set[str]) -> None:
        """Remove the links of a node to erased ones; a node that they superseded is valid again."""
        node = self._nodes.get(being_id, node_id)
        if node is None:
            return
        superseded_by = None if node.superseded_by in erased else node.superseded_by
        similar = tuple(similar_id for similar_id in node.similar if similar_id not in erased)
        if (superseded_by, similar) != (node.superseded_by, node.similar):
            after = replace(
                node,
                superseded_by=superseded_by,
                valid_until=node.valid_until if superseded_by else None,
                similar=similar,
                version=node.version + 1,
            )
            entries = [searchable(after)] if after.is_indexed else []
            index_change = self._index.prepare(being_id, entries)
            self._table.transact(
                [Put(after.to_item(being_id), unchanged(node)), *index_change.writes]
            )

    def _delete(self, being_id: str, memories: Sequence[Node | Scene]) -> None:
        """Delete memories in this order, with their vectors and with marks for the index."""
        for some in _portions(memories):
            places = [
                Key((keys.nodes if isinstance(memory, Node) else keys.scenes)(being_id), memory.id)
                for memory in some
            ]
            writes: list[Write] = [Delete(place) for place in places]
            writes += self._index.prepare(being_id, [], [place.sk for place in places]).writes
            writes += event_note_deletions(self._table, being_id, [place.sk for place in places])
            for memory in some:
                if isinstance(memory, Node):
                    writes += evidence_deletions(being_id, memory)
            fewer = sum(memory.status == "pending" for memory in some)
            write_counted(
                self._table, being_id, writes, add={PENDING_SCENES: -fewer}, has_work=True
            )

    def _renew(self, being_id: str, nodes: Sequence[Node]) -> None:
        for cluster_id in sorted({node.cluster_id for node in nodes if node.cluster_id}):
            if self._clusters.get(being_id, cluster_id) is not None:
                with suppress(UnavailableError):  # it has no vector until a patrol renews it
                    self._means.renew(being_id, cluster_id)

    def _empty_clusters(
        self, being_id: str, touched: Sequence[Node], erased: Sequence[Node]
    ) -> None:
        """Empty the summaries of the clusters of these nodes, and of their predecessors."""
        ids = {node.cluster_id for node in touched if node.cluster_id is not None}
        fewer = Counter(node.cluster_id for node in erased if node.is_living)
        for cluster in self._clusters.with_predecessors(being_id, ids):
            count = fewer[cluster.cluster_id]
            retry_on_conflict(partial(self._empty_cluster, being_id, cluster.cluster_id, count))

    def _empty_cluster(self, being_id: str, cluster_id: str, fewer: int) -> None:
        cluster = self._clusters.get(being_id, cluster_id)
        if cluster is None:
            return
        after = without_summary(cluster, fewer=fewer)
        self._clusters.replace(being_id, after, version=cluster.version)
        self._table.delete(vector_place(being_id, cluster_id))

    def _scrub_runs(self, being_id: str, ids: set[str], texts: Sequence[str]) -> None:
        """Remove ids and texts from the records of patrols about their runs."""
        for item in items_in(self._table, f"{keys.home(being_id)}#R"):
            if _JOURNAL in str(item["sk"]):  # a text of a model about all scenes of a run
                self._table.delete(Key.of(item))
                continue
            scrubbed = {
                name: _scrubbed(_without_mentions(value, ids), ids, texts)
                for name, value in item.items()
            }
            if scrubbed != item:
                self._table.put(scrubbed, when=Present())

    def _scrub_changes(self, being_id: str, ids: set[str], texts: Sequence[str]) -> None:
        """Remove recorded changes of other memories that mention ids or texts."""
        if self._changes is not None:
            long = [text for text in texts if len(text) >= _SHORTEST]
            self._changes.scrub(being_id, [*sorted(ids), *long])

    def _all_nodes(self, being_id: str) -> Iterator[Node]:
        return map(Node.from_item, items_in(self._table, keys.nodes(being_id)))

    def _scenes(self, being_id: str, ids: Iterable[str]) -> dict[str, Scene]:
        return records_by_id(self._table, Scene, keys.scenes(being_id), ids)


def _portions(memories: Sequence[Node | Scene]) -> Iterator[list[Node | Scene]]:
    """Yield the memories in portions that are deleted in one transaction each."""
    portion: list[Node | Scene] = []
    writes = 0
    for memory in memories:
        more = 3  # with its vector and its note
        if isinstance(memory, Node):
            more += number_of_items(memory)
        if portion and writes + more > _WRITES:
            yield portion
            portion, writes = [], 0
        portion.append(memory)
        writes += more
    if portion:
        yield portion


def _with_sources(linked: dict[str, Node], node_ids: Sequence[str]) -> dict[str, Node]:
    """Return these nodes and, recursively, the nodes that were merged into them."""
    nodes: dict[str, Node] = {}
    queue = list(node_ids)
    while queue:
        node = linked.get(queue.pop())
        if node is not None and node.node_id not in nodes:
            nodes[node.node_id] = node
            queue += [
                parent_id
                for parent_id in node.parents
                if parent_id in linked and linked[parent_id].merged_into == node.node_id
            ]
    return nodes


def _made_of(linked: dict[str, Node], sources: set[str]) -> list[Node]:
    """Return the undone merges of these nodes and, recursively, of those merges."""
    merges: dict[str, Node] = {}
    while more := {
        node_id: node
        for node_id, node in linked.items()
        if node_id not in merges
        and node.reason == UNDONE
        and (sources | merges.keys()) & set(node.parents)
    }:
        merges |= more
    return list(merges.values())


def _without_mentions(value: Value, ids: set[str]) -> Value:
    """Return a plan without the entries that name one of the ids."""
    if not isinstance(value, list):
        return value
    return [entry for entry in value if not isinstance(entry, dict) or not _names(entry, ids)]


def _names(value: Value, ids: set[str]) -> bool:
    if isinstance(value, dict):
        return any(name in ids or _names(field, ids) for name, field in value.items())
    if isinstance(value, list):
        return any(_names(entry, ids) for entry in value)
    return isinstance(value, str) and value in ids


def _scrubbed(value: Value, ids: set[str], texts: Sequence[str]) -> Value:
    if isinstance(value, str):
        is_found = (
            value in texts
            or any(memory_id in value for memory_id in ids)
            or any(len(text) >= _SHORTEST and text in value for text in texts)
        )
        return "" if is_found else value
    if isinstance(value, list):
        remaining = [entry for entry in value if not (isinstance(entry, str) and entry in ids)]
        return [_scrubbed(entry, ids, texts) for entry in remaining]
    if isinstance(value, dict):
        return {
            name: _scrubbed(field, ids, texts) for name, field in value.items() if name not in ids
        }
    return value


def _no_index(emb_id: str) -> VectorIndex:
    raise UnavailableError(f"a repair updates the index of {emb_id}")

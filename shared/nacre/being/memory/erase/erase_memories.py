"""Erasing memories: a node or a scene, with all that was made of it.

A memory and its scenes say the same, so they go together. What was merged from an erased
memory was written from its text: such merges are taken back first, so that the other sources
are what they were. Summaries of clusters it was in are emptied and wait for a patrol.

Every step may be repeated: what was asked for is deleted last, so a command that broke off
finds it again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from random import Random

from nacre.being.memory.erase.rebuild_memory import rebuilt
from nacre.being.memory.erase.receipt import Erased, erased_memories, texts_of
from nacre.being.memory.index.cluster_vectors import ClusterMeans
from nacre.being.memory.index.sync import Indexing
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_SCENES, write_counted
from nacre.being.memory.model.fields import checked_name
from nacre.being.memory.model.types import UNDONE, Cluster, Node, Scene
from nacre.being.memory.store.clusters import Clusters
from nacre.being.memory.store.diary import erase_written
from nacre.being.memory.store.event_nodes import forgotten
from nacre.being.memory.store.merges import Merges
from nacre.being.memory.store.nodes import Nodes
from nacre.being.memory.store.partitions import items_in
from nacre.being.memory.store.retry import settled
from nacre.being.memory.text.searchable_text import searchable
from nacre.being.memory.transfer.deferred_index import MarkingIndex
from nacre.being.memory.transfer.exporter import cluster_place
from nacre.core.clock import Clock
from nacre.core.errors import NotFoundError, UnavailableError
from nacre.ports.items.table import (
    Compare,
    Condition,
    Delete,
    Every,
    Key,
    Present,
    Put,
    Table,
    Value,
    Write,
)
from nacre.ports.vectors import VectorIndex

_AT_ONCE = 30  # memories in one transaction, each with its vector
_JOURNAL = "#PLAN#JOURNAL#"  # in the place of what a run is about to write into the diary
_SHORTEST = 12  # characters of a text that is looked for within others


class Erasing:
    """Erases memories of Beings; the index is left with marks that a repair follows."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng
        self._index = MarkingIndex(table, clock=clock, rng=rng)
        self._nodes = Nodes(table, self._index, clock=clock)
        self._clusters = Clusters(table)
        reading = Indexing(table, _no_index, None, clock=clock, rng=rng)
        self._means = ClusterMeans(table, self._nodes, reading)
        self._merges = Merges(
            table, self._nodes, self._clusters, self._index, self._means, clock=clock
        )

    def node(self, being_id: str, node_id: str) -> Erased:
        """Erase a memory, its scenes, and what it was merged from or into."""
        found = self._nodes.get(being_id, checked_name(node_id, "node"))
        if found is None:
            raise NotFoundError(f"there is no memory {node_id[:64]!r}")
        self._take_merges_back(being_id, found)
        return self._erase(being_id, [found.node_id])

    def scene(self, being_id: str, scene_id: str) -> Erased:
        """Erase a scene; a memory that has no other is erased too, else made of the others."""
        scene_id = checked_name(scene_id, "scene")
        scene = self._scenes(being_id, [scene_id]).get(scene_id)
        if scene is None:
            raise NotFoundError(f"there is no scene {scene_id[:64]!r}")
        holders = [node for node in self._all_nodes(being_id) if scene_id in node.evidence]
        held = {node.node_id for node in holders}
        for node in holders:
            if not held & set(node.parents):  # a merge is taken back from its sources
                self._take_merges_back(being_id, node)
        alone = [
            node_id
            for node_id in sorted(held)
            if settled(partial(self._is_alone_without, being_id, node_id, scene_id))
        ]
        if scene.node_id is not None:
            held.add(scene.node_id)  # a command that broke off may have made it anew already
        return self._erase(being_id, alone, scenes=[scene], made_of=held)

    def _take_merges_back(self, being_id: str, node: Node) -> None:
        above = [node]
        while above[-1].status == "merged" and above[-1].merged_into is not None:
            found = self._nodes.get(being_id, above[-1].merged_into)
            if found is None or found in above:
                break
            above.append(found)
        for product in reversed(above[1:]):
            self._merges.undo(being_id, product.node_id)

    def _erase(
        self,
        being_id: str,
        node_ids: Sequence[str],
        *,
        scenes: Sequence[Scene] = (),
        made_of: Iterable[str] = (),
    ) -> Erased:
        """Erase nodes with what they were merged from, and whatever was made of `made_of` too."""
        named = {*node_ids, *made_of}
        every = {  # most memories have to do with no other, and there may be many
            node.node_id: node
            for node in self._all_nodes(being_id)
            if node.node_id in named
            or node.parents
            or node.merged_into
            or node.superseded_by
            or node.similar
        }
        wanted = _with_sources(every, node_ids)
        made = _made_of(every, {*made_of, *wanted})
        gone = [*(each for each in made if each.node_id not in wanted), *wanted.values()]
        ids = {node.node_id for node in gone}
        evidence = dict.fromkeys(each for node in wanted.values() for each in node.evidence)
        told = {**self._scenes(being_id, evidence), **{each.scene_id: each for each in scenes}}
        for node in every.values():
            if node.node_id not in ids and ids & {node.superseded_by, *node.similar}:
                settled(partial(self._without_links, being_id, node.node_id, ids))
        changed = [every[each] for each in made_of if each in every]
        self._empty_clusters(being_id, [*gone, *changed], gone)
        self._scrub_runs(being_id, {*ids, *told}, texts_of([*gone, *told.values()]))
        runs = {scene.run_id for scene in told.values() if scene.run_id is not None}
        erase_written(self._table, being_id, runs, clock=self._clock, rng=self._rng)
        asked = {*node_ids, *(scene.scene_id for scene in scenes)}
        every_memory: list[Node | Scene] = [*told.values(), *gone]
        # What was asked for goes last: a command that broke off finds it again.
        self._delete(being_id, sorted(every_memory, key=lambda each: _id(each) in asked))
        self._renew(being_id, [*gone, *changed])
        return erased_memories(list(told.values()), gone)

    def _is_alone_without(self, being_id: str, node_id: str, scene_id: str) -> bool:
        """Make a memory of what remains of its evidence; True where nothing does."""
        node = self._nodes.get(being_id, node_id)
        if node is None or scene_id not in node.evidence:
            return False
        others = [each for each in node.evidence if each != scene_id]
        found = self._scenes(being_id, others)
        parents = [
            each
            for each in self._nodes.get_many(being_id, node.parents).values()
            if each.merged_into == node_id
        ]
        if not found and not parents:
            return True
        after = rebuilt(node, others, list(found.values()), parents)
        writes: list[Write] = [Put(after.to_item(being_id), _same(node))]
        if after.status != "merged":
            writes += self._index.writes(being_id, [searchable(after)])
        write_counted(self._table, being_id, writes, has_work=True)
        return False

    def _without_links(self, being_id: str, node_id: str, gone: set[str]) -> None:
        """Drop a memory's links to erased ones: what they superseded is true again."""
        node = self._nodes.get(being_id, node_id)
        if node is None:
            return
        by = None if node.superseded_by in gone else node.superseded_by
        similar = tuple(each for each in node.similar if each not in gone)
        if (by, similar) != (node.superseded_by, node.similar):
            after = replace(node, superseded_by=by, similar=similar, version=node.version + 1)
            self._table.put(after.to_item(being_id), when=_same(node))

    def _delete(self, being_id: str, memories: Sequence[Node | Scene]) -> None:
        """Delete memories in their order, each with its vector and a mark for the index."""
        for first in range(0, len(memories), _AT_ONCE):
            some = memories[first : first + _AT_ONCE]
            places = [
                Key(keys.nodes(being_id), each.node_id)
                if isinstance(each, Node)
                else Key(keys.scenes(being_id), each.scene_id)
                for each in some
            ]
            writes: list[Write] = [Delete(place) for place in places]
            writes += self._index.remove_writes(being_id, [place.sk for place in places])
            writes += forgotten(self._table, being_id, [place.sk for place in places])
            fewer = sum(each.status == "pending" for each in some)
            write_counted(
                self._table, being_id, writes, add={PENDING_SCENES: -fewer}, has_work=True
            )

    def _renew(self, being_id: str, nodes: Sequence[Node]) -> None:
        for cluster_id in sorted({node.cluster_id for node in nodes if node.cluster_id}):
            if self._clusters.get(being_id, cluster_id) is not None:
                with suppress(UnavailableError):  # it has no vector until a patrol makes one
                    self._means.renew(being_id, cluster_id)

    def _empty_clusters(self, being_id: str, touched: Sequence[Node], gone: Sequence[Node]) -> None:
        """Empty the summaries of the clusters of these, and of those that became them."""
        every = [Cluster.from_item(item) for item in items_in(self._table, keys.clusters(being_id))]
        wanted = {node.cluster_id for node in touched if node.cluster_id is not None}
        while more := {each.cluster_id for each in every if wanted & set(each.children)} - wanted:
            wanted |= more
        fewer = Counter(node.cluster_id for node in gone if node.is_living)
        for cluster in every:
            if cluster.cluster_id in wanted:
                count = fewer[cluster.cluster_id]
                settled(partial(self._empty_cluster, being_id, cluster.cluster_id, count))

    def _empty_cluster(self, being_id: str, cluster_id: str, fewer: int) -> None:
        cluster = self._clusters.get(being_id, cluster_id)
        if cluster is None:
            return
        after = replace(
            cluster,
            label="",
            digest="",
            digest_source="rules",
            themes=(),
            first_day=None,
            last_day=None,
            n_active=max(0, cluster.n_active - fewer),
            dirty=cluster.state == "active",
            version=cluster.version + 1,
        )
        self._clusters.replace(being_id, after, version=cluster.version)
        self._table.delete(cluster_place(being_id, cluster_id))

    def _scrub_runs(self, being_id: str, ids: set[str], texts: Sequence[str]) -> None:
        """Take ids and texts out of what patrols wrote down about their work."""
        for item in items_in(self._table, f"{keys.home(being_id)}#R"):
            if _JOURNAL in str(item["sk"]):  # a model's words about all that a run took in
                self._table.delete(Key(str(item["pk"]), str(item["sk"])))
                continue
            scrubbed = {
                name: _scrubbed(_without_mentions(value, ids), ids, texts)
                for name, value in item.items()
            }
            if scrubbed != item:
                self._table.put(scrubbed, when=Present())

    def _all_nodes(self, being_id: str) -> Iterator[Node]:
        return map(Node.from_item, items_in(self._table, keys.nodes(being_id)))

    def _scenes(self, being_id: str, ids: Iterable[str]) -> dict[str, Scene]:
        found = self._table.get_many([Key(keys.scenes(being_id), each) for each in ids])
        return {place.sk: Scene.from_item(item) for place, item in found.items()}


def _id(memory: Node | Scene) -> str:
    return memory.node_id if isinstance(memory, Node) else memory.scene_id


def _with_sources(every: dict[str, Node], node_ids: Sequence[str]) -> dict[str, Node]:
    """Return these nodes with those that were merged into them, and into those."""
    wanted: dict[str, Node] = {}
    left = list(node_ids)
    while left:
        node = every.get(left.pop())
        if node is not None and node.node_id not in wanted:
            wanted[node.node_id] = node
            left += [
                each
                for each in node.parents
                if each in every and every[each].merged_into == node.node_id
            ]
    return wanted


def _made_of(every: dict[str, Node], sources: set[str]) -> list[Node]:
    """Return the merges that were made of these and taken back, and those made of them."""
    made: dict[str, Node] = {}
    while more := {
        node_id: node
        for node_id, node in every.items()
        if node_id not in made
        and node.reason == UNDONE
        and (sources | made.keys()) & set(node.parents)
    }:
        made |= more
    return list(made.values())


def _without_mentions(value: Value, ids: set[str]) -> Value:
    """Return a plan without the entries that name an id: a model's words go with them."""
    if not isinstance(value, list):
        return value
    return [each for each in value if not isinstance(each, dict) or not _names(each, ids)]


def _names(value: Value, ids: set[str]) -> bool:
    if isinstance(value, dict):
        return any(name in ids or _names(each, ids) for name, each in value.items())
    if isinstance(value, list):
        return any(_names(each, ids) for each in value)
    return isinstance(value, str) and value in ids


def _scrubbed(value: Value, ids: set[str], texts: Sequence[str]) -> Value:
    if isinstance(value, str):
        held = any(each in value for each in ids) or value in texts
        return "" if held or any(len(t) >= _SHORTEST and t in value for t in texts) else value
    if isinstance(value, list):
        left = [each for each in value if not (isinstance(each, str) and each in ids)]
        return [_scrubbed(each, ids, texts) for each in left]
    if isinstance(value, dict):
        return {
            name: _scrubbed(each, ids, texts) for name, each in value.items() if name not in ids
        }
    return value


def _same(node: Node) -> Condition:
    # Recalls are counted without raising the version, and none may be lost.
    return Every(
        (
            Compare("version", "=", node.version),
            Compare("reactivation_count", "=", node.reactivation_count),
        )
    )


def _no_index(emb_id: str) -> VectorIndex:
    raise UnavailableError(f"the index of {emb_id} is told by a repair")

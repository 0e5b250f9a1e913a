"""Browsing a memory: all clusters, one cluster with its nodes, or one node with its origin."""

from collections.abc import Iterator, Sequence

from nacre.being.memory.model.counters import CLOCK, PENDING_SCENES, count_in, counters
from nacre.being.memory.model.fields import checked_name
from nacre.being.memory.model.lifetime import activity, lifetime
from nacre.being.memory.model.lineage import is_corroborated, is_vouched, origins_of
from nacre.being.memory.model.types import AUTHORS, Cluster, Node, Scene, moment
from nacre.being.memory.model.wordings import earlier_versions, wordings_of
from nacre.being.memory.search.candidates import Memory, MemoryReader
from nacre.being.memory.search.result_list import memory_line, within
from nacre.being.memory.store.clusters import Clusters
from nacre.being.memory.store.evidence import first_scenes
from nacre.being.memory.store.history import History, folded
from nacre.being.memory.store.recall_log import counted_nodes
from nacre.being.memory.store.scenes import Scenes
from nacre.being.memory.text.memory_text import counted, one_line, scene_line
from nacre.being.memory.text.reported import reported_by, reporters
from nacre.being.memory.text.text_blocks import shortened
from nacre.core.clock import Clock
from nacre.core.errors import NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import CLUSTERS_PAGE, PROVENANCE_MESSAGES, PROVENANCE_SCENES
from nacre.core.origins import Origins, origins_in, texts_of, union
from nacre.ports.items.table import Table
from nacre.ports.vectors.vector_index import Kind

_SIMILAR_SHOWN = 5
_QUOTED = 300  # bytes of each message in the origin of a node


@dataclass(frozen=True, slots=True)
class View:
    """A page as text, and the memories on it."""

    text: str
    read: Sequence[Memory] = ()
    also: Origins = frozenset()  # the origins of other texts on it

    @property
    def origins(self) -> Origins:
        """Return the origins of everything on the page."""
        return union([self.also, *(origins_of(memory.record) for memory in self.read)])


class MemoryBrowser:
    """Shows clusters and nodes as text. It never writes."""

    def __init__(
        self,
        table: Table,
        reader: MemoryReader,
        clusters: Clusters,
        scenes: Scenes,
        history: History,
        *,
        clock: Clock,
    ) -> None:
        self._table = table
        self._reader = reader
        self._clusters = clusters
        self._scenes = scenes
        self._history = history
        self._clock = clock

    def clusters(
        self, being_id: str, *, query: str | None = None, page: int = 1, as_of: str | None = None
    ) -> View:
        """Return one page of the clusters, the largest first.

        With `as_of`, only those with a memory of that day or before.
        """
        pending = count_in(counters(self._table, being_id), PENDING_SCENES)
        clusters = [
            cluster
            for cluster in self._clusters.active(being_id)
            if _contains(f"{cluster.label} {cluster.digest}", query)
            and (as_of is None or (cluster.first_day or "9999") <= as_of)
        ]
        lines = [f"- {_cluster_line(cluster)}" for cluster in clusters]
        wait = f"{counted(pending, 'scene')} {'waits' if pending == 1 else 'wait'}"
        note = f"{wait} for the next patrol; search_memory finds {'it' if pending == 1 else 'them'}"
        header = f"{counted(len(clusters), 'cluster')}; {note}"
        listed = clusters[(page - 1) * CLUSTERS_PAGE : page * CLUSTERS_PAGE]
        also = union(origins_in(cluster.origins) for cluster in listed)
        return View(within([header, *_paged(lines, page, CLUSTERS_PAGE)]), also=also)

    def cluster(
        self,
        being_id: str,
        cluster_id: str,
        *,
        limit: int,
        query: str | None = None,
        page: int = 1,
        as_of: str | None = None,
    ) -> View:
        """Return the digest of a cluster and one page of its nodes, the strongest first.

        With `as_of`, these are the nodes that held on that day, without a digest, because the
        digest is of today. Raises NotFoundError when there is no such cluster.
        """
        cluster = self._clusters.get(being_id, checked_name(cluster_id, "cluster_id"))
        if cluster is None:
            raise NotFoundError(
                "there is no such cluster; call recall_memory without arguments for the list"
            )
        head = [
            _cluster_line(cluster),
            *_successors(cluster),
            *([cluster.digest] if cluster.digest and as_of is None else []),
        ]
        if limit == 0:
            return View(within(head), also=origins_in(cluster.origins))
        members = [
            member
            for member in self._reader.members(being_id, cluster.cluster_id, as_of=as_of)
            if _contains(member.record.action, query)
        ]
        first = (page - 1) * limit
        lines = [f"- {memory_line(member, _strength(member))}" for member in members]
        return View(
            within([*head, f"Nodes: {len(members)}", *_paged(lines, page, limit)]),
            members[first : first + limit],
            origins_in(cluster.origins),
        )

    def node(self, being_id: str, node_id: str, *, as_of: str | None = None) -> View:
        """Return a node with its state, and the scenes and messages that it was made from.

        With `as_of`, a line says whether it held on that day.
        Raises NotFoundError when there is no such node.
        """
        memory = self._reader.node(being_id, checked_name(node_id, "node_id"))
        if memory is None or not isinstance(memory.record, Node):
            raise NotFoundError("there is no such node; search_memory finds nodes and their ids")
        hidden = self._hidden(being_id, memory.record)
        if hidden is not None:
            return View(within([hidden]))
        clock = count_in(counters(self._table, being_id), CLOCK)
        recalled = counted_nodes(self._table, being_id, now=moment(self._clock()))
        node = recalled.get(node_id, memory.record)
        facts = [*_facts(node), *lifetime(node, clock)]
        if as_of is not None:
            facts.insert(0, f"on {as_of} it {'held' if memory.held_on(as_of) else 'did not hold'}")
        origin = [*self._parents(being_id, memory.record), *self._origin(being_id, memory.record)]
        facts.insert(facts.index(_trust_line(node)) + 1, _origin_line(node))
        similar = self._similar(being_id, memory.record)
        similar_lines = [f"- {memory_line(other)}" for other in similar]
        if similar:
            similar_lines.insert(0, "similar memories, not the same:")
        lines = [memory.text, *facts, *_wordings(memory.record), *similar_lines, *origin]
        also = union(origins_of(other.record) for other in similar)
        return View(within(lines), [memory], also)

    def _hidden(self, being_id: str, node: Node) -> str | None:
        """Return a line in place of a memory that is hidden, or merged into one; else None."""
        visited = {node.node_id}
        while node.status == "merged" and node.merged_into not in (None, *visited):
            memory = self._reader.node(being_id, node.merged_into or "")
            if memory is None or not isinstance(memory.record, Node):
                break
            node = memory.record
            visited.add(node.node_id)
        if node.status != "hidden":
            return None
        by = AUTHORS[node.hidden_by or "agent"]
        return f"node {node.node_id} was hidden on {(node.hidden_at or '')[:10]} by {by}"

    def _similar(self, being_id: str, node: Node) -> list[Memory]:
        """Return memories that are linked with a node, in either direction."""
        linked = self._reader.read(being_id, dict.fromkeys(node.similar, "node"))
        if node.cluster_id is not None:  # links point to older memories, mostly in the same cluster
            members = self._reader.members(being_id, node.cluster_id)
            linked += [member for member in members if node.node_id in member.similar]
        return [memory for memory in linked if memory.is_current][:_SIMILAR_SHOWN]

    def _parents(self, being_id: str, node: Node) -> Iterator[str]:
        if not node.parents:
            return
        yield f"merged from: {', '.join(node.parents)}"
        kinds: dict[str, Kind] = dict.fromkeys(node.parents[:PROVENANCE_SCENES], "node")
        for parent in self._reader.read(being_id, kinds):
            yield f"- {parent.id}: {parent.text}"

    def _origin(self, being_id: str, node: Node) -> Iterator[str]:
        scene_ids = first_scenes(self._table, being_id, node, PROVENANCE_SCENES)
        scenes = self._scenes.get_many(being_id, scene_ids)
        yield f"Made of {counted(node.scene_count, 'scene')}:"
        messages: dict[str, None] = {}
        for scene_id in scene_ids:
            scene = scenes.get(scene_id)
            yield f"- {scene_id}: {_scene_with_source(scene)}"
            messages |= dict.fromkeys(scene.evidence if scene else ())
        if node.scene_count > len(scene_ids):
            yield f"… {counted(node.scene_count - len(scene_ids), 'more scene')}"
        if messages:
            yield f"Said in {counted(len(messages), 'message')}:"
        for message_id in list(messages)[:PROVENANCE_MESSAGES]:
            message = self._history.get(being_id, message_id)
            if message is None:
                yield f"- {message_id}: no longer kept"
            else:
                quote = shortened(one_line(message.content), _QUOTED)
                yield f"- {message_id}: {message.ts} {message.role}: {quote}"
        if len(messages) > PROVENANCE_MESSAGES:
            yield f"… {counted(len(messages) - PROVENANCE_MESSAGES, 'more message')}"


def _facts(node: Node) -> Iterator[str]:
    yield f"node_id: {node.node_id}"
    yield f"status: {node.status}" + (f" ({node.reason})" if node.reason else "")
    yield _trust_line(node)
    yield activity(node)
    yield f"cluster: {node.cluster_id or 'none yet'}"
    if node.themes:
        yield f"themes: {', '.join(node.themes)}"


def _trust_line(node: Node) -> str:
    return f"importance {node.importance:.2f}; trust {node.trust}"


def _origin_line(node: Node) -> str:
    """Return the origins of a node, and what they mean for its text."""
    parts = [f"origins: {', '.join(texts_of(origins_of(node)))}"]
    if reported := reported_by(node):
        parts.append(reported)
    if is_vouched(node):
        parts.append("the owner vouches for it")
    elif is_corroborated(node):
        parts.append("corroborated by an independent source")
    return "; ".join(parts)


def _wordings(node: Node) -> Iterator[str]:
    if node.wordings:
        yield "Earlier wordings, which no longer hold:"
    for wording, version in zip(reversed(wordings_of(node)), earlier_versions(node), strict=True):
        if not wording.fields:
            yield f"- until {wording.until[:10]}, corrected by the {wording.by}: erased"
            continue
        yield f"- until {wording.until[:10]}, corrected by the {wording.by}: {scene_line(version)}"


def _scene_with_source(scene: Scene | None) -> str:
    if scene is None:
        return "no longer kept"
    origin = f"{scene.source}, trust {scene.trust}, noted {scene.created_at[:10]}"
    if reported := reported_by(scene):
        origin += f", {reported}"
    return f"{scene_line(scene)} [{origin}]"


def _strength(memory: Memory) -> str:
    return f"strength {memory.retention:.2f}"


def _cluster_line(cluster: Cluster) -> str:
    span = " to ".join(sorted({day for day in (cluster.first_day, cluster.last_day) if day}))
    parts = [counted(cluster.n_active, "active node"), span, ", ".join(cluster.themes)]
    parts.append(reporters(cluster.origins))
    facts = "; ".join(part for part in parts if part)
    return f"{cluster.label or 'without a label'} [cluster {cluster.cluster_id}; {facts}]"


def _successors(cluster: Cluster) -> list[str]:
    if cluster.state == "active":
        return []
    return [f"It is retired; its nodes went to: {', '.join(cluster.children) or 'nowhere'}"]


def _paged(lines: Sequence[str], page: int, size: int) -> list[str]:
    page_lines = list(lines[(page - 1) * size : page * size])
    remaining = len(lines) - page * size
    if remaining > 0:
        page_lines.append(f"… {remaining} more; next: page={page + 1}")
    elif not page_lines and lines:
        page_lines.append(f"page {page} is empty; the last one is {-(-len(lines) // size)}")
    return page_lines


def _contains(text: str, query: str | None) -> bool:
    return not query or folded(query.strip()) in folded(text)

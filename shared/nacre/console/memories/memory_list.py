"""The list of memories: the hits of a search in the order of the tools, or page by page."""

from typing import Literal, get_args

from nacre.being.memory.model.fields import checked_days
from nacre.being.memory.model.types import UNDONE, Node, NodeStatus
from nacre.being.memory.search.candidates import Memory, MemoryReader
from nacre.being.memory.search.search import FINDABLE
from nacre.being.memory.services import MemoryServices
from nacre.being.memory.store.nodes import NodePage
from nacre.console.map.chart import NO_GROUP
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_QUERY, MAX_SEARCH_MEMORIES
from nacre.ports.items.table import Table
from nacre.ports.vectors.vector_index import Filter, Kind

State = Literal["active", "dying", "dead", "pending", "hidden"]
STATES: tuple[State, ...] = get_args(State)

_PAGE = 30
_LOOKED_AT = 3000  # memories of every status read to find forgotten ones


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """A filter of memories; an empty field restricts nothing."""

    query: str = ""
    group: str = ""
    state: State | None = None
    day_from: str = ""
    day_to: str = ""
    place: str = ""  # where an earlier page ended

    @property
    def is_search(self) -> bool:
        """Tell whether there is a query; without one, memories come page by page."""
        return bool(self.query.strip())


@dataclass(frozen=True, slots=True)
class Listed:
    """Memories, best or newest first; `next` is where the next page starts."""

    memories: tuple[Memory, ...] = ()
    next: str | None = None
    remarks: tuple[str, ...] = ()


def listed(table: Table, services: MemoryServices, being_id: str, chosen: MemoryFilter) -> Listed:
    """Return the memories that match; this does not count as a recall.

    Raises InvalidInputError for an invalid day.
    """
    low, high = checked_days(chosen.day_from, chosen.day_to)
    if chosen.is_search and chosen.state != "hidden":  # no search finds what is hidden
        where = Filter(
            states=frozenset({chosen.state}) if chosen.state else FINDABLE.states,
            cluster_id=chosen.group if chosen.group != NO_GROUP and chosen.group else None,
            day_from=low,
            day_to=high,
        )
        query = chosen.query[:MAX_QUERY]
        answer = services.search.find(being_id, query, limit=MAX_SEARCH_MEMORIES, where=where)
        return Listed(tuple(hit.memory for hit in answer.hits), remarks=answer.remarks)
    start = chosen.place or None
    if chosen.state == "pending":
        pending = services.memory.scenes.pending(being_id, limit=_PAGE, start=start)
        scenes: dict[str, Kind] = dict.fromkeys(
            (scene.scene_id for scene in pending.scenes), "scene"
        )
        return Listed(tuple(MemoryReader(table).read(being_id, scenes)), pending.next)
    page = _page(services, being_id, chosen, start)
    nodes: dict[str, Kind] = {
        node.node_id: "node" for node in page.nodes if _is_shown(node, chosen.state)
    }
    return Listed(tuple(MemoryReader(table).read(being_id, nodes)), page.next)


def _page(
    services: MemoryServices, being_id: str, chosen: MemoryFilter, start: str | None
) -> NodePage:
    nodes = services.memory.nodes
    state: NodeStatus | None = None if chosen.state == "pending" else chosen.state
    if state == "hidden":
        return nodes.hidden(being_id, limit=_PAGE, start=start)
    if chosen.group:
        group = None if chosen.group == NO_GROUP else chosen.group
        return nodes.in_cluster(being_id, group, status=state, limit=_PAGE, start=start)
    if state != "dead":
        return nodes.recent(being_id, limit=_PAGE, start=start)
    dead: list[Node] = []
    for _ in range(_LOOKED_AT // 100):
        page = nodes.page(being_id, limit=100, start=start)
        dead += [node for node in page.nodes if _is_shown(node, "dead")]
        if (start := page.next) is None or len(dead) >= _PAGE:
            break
    return NodePage(tuple(dead), start)


def _is_shown(node: Node, state: State | None) -> bool:
    if node.status == "merged" or node.reason == UNDONE:
        return False
    return node.status == state if state else node.status != "hidden"

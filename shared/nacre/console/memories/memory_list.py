"""Memories in a list: what a search finds, in the order of the tools, or page by page."""

from dataclasses import dataclass
from typing import Literal, get_args

from nacre.being.memory.model.fields import checked_days
from nacre.being.memory.model.types import UNDONE, Node, NodeStatus
from nacre.being.memory.search.candidates import Remembered, Shelf
from nacre.being.memory.search.search import FINDABLE
from nacre.being.memory.services import Mind
from nacre.being.memory.store.nodes import NodePage
from nacre.console.map.chart import NO_GROUP
from nacre.core.limits import MAX_QUERY, MAX_SEARCH_MEMORIES
from nacre.ports.items.table import Table
from nacre.ports.vectors import Filter, Kind

State = Literal["active", "dying", "dead", "pending"]
STATES: tuple[State, ...] = get_args(State)

_PAGE = 30
_LOOKED_AT = 3000  # memories of every status, to find forgotten ones among them


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants to see; what is empty leaves everything open."""

    query: str = ""
    group: str = ""
    state: State | None = None
    day_from: str = ""
    day_to: str = ""
    place: str = ""  # where an earlier page ended

    @property
    def is_search(self) -> bool:
        """Whether there is anything to search for; if not, memories come page by page."""
        return bool(self.query.strip())


@dataclass(frozen=True, slots=True)
class Listed:
    """Memories, best or newest first; `next` is where more begin."""

    memories: tuple[Remembered, ...] = ()
    next: str | None = None
    remarks: tuple[str, ...] = ()


def listed(table: Table, mind: Mind, being_id: str, asked: Asked) -> Listed:
    """Return what is asked for; looking counts as no recall.

    Raises InvalidInputError for days that are none.
    """
    low, high = checked_days(asked.day_from, asked.day_to)
    if asked.is_search:
        where = Filter(
            states=frozenset({asked.state}) if asked.state else FINDABLE.states,
            cluster_id=asked.group if asked.group != NO_GROUP and asked.group else None,
            day_from=low,
            day_to=high,
        )
        query = asked.query[:MAX_QUERY]
        answer = mind.search.find(being_id, query, limit=MAX_SEARCH_MEMORIES, where=where)
        return Listed(tuple(hit.memory for hit in answer.hits), remarks=answer.remarks)
    start = asked.place or None
    if asked.state == "pending":
        found = mind.memory.scenes.pending(being_id, limit=_PAGE, start=start)
        scenes: dict[str, Kind] = dict.fromkeys((each.scene_id for each in found.scenes), "scene")
        return Listed(tuple(Shelf(table).read(being_id, scenes)), found.next)
    page = _page(mind, being_id, asked, start)
    shown: dict[str, Kind] = {
        each.node_id: "node" for each in page.nodes if _is_shown(each, asked.state)
    }
    return Listed(tuple(Shelf(table).read(being_id, shown)), page.next)


def _page(mind: Mind, being_id: str, asked: Asked, start: str | None) -> NodePage:
    nodes = mind.memory.nodes
    state: NodeStatus | None = None if asked.state == "pending" else asked.state
    if asked.group:
        group = None if asked.group == NO_GROUP else asked.group
        return nodes.in_cluster(being_id, group, status=state, limit=_PAGE, start=start)
    if state != "dead":
        return nodes.recent(being_id, limit=_PAGE, start=start)
    found: list[Node] = []
    for _ in range(_LOOKED_AT // 100):
        page = nodes.page(being_id, limit=100, start=start)
        found += [each for each in page.nodes if _is_shown(each, "dead")]
        if (start := page.next) is None or len(found) >= _PAGE:
            break
    return NodePage(tuple(found), start)


def _is_shown(node: Node, state: State | None) -> bool:
    if node.status == "merged" or node.reason == UNDONE:
        return False
    return state is None or node.status == state

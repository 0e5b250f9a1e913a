"""What the reading tools do: find or show, and count what was read where that is allowed."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from nacre.limits import RECALL_MEMORIES
from nacre.memory.explore import Explore
from nacre.memory.fields import checked_days
from nacre.memory.listing import found_text, trace
from nacre.memory.model import Node
from nacre.memory.nodes import Nodes
from nacre.memory.rendering import Fragment, recall_block, shown_line
from nacre.memory.search import FINDABLE, LIVING, Mode, Search
from nacre.memory.shelf import Remembered
from nacre.ports.vectors import Filter


@dataclass(frozen=True, slots=True)
class Reply:
    """Text for the model, and for programs what it stands on."""

    text: str
    trace: dict[str, Any]


class Recollection:
    """Reads a Being's memory. `counted` says whether nodes may remember that they were read."""

    def __init__(self, search: Search, explore: Explore, nodes: Nodes) -> None:
        self._search = search
        self._explore = explore
        self._nodes = nodes

    def recall(self, being_id: str, message: str, *, counted: bool) -> Reply:
        """Return a block of the living memories that a message touches; none, no text."""
        answer = self._search.find(being_id, message, limit=RECALL_MEMORIES, where=LIVING)
        memories = [hit.memory for hit in answer.hits]
        fragments = [Fragment(shown_line(each.told), f"{each.kind} {each.id}") for each in memories]
        self._count(being_id, memories, counted=counted)
        return Reply(recall_block(fragments, message), trace(answer))

    def search(
        self,
        being_id: str,
        query: str,
        *,
        limit: int,
        mode: Mode = "or",
        cluster_id: str | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
        status: str | None = None,
        counted: bool,
    ) -> Reply:
        """Return a list of the memories that a query finds, dead ones too."""
        day_from, day_to = checked_days(date_from, date_to)
        where = Filter(
            states=FINDABLE.states if status is None else frozenset({status}),
            cluster_id=cluster_id,
            day_from=day_from,
            day_to=day_to,
        )
        found = self._search.find(being_id, query, limit=limit + 1, where=where, mode=mode)
        answer = replace(found, hits=found.hits[:limit])
        self._count(being_id, [hit.memory for hit in answer.hits], counted=counted)
        has_more = len(found.hits) > limit
        return Reply(found_text(answer, has_more=has_more), trace(answer))

    def explore(
        self,
        being_id: str,
        *,
        cluster_id: str | None = None,
        node_id: str | None = None,
        limit: int,
        query: str | None = None,
        page: int = 1,
        counted: bool,
    ) -> str:
        """Return a node's details, a cluster with `limit` of its nodes, or the list of clusters."""
        if node_id is not None:
            view = self._explore.node(being_id, node_id)
        elif cluster_id is not None:
            view = self._explore.cluster(being_id, cluster_id, limit=limit, query=query, page=page)
        else:
            view = self._explore.clusters(being_id, query=query, page=page)
        self._count(being_id, view.read, counted=counted)
        return view.text

    def _count(self, being_id: str, memories: Iterable[Remembered], *, counted: bool) -> None:
        # A dead node gets two at once, which makes it eligible for revival.
        nodes = {memory.id: memory.told for memory in memories if isinstance(memory.told, Node)}
        amounts = {node_id: 2 if node.status == "dead" else 1 for node_id, node in nodes.items()}
        if counted and amounts:
            self._nodes.touch(being_id, amounts, known=nodes)

"""What the reading tools do: find or show, and count what was read where that is allowed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nacre.being.memory.model.fields import checked_days
from nacre.being.memory.model.types import Node
from nacre.being.memory.search.browse import Explore
from nacre.being.memory.search.candidates import Remembered
from nacre.being.memory.search.result_list import found_text, trace
from nacre.being.memory.search.search import FINDABLE, LIVING, Found, Mode, Search
from nacre.being.memory.store.nodes import Nodes
from nacre.being.memory.text.memory_text import Fragment, recall_block, shown_line
from nacre.core.limits import RECALL_MEMORIES
from nacre.ports.vectors import Filter

_RECALL_POOL = 4 * RECALL_MEMORIES  # hits that are grouped
_SHOWN_SIMILAR = 1  # beside the best of its group: "Ann lent Bob 200" and "Bob lent Ann 200"


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
        """Return a block of the living memories that a message touches; none, no text.

        Similar memories count as one of the three, so that what was told in many ways leaves
        room for the rest.
        """
        answer = self._search.find(being_id, message, limit=_RECALL_POOL, where=LIVING)
        groups = grouped(answer.hits, RECALL_MEMORIES)
        hits = tuple(hit for group in groups for hit in group)
        fragments = [
            replace(_fragment(first), similar=tuple(map(_fragment, others)))
            for first, *others in groups
        ]
        self._count(being_id, [hit.memory for hit in hits], counted=counted)
        return Reply(recall_block(fragments, message), trace(replace(answer, hits=hits)))

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


def grouped(hits: Sequence[Found], limit: int) -> list[list[Found]]:
    """Return the best hits in at most `limit` groups of similar memories, best first.

    A hit that tells the same event as an earlier one is left out.
    """
    groups: list[list[Found]] = []
    for hit in hits:
        group = next((each for each in groups if _are_similar(each[0].memory, hit.memory)), None)
        if group is None:
            if len(groups) == limit:
                break  # what ranks lower than the last group is no closer to the message
            groups.append([hit])
        elif len(group) <= _SHOWN_SIMILAR and not any(_are_one(each, hit) for each in group):
            group.append(hit)
    return groups


def _are_similar(one: Remembered, other: Remembered) -> bool:
    if one.told.fingerprint is not None and one.told.fingerprint == other.told.fingerprint:
        return True
    return not one.links.isdisjoint(other.links)


def _are_one(one: Found, other: Found) -> bool:
    return (
        one.memory.told.fingerprint is not None
        and one.memory.told.fingerprint == other.memory.told.fingerprint
    )


def _fragment(hit: Found) -> Fragment:
    return Fragment(shown_line(hit.memory.told), f"{hit.memory.kind} {hit.memory.id}")

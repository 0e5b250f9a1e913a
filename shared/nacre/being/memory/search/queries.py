"""The answers of the reading tools: find or show memories, count the recall, search the history."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from nacre.being.memory.model.fields import checked_date, checked_days
from nacre.being.memory.model.lineage import lineage_of_text
from nacre.being.memory.model.types import Node
from nacre.being.memory.search.browse import MemoryBrowser
from nacre.being.memory.search.candidates import Memory
from nacre.being.memory.search.changed_facts import Fact, arranged
from nacre.being.memory.search.recall_gate import Match
from nacre.being.memory.search.recall_signals import recalled_hits
from nacre.being.memory.search.result_list import found_text, message_list, trace
from nacre.being.memory.search.search import FINDABLE, LIVING, Mode, SearchHit, SearchResult
from nacre.being.memory.search.time_search import MORE, TimeSearch
from nacre.being.memory.store.history import History
from nacre.being.memory.store.kept_questions import FoundMemory, KeptAnswer, KeptQuestions, Tool
from nacre.being.memory.store.recall_log import RecallLog
from nacre.being.memory.text.memory_text import Fragment, recall_block, shown_line
from nacre.being.memory.text.reported import reported_by
from nacre.being.memory.writer_origins import WriterOrigins
from nacre.core.errors import ConflictError, UnavailableError
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import RECALL_MEMORIES
from nacre.core.origins import origins_in, union
from nacre.core.time_zones import time_zone
from nacre.core.traces import span
from nacre.ports.items.table import Value
from nacre.ports.untrusted_results import Holder
from nacre.ports.vectors.vector_index import Filter

_SEARCHING = {"gen_ai.operation.name": "search_memory"}
_RECALL_POOL = 40  # hits that the gate compares and chooses from
_SHOWN_SIMILAR = 1  # next to the best of a group: "Ann lent Bob 200" and "Bob lent Ann 200"


@dataclass(frozen=True, slots=True)
class Reply:
    """Text for the model, and the trace of the search for programs."""

    text: str
    trace: dict[str, Any]


class MemoryQueries:
    """Reads a Being's memory. `counted` says whether the read counts as a recall.

    `holder` is the client that is shown the answer, if it is one; see `WriterOrigins`.
    """

    def __init__(
        self,
        search: TimeSearch,
        browser: MemoryBrowser,
        recalls: RecallLog,
        history: History,
        writers: WriterOrigins,
        questions: KeptQuestions,
    ) -> None:
        self._search = search
        self._browser = browser
        self._recalls = recalls
        self._history = history
        self._writers = writers
        self._questions = questions

    def recall(
        self,
        being_id: str,
        message: str,
        *,
        timezone: str = "UTC",
        counted: bool,
        holder: Holder | None = None,
    ) -> Reply:
        """Return a block of the living memories related to a message, or no text.

        There is no text for a message that needs no memory. Similar memories count as one, so
        that an event that was told in many ways leaves room for others.
        """
        with span("search_memory recall", _SEARCHING):
            return self._recall(
                being_id, message, timezone=timezone, counted=counted, holder=holder
            )

    def _recall(
        self, being_id: str, message: str, *, timezone: str, counted: bool, holder: Holder | None
    ) -> Reply:
        ranked = self._search.recall(
            being_id, message, limit=_RECALL_POOL, where=LIVING, zone=time_zone(timezone)
        )
        chosen = self._search.stored(being_id, ranked, lambda result: _chosen(message, result))
        matches = chosen.matches
        fragments = [
            replace(
                _fragment(first, matches),
                similar=tuple(_fragment(hit, matches) for hit in others),
            )
            for first, *others in chosen.groups
        ]
        memories = [hit.memory for hit in chosen.hits]
        self._show(holder, memories)
        self._count(being_id, memories, counted=counted)
        traced = trace(replace(ranked, hits=chosen.hits)) | {"gate": chosen.gate}
        if counted and ranked.kept_with is not None:
            answer = _answer(memories, ranked.kept_with, chosen.gate)
            self._keep(being_id, "recall", message, {"timezone": timezone}, answer)
        return Reply(recall_block(fragments, message), traced)

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
        page: int = 1,
        timezone: str = "UTC",
        as_of: str | None = None,
        counted: bool,
        holder: Holder | None = None,
    ) -> Reply:
        """Return a list of the memories that a query finds, including dead ones.

        With `as_of`, the list is as of that day: later memories are left out, and memories that
        were superseded later still hold.
        """
        day_from, day_to = checked_days(date_from, date_to)
        if as_of is not None:
            day_to = min(checked_date(as_of, "as_of"), day_to or as_of)
        where = Filter(
            states=FINDABLE.states if status is None else frozenset({status}),
            cluster_id=cluster_id,
            day_from=day_from,
            day_to=day_to,
        )
        with span("search_memory search", _SEARCHING):
            answer = self._search.page(
                being_id,
                query,
                limit=limit,
                where=where,
                mode=mode,
                page=page,
                zone=time_zone(timezone),
                by_time=date_from is not None or date_to is not None,
                superseded=as_of is not None,
            )

        def choose(result: SearchResult) -> _ChosenPage:
            hits = result.hits
            if as_of is not None:
                hits = tuple(hit for hit in hits if hit.memory.held_on(as_of))
            if not answer.is_ranked:
                return _ChosenPage(hits, answer.more)
            in_order = newest_first(query, hits, visible=limit)
            return _ChosenPage(in_order[:limit], MORE if len(in_order) > limit else "")

        chosen = self._search.stored(being_id, answer.result, choose)
        result, more = replace(answer.result, hits=chosen.hits), chosen.more
        memories = [hit.memory for hit in result.hits]
        self._show(holder, memories)
        self._count(being_id, memories, counted=counted)
        # An unknown cluster may be any text; one with hits is an id.
        is_worth_keeping = page == 1 and (cluster_id is None or bool(memories))
        if counted and is_worth_keeping and result.kept_with is not None:
            arguments: dict[str, Value] = {
                "limit": limit,
                "mode": mode,
                "cluster_id": cluster_id,
                "date_from": date_from,
                "date_to": date_to,
                "status": status,
                "timezone": timezone,
                "as_of": as_of,
            }
            kept_answer = _answer(memories, result.kept_with)
            self._keep(being_id, "search_memory", query, arguments, kept_answer)
        return Reply(found_text(result, more=more), trace(result))

    def browse(
        self,
        being_id: str,
        *,
        cluster_id: str | None = None,
        node_id: str | None = None,
        limit: int,
        query: str | None = None,
        page: int = 1,
        as_of: str | None = None,
        counted: bool,
        holder: Holder | None = None,
    ) -> str:
        """Return one node, one cluster with `limit` of its nodes, or the list of clusters.

        With `as_of`, the answer is as of that day.
        """
        day = None if as_of is None else checked_date(as_of, "as_of")
        if node_id is not None:
            view = self._browser.node(being_id, node_id, as_of=day)
        elif cluster_id is not None:
            view = self._browser.cluster(
                being_id, cluster_id, limit=limit, query=query, page=page, as_of=day
            )
        else:
            view = self._browser.clusters(being_id, query=query, page=page, as_of=day)
        self._writers.shown(holder, view.origins)
        self._count(being_id, view.read, counted=counted)
        return view.text

    def history(
        self,
        being_id: str,
        *,
        limit: int,
        query: str | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
        before: str | None = None,
        holder: Holder | None = None,
    ) -> str:
        """Return the messages that match, each with its time, below a line that counts them."""
        hits = self._history.search(
            being_id,
            limit=limit,
            query=query,
            date_from=date_from,
            date_to=date_to,
            before=before,
        )
        origins = [origins_in(message.origins) for message in hits.messages if message.origins]
        self._writers.shown(holder, union(origins))
        return message_list(hits, query or "")

    def _show(self, holder: Holder | None, memories: Iterable[Memory]) -> None:
        """Note the origins of the texts of memories that a client is shown."""
        if holder is not None:
            records = [memory.record for memory in memories]
            self._writers.shown(holder, union(map(lineage_of_text, records)))

    def _count(self, being_id: str, memories: Iterable[Memory], *, counted: bool) -> None:
        # One read of a dead node counts as two recalls, so that the next patrol revives it.
        nodes = {memory.id: memory.record for memory in memories if isinstance(memory.record, Node)}
        amounts = {node_id: 2 if node.status == "dead" else 1 for node_id, node in nodes.items()}
        if counted and amounts:
            self._recalls.add(being_id, amounts, nodes=nodes)

    def _keep(
        self,
        being_id: str,
        tool: Tool,
        text: str,
        arguments: Mapping[str, Value],
        answer: KeptAnswer,
    ) -> None:
        """Keep a question for evaluations; it is answered even if that fails."""
        with suppress(UnavailableError, ConflictError):
            self._questions.add(being_id, tool, text, arguments, answer)


def _answer(
    memories: Iterable[Memory], embedding: str, gate: Mapping[str, Any] | None = None
) -> KeptAnswer:
    hits = tuple(FoundMemory.of(memory.id, memory.kind, memory.text) for memory in memories)
    return KeptAnswer(hits, embedding, gate)


@dataclass(frozen=True, slots=True)
class _ChosenPage:
    """The hits of a page, and the line that says how to get more."""

    hits: tuple[SearchHit, ...]
    more: str


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The groups of hits that a recall shows, how well they match, and the gate's verdict."""

    groups: list[list[SearchHit]]
    matches: Mapping[str, Match]
    gate: dict[str, Any]

    @property
    def hits(self) -> tuple[SearchHit, ...]:
        """Return the hits of all groups."""
        return tuple(hit for group in self.groups for hit in group)


def _chosen(message: str, result: SearchResult) -> _Chosen:
    recalled = recalled_hits(message, result)
    in_order = result.hits
    if result.kind != "date":
        in_order = newest_first(message, result.hits, visible=RECALL_MEMORIES)
    matches = _passed_on(recalled.matches, in_order)
    matching = [hit for hit in in_order if hit.memory.id in matches]
    return _Chosen(grouped(matching, RECALL_MEMORIES), matches, recalled.trace)


def grouped(hits: Sequence[SearchHit], limit: int) -> list[list[SearchHit]]:
    """Return the best hits in at most `limit` groups of similar memories, best first.

    A hit of the same event as an earlier one is left out.
    """
    groups: list[list[SearchHit]] = []
    for hit in hits:
        group = next((group for group in groups if _are_similar(group[0], hit)), None)
        if group is None:
            if len(groups) == limit:
                break  # lower hits are less related to the message
            groups.append([hit])
        elif len(group) <= _SHOWN_SIMILAR and not any(
            _are_same_event(member, hit) for member in group
        ):
            group.append(hit)
    return groups


def _are_similar(first: SearchHit, second: SearchHit) -> bool:
    is_linked = not first.memory.links.isdisjoint(second.memory.links)
    return is_linked or _are_same_event(first, second)


def _are_same_event(first: SearchHit, second: SearchHit) -> bool:
    return bool(first.memory.event) and first.memory.event == second.memory.event


def _fragment(hit: SearchHit, matches: Mapping[str, Match]) -> Fragment:
    memory = hit.memory
    earlier = "" if hit.newer is None else "; earlier"
    reported = reported_by(memory.record)
    source = f"{memory.kind} {memory.id}{earlier}{reported and f'; {reported}'}"
    return Fragment(shown_line(memory.record), source, f"{matches[memory.id]} match")


def _passed_on(matches: Mapping[str, Match], hits: Sequence[SearchHit]) -> dict[str, Match]:
    """Return how well the hits match: a newer fact matches at least as well as the one before."""
    newer = {
        hit.newer: matches[hit.memory.id]
        for hit in hits
        if hit.newer is not None and hit.memory.id in matches
    }
    return {**newer, **matches}


def newest_first(
    question: str, hits: Sequence[SearchHit], *, visible: int
) -> tuple[SearchHit, ...]:
    """Return the hits with the newest of facts that changed before the others; see `arranged`."""
    by_id = {hit.memory.id: hit for hit in hits}
    facts = [Fact.of(hit.memory.record) for hit in hits]
    return tuple(
        replace(by_id[placed.id], newer=placed.newer)
        for placed in arranged(question, facts, visible=visible)
    )

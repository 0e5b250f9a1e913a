"""Search by time: ranges of days, in arguments or in the words of a query.

Days that are given as arguments restrict a search. Words of time in a query lift the memories of
these days above the others and leave the others findable, because a memory may have another day
than the event that it tells of.
"""

from collections.abc import Callable, Sequence
from datetime import date, tzinfo

from nacre.being.memory.index.sync import ActiveIndex
from nacre.being.memory.search.candidates import Memory, MemoryReader
from nacre.being.memory.search.search import NO_EMBEDDER, C, Mode, Search, SearchHit, SearchResult
from nacre.core.clock import Clock
from nacre.core.errors import UnavailableError
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import LISTED_POINTS, MAX_SEARCH_MEMORIES
from nacre.ports.vectors.vector_index import Filter, Kind
from nacre.text.time_expressions.days import Days
from nacre.text.time_expressions.time_expression import TimeExpression, find_time

EVERYTHING = frozenset({"", "*"})
"""The queries that name nothing and list what lies in a range."""

MORE = f"… there are more: a larger limit (up to {MAX_SEARCH_MEMORIES}), or dates, show others"
_LIFT_DAYS = 15  # a memory of one named day gains its score again, of 15 days half of it
_POOL = 40  # hits of the whole memory, among which the memories of these days are placed


@dataclass(frozen=True, slots=True)
class SearchPage:
    """The hits of a search or a list, and a line that says how to get more, if there are more.

    If it `is_ranked`, the hits are the best ones and more than asked for, so that facts that
    changed can be put in order before the others are left out. Those are as the index knows them.
    """

    result: SearchResult
    more: str = ""
    is_ranked: bool = False


@dataclass(frozen=True, slots=True)
class TimeSearch:
    """Searches and lists memories by time; `clock` is what "today" counts from."""

    search: Search
    reader: MemoryReader
    active_index: Callable[[str], ActiveIndex]
    clock: Clock

    def page(
        self,
        being_id: str,
        query: str,
        *,
        limit: int,
        where: Filter,
        mode: Mode,
        page: int,
        zone: tzinfo,
        by_time: bool,
        superseded: bool,
    ) -> SearchPage:
        """Return the answer to a search: a list by date, or the best hits.

        It is a list if the query names nothing but a time, or nothing at all. `page` turns its
        pages. With `by_time`, the hits of a search are in order of time.
        """
        if query.strip() in EVERYTHING:
            return self._list(being_id, where, page=page, size=limit, superseded=superseded)
        if by_time:
            hits = self.search.find(
                being_id, query, limit=limit + 1, where=where, mode=mode, superseded=superseded
            )
            remarks = (*hits.remarks, f"{span(where)}, in order of time")
            in_order = tuple(in_order_of_time(hits.hits[:limit], where))
            more = MORE if len(hits.hits) > limit else ""
            return SearchPage(replace(hits, hits=in_order, remarks=remarks), more)
        expression = self._expression(query, zone)
        if expression is not None and expression.is_all:
            named = within(where, expression.days)
            days = self._list(being_id, named, page=page, size=limit, superseded=superseded)
            if days.result.hits:
                return days
        hits = self._find(
            being_id,
            query,
            expression,
            limit=max(limit + 1, _POOL),
            where=where,
            mode=mode,
            superseded=superseded,
        )
        return SearchPage(hits, is_ranked=True)

    def recall(
        self, being_id: str, message: str, *, limit: int, where: Filter, zone: tzinfo
    ) -> SearchResult:
        """Return the memories that a message touches; for a time alone, its most important ones.

        They are as the index knows them; see `Search.stored`.
        """
        expression = self._expression(message, zone)
        if expression is not None and expression.is_all:
            named = within(where, expression.days)
            days = self._list(being_id, named, page=1, size=_POOL, superseded=False).result
            if days.hits:
                hits = sorted(days.hits, key=lambda hit: -hit.memory.record.importance)
                return replace(days, hits=tuple(hits[:limit]))
        return self._find(being_id, message, expression, limit=limit, where=where)

    def stored(self, being_id: str, result: SearchResult, choose: Callable[[SearchResult], C]) -> C:
        """Return the choice of `choose` with its hits as the store has them."""
        return self.search.stored(being_id, result, choose)

    def _expression(self, query: str, zone: tzinfo) -> TimeExpression | None:
        return find_time(query, self.clock().astimezone(zone))

    def _list(
        self, being_id: str, where: Filter, *, page: int, size: int, superseded: bool
    ) -> SearchPage:
        """Return a page of the memories that pass the filter, in order of time."""
        start = (page - 1) * size
        remarks = [f"{span(where)}, in order of time"]
        try:
            active = self.active_index(being_id)
            listing = active.index.list_days(being_id, where, limit=LISTED_POINTS)
        except UnavailableError:
            memories, truncated = self.reader.newest(being_id, where)
            memories.sort(key=lambda memory: (first_day(memory, where), memory.id))
            count = len(memories)
            memories = memories[start : start + size]
            remarks.append("the search index cannot be reached")
            kept_with = None
        else:
            kept_with = active.index.emb_id if active.keeps_questions else None
            truncated, count = listing.truncated, len(listing.hits)
            kinds: dict[str, Kind] = {
                hit.id: hit.kind for hit in listing.hits[start : start + size]
            }
            memories = self.reader.read(being_id, kinds)
        if truncated:
            remarks.append("truncated: narrow the dates to see all")
        pages = -(-count // size)
        if pages > 1:
            remarks.append(f"page {page} of {pages}")
        hits = tuple(
            SearchHit(memory, 0.0, {}, {})
            for memory in memories
            if memory.fits(where) and (superseded or memory.is_current)
        )
        more = f"… there are more: page={page + 1} shows the next" if page < pages else ""
        result = SearchResult(hits, "date", tuple(remarks), kept_with=kept_with)
        return SearchPage(result, more)

    def _find(
        self,
        being_id: str,
        query: str,
        expression: TimeExpression | None,
        *,
        limit: int,
        where: Filter,
        mode: Mode = "or",
        superseded: bool = False,
    ) -> SearchResult:
        """Return the best memories, those of the expression's days lifted above the others.

        The days are searched for the rest of the query, and the whole memory for all of it,
        because a text may say the words of time itself.
        """
        if expression is None:
            return self.search.rank(
                being_id, query, limit=limit, where=where, mode=mode, superseded=superseded
            )
        pool = max(limit, _POOL)
        every = self.search.rank(
            being_id, query, limit=pool, where=where, mode=mode, superseded=superseded
        )
        days = within(where, expression.days)
        on_time = self.search.rank(
            being_id, expression.rest, limit=limit, where=days, mode=mode, superseded=superseded
        )
        lift = lift_of(expression.days, self.clock().date())
        hits = lifted(every.hits, on_time.hits, lift)[:limit]
        remark = f'memories {span(days)} first, for "{expression.words}"'
        if not on_time.hits:
            remark = f'no memories {span(days)}, for "{expression.words}"'
        failures = (text for text in on_time.remarks if text == NO_EMBEDDER)
        remarks = dict.fromkeys((*every.remarks, *failures, remark))
        kept_with = None if on_time.kept_with is None else every.kept_with
        return replace(every, hits=tuple(hits), remarks=tuple(remarks), kept_with=kept_with)


def within(where: Filter, days: Days) -> Filter:
    """Return the filter with these days in place of its own."""
    low = None if days.first is None else days.first.isoformat()
    high = None if days.last is None else days.last.isoformat()
    return replace(where, day_from=low, day_to=high)


def lift_of(days: Days, today: date) -> float:
    """Return the share of its score that a memory of these days gains: more for fewer days."""
    if days.first is None:
        return 0.0
    size = ((days.last or max(today, days.first)) - days.first).days + 1
    return 1 / (1 + size / _LIFT_DAYS)


def lifted(
    every: Sequence[SearchHit], on_time: Sequence[SearchHit], lift: float
) -> list[SearchHit]:
    """Return the hits of both searches, best first, those on time with a part `time` in the score.

    Each keeps the score that it has in the whole memory. One that only the search on time found has
    at most the score of the last of the others.
    """
    hits = {hit.memory.id: hit for hit in every}
    lowest = min((hit.score for hit in every), default=0.0)
    best = max((hit.score for hit in on_time), default=0.0)
    for hit in on_time:
        placed = hits.get(hit.memory.id)
        score = placed.score if placed else lowest * hit.score / best if best > 0 else 0.0
        parts = {**hit.parts, "time": lift * score}
        hits[hit.memory.id] = replace(hit, score=score + parts["time"], parts=parts)
    return sorted(hits.values(), key=lambda hit: (-hit.score, hit.memory.id))


def in_order_of_time(hits: Sequence[SearchHit], where: Filter) -> list[SearchHit]:
    """Return hits in the order of their first day within the filter."""
    return sorted(hits, key=lambda hit: (first_day(hit.memory, where), hit.memory.id))


def first_day(memory: Memory, where: Filter) -> str:
    """Return the first day of a memory that lies within the filter's days."""
    low, high = where.day_from or "", where.day_to or "9999-12-31"
    return min((day for day in memory.record.when if low <= day <= high), default="9999-12-31")


def span(where: Filter) -> str:
    """Return the days of a filter in words: "from 2026-11-09 to 2026-11-15"."""
    low, high = where.day_from, where.day_to
    if low is None and high is None:
        return "of all days"
    if low is None:
        return f"until {high}"
    if high is None:
        return f"from {low} on"
    return f"from {low} to {high}"

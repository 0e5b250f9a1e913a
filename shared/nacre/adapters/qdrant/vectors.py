"""The vector index in Qdrant: a server by URL, or Qdrant Cloud by URL and API key.

It uses only features that a server of version 1.16 and the client's local mode share: two named
vectors, exact filters, and one batch for both lists.
"""

import json
import uuid
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import isfinite, log
from typing import Any, get_args

from qdrant_client import QdrantClient, models

from nacre.adapters.qdrant.calls import MissingCollectionError, QdrantCalls, not_understood
from nacre.adapters.qdrant.collection import DENSE, SPARSE, alias_of, make_collection
from nacre.adapters.vectors.point_rules import (
    check_names,
    check_points,
    check_question,
    day_number,
    in_order_of_time,
    iso_day,
    term_counts,
)
from nacre.core.limits import LISTED_POINTS
from nacre.ports.items.table import Write
from nacre.ports.vectors.embedder import Vector
from nacre.ports.vectors.vector_index import (
    Candidates,
    Filter,
    Hit,
    Kind,
    Listing,
    Point,
    Question,
    dimension_of,
)

_POINTS = uuid.UUID("6f1d0a0e-7c0b-5b0e-9a39-2f5a3c1f4f10")  # the namespace of our point ids
_TERM_BITS = 32  # the size of an index in a sparse vector
_BATCH = 100  # points in a request: half a megabyte to two
_LIST_PAGE = 1000  # points of a list by days in a request: about 200 kB
_TIES = 16  # extra hits, so that equal scores at the end can be sorted
_DECIMALS = 6
_PROBED_TERMS = 32  # of a question; each costs a small request in the batch

# BM25 with the means of Qdrant: the rarity of terms is over all Beings of the collection, and the
# average length is fixed. By measurement, neither reduces the quality.
_K1 = 0.9
_B = 0.4
_AVERAGE_TERMS = 16.0


class QdrantVectors:
    """A VectorIndex in one collection, which the first write creates."""

    is_derived = True
    is_told_in_transaction = False

    def __init__(
        self,
        client: QdrantClient,
        emb_id: str,
        *,
        prefix: str = "nacre",
        call: QdrantCalls | None = None,
    ) -> None:
        self.emb_id = emb_id
        self._client = client
        self._prefix = prefix
        self._alias = alias_of(emb_id, prefix=prefix)
        self._dimension = dimension_of(emb_id)
        self._call = call or QdrantCalls()

    def changes(self, being_id: str, ids: Sequence[str]) -> list[Write]:
        """Return no writes: `upsert` and `delete` follow."""
        return []

    def settle(self, being_id: str, *, more_follow: bool = False) -> None:
        """Do nothing: nothing waits."""

    def upsert(self, being_id: str, points: Sequence[Point]) -> None:
        """Write points, and replace those with the same ids."""
        check_points(being_id, points, self._dimension)
        latest = list({point.id: point for point in points}.values())
        for start in range(0, len(latest), _BATCH):
            structs = [_struct(being_id, point) for point in latest[start : start + _BATCH]]
            write = partial(self._client.upsert, self._alias, structs, wait=True)
            try:
                self._call("upsert", write)
            except MissingCollectionError:
                self._make_and(write)

    def _make_and(self, write: Callable[[], Any]) -> None:
        try:
            make_collection(self._client, self.emb_id, prefix=self._prefix, call=self._call)
            self._call("upsert", write)
        except MissingCollectionError:
            raise not_understood("upsert") from None

    def delete(self, being_id: str, ids: Sequence[str]) -> None:
        """Remove points; unknown ids are ignored."""
        check_names(being_id, *ids)
        if ids:
            self._remove(models.PointIdsList(points=[_point_id(being_id, id_) for id_ in ids]))

    def search(self, being_id: str, question: Question) -> Candidates:
        """Return up to `limit` hits for a vector and as many for terms, from one request."""
        check_question(being_id, question, self._dimension)
        filter_ = _filter(being_id, question.where)
        no_hits = Candidates((), ())
        if filter_ is None:
            return no_hits
        queries: dict[str, Any] = {}
        if question.dense is not None:
            queries[DENSE] = _numbers(question.dense)
        numbers = {_number_of(term): term for term in sorted(set(question.sparse))}
        if numbers:
            queries[SPARSE] = _ones(numbers)
        if not queries:
            return no_hits
        requests = [
            models.QueryRequest(
                query=query,
                using=name,
                filter=filter_,
                limit=question.limit + _TIES,
                with_payload=["being_id", "id", "kind", "days", "cluster_id"],
            )
            for name, query in queries.items()
        ]
        # One point for each term, whose score shows how rare the term is.
        probed = list(numbers)[:_PROBED_TERMS]
        of_being = _filter(being_id, Filter())
        requests += [
            models.QueryRequest(
                query=_ones([number]),
                using=SPARSE,
                filter=of_being,
                limit=1,
                with_payload=["being_id"],
                with_vector=[SPARSE],
            )
            for number in probed
        ]
        try:
            answers = self._call(
                "query", lambda: self._client.query_batch_points(self._alias, requests)
            )
            if len(answers) != len(requests):
                raise not_understood("query")
            lists = {
                name: _hits(answer.points, being_id, question.limit)
                for name, answer in zip(queries, answers, strict=False)
            }
            sparse = lists.get(SPARSE, ())
            probes = [answer.points for answer in answers[len(queries) :]]
            rarities = self._rarities(being_id, probed, probes) if sparse else []
        except MissingCollectionError:
            return no_hits
        rarity = dict(zip([numbers[number] for number in probed], rarities, strict=False))
        return Candidates(
            lists.get(DENSE, ()),
            sparse,
            rarity=rarity,
            summaries=partial(self._summaries, being_id),
        )

    def _summaries(self, being_id: str, ids: Sequence[str]) -> dict[str, str]:
        try:
            records = self._call(
                "retrieve",
                lambda: self._client.retrieve(
                    self._alias,
                    ids=[_point_id(being_id, id_) for id_ in ids],
                    with_payload=["being_id", "id", "summary"],
                ),
            )
        except MissingCollectionError:
            return {}
        payloads = [record.payload or {} for record in records]
        return {
            str(payload.get("id")): summary
            for payload in payloads
            if _belongs_to(being_id, payload) and isinstance(summary := payload.get("summary"), str)
        }

    def _rarities(
        self, being_id: str, numbers: Sequence[int], probes: Sequence[Sequence[models.ScoredPoint]]
    ) -> list[float]:
        """Return how rare each of these terms is, from the best point of each."""
        rarities = [
            _rarity(number, points, being_id)
            for number, points in zip(numbers, probes, strict=True)
        ]
        if None not in rarities:
            return [rarity for rarity in rarities if rarity is not None]
        count = self._call("count", lambda: self._client.count(self._alias, exact=False)).count
        absent = log(2 * count + 2)
        return [absent if rarity is None else rarity for rarity in rarities]

    def list_days(self, being_id: str, where: Filter, *, limit: int) -> Listing:
        """Return the first points that pass the filter, in order of time."""
        check_names(being_id)
        filter_ = _filter(being_id, where)
        hits: dict[str, Hit] = {}
        offset: Any = None
        while filter_ is not None:
            try:
                records, offset = self._page(filter_, offset)
            except MissingCollectionError:
                break
            page = {hit.id: hit for hit in _listed(records, being_id)}
            # Without this check, a server that repeats a page would be read for ever.
            if not page.keys().isdisjoint(hits):
                raise not_understood("scroll")
            hits |= page
            if offset is None or len(hits) > LISTED_POINTS:
                break
        ordered = in_order_of_time(hits.values(), where)
        return Listing(tuple(ordered[:limit]), truncated=offset is not None or len(hits) > limit)

    def _page(self, filter_: models.Filter, offset: Any) -> tuple[list[models.Record], Any]:
        return self._call(
            "scroll",
            lambda: self._client.scroll(
                self._alias,
                scroll_filter=filter_,
                limit=_LIST_PAGE,
                offset=offset,
                with_payload=["being_id", "id", "kind", "days", "cluster_id"],
            ),
        )

    def scan(self, being_id: str, *, after: str | None, limit: int) -> list[tuple[str, str]]:
        """Return the next points as (id, text_sha), in the order of Qdrant's own ids."""
        check_names(being_id)
        try:
            records, _ = self._call(
                "scroll",
                lambda: self._client.scroll(
                    self._alias,
                    scroll_filter=_filter(being_id, Filter()),
                    limit=limit + 1,  # the page begins with the last point of the page before
                    offset=None if after is None else _point_id(being_id, after),
                    with_payload=["being_id", "id", "text_sha"],
                ),
            )
        except MissingCollectionError:
            return []
        numbers = [str(record.id) for record in records]
        before = "" if after is None else _point_id(being_id, after)
        # Without this check, a server that repeats its first page would be read endlessly.
        if numbers != sorted(set(numbers)) or (numbers and numbers[0] < before):
            raise not_understood("scroll")
        payloads = [record.payload or {} for record in records]
        try:
            points = [
                (str(payload["id"]), str(payload["text_sha"]))
                for payload in payloads
                if _belongs_to(being_id, payload)
            ]
        except LookupError:
            raise not_understood("scroll") from None
        return [point for point in points if point[0] != after][:limit]

    def erase(self, being_id: str) -> None:
        """Remove all points of a Being."""
        check_names(being_id)
        filter_ = _filter(being_id, Filter())
        assert filter_ is not None
        self._remove(models.FilterSelector(filter=filter_))

    def _remove(self, selector: models.PointsSelector) -> None:
        with suppress(MissingCollectionError):
            self._call(
                "delete",
                lambda: self._client.delete(self._alias, points_selector=selector, wait=True),
            )


def _point_id(being_id: str, id_: str) -> str:
    # As JSON, because no two pairs of ids have the same JSON.
    return str(uuid.uuid5(_POINTS, json.dumps([being_id, id_])))


def _struct(being_id: str, point: Point) -> models.PointStruct:
    vectors: dict[str, Any] = {}
    if point.vector is not None:
        vectors[DENSE] = _numbers(point.vector)
    if point.terms:
        vectors[SPARSE] = _weights(point.terms)
    return models.PointStruct(
        id=_point_id(being_id, point.id),
        vector=vectors,
        payload={
            "being_id": being_id,
            "id": point.id,
            "kind": point.kind,
            "state": point.state,
            "cluster_id": point.cluster_id,
            "days": [day_number(day) for day in point.days],
            "text_sha": point.text_sha,
            "summary": point.summary,
        },
    )


def _number_of(term: str) -> int:
    return next(iter(term_counts([term], bits=_TERM_BITS)))


def _ones(numbers: Iterable[int]) -> models.SparseVector:
    indices = list(numbers)
    return models.SparseVector(indices=indices, values=[1.0] * len(indices))


def _rarity(number: int, points: Sequence[models.ScoredPoint], being_id: str) -> float | None:
    """Return the factor by which Qdrant multiplied the weight of a term; None without a point."""
    try:
        for point in points:
            if _belongs_to(being_id, point.payload):
                vector: Any = point.vector[SPARSE]  # type: ignore[index, call-overload]
                weight = dict(zip(vector.indices, vector.values, strict=True))[number]
                return max(0.0, float(point.score / weight))
    except (AttributeError, LookupError, TypeError, ValueError, ZeroDivisionError):
        raise not_understood("query") from None
    return None


def _weights(terms: Sequence[str]) -> models.SparseVector:
    norm = _K1 * (1 - _B + _B * len(terms) / _AVERAGE_TERMS)
    counts = term_counts(terms, bits=_TERM_BITS)
    return models.SparseVector(
        indices=list(counts),
        values=[count * (_K1 + 1) / (count + norm) for count in counts.values()],
    )


def _filter(being_id: str, where: Filter) -> models.Filter | None:
    """Return the filter of a question, which always names the Being; None if nothing can match."""
    if where.kinds == frozenset() or where.states == frozenset():
        return None
    return models.Filter(must=list(_conditions(being_id, where)))


def _conditions(being_id: str, where: Filter) -> Iterator[models.FieldCondition]:
    yield models.FieldCondition(key="being_id", match=models.MatchValue(value=being_id))
    if where.kinds is not None:
        yield models.FieldCondition(
            key="kind", match=models.MatchAny(any=[str(kind) for kind in where.kinds])
        )
    if where.states is not None:
        yield models.FieldCondition(key="state", match=models.MatchAny(any=list(where.states)))
    if where.cluster_id is not None:
        cluster = models.MatchValue(value=where.cluster_id)
        yield models.FieldCondition(key="cluster_id", match=cluster)
    if where.day_from or where.day_to:
        days = models.Range(
            gte=day_number(where.day_from) if where.day_from else None,
            lte=day_number(where.day_to) if where.day_to else None,
        )
        yield models.FieldCondition(key="days", range=days)


def _belongs_to(being_id: str, payload: Mapping[str, Any] | None) -> bool:
    """Return whether a point is the Being's, in case the server ignored the filter."""
    return (payload or {}).get("being_id") == being_id


def _hits(points: Sequence[models.ScoredPoint], being_id: str, limit: int) -> tuple[Hit, ...]:
    try:
        hits = [
            _hit(point.payload, point.score)
            for point in points
            if _belongs_to(being_id, point.payload)
        ]
    except (LookupError, TypeError, ValueError):
        raise not_understood("query") from None
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit])


def _listed(records: Sequence[models.Record], being_id: str) -> list[Hit]:
    try:
        return [
            _hit(record.payload, 0.0) for record in records if _belongs_to(being_id, record.payload)
        ]
    except (LookupError, TypeError, ValueError):
        raise not_understood("scroll") from None


def _hit(fields: Mapping[str, Any] | None, score: float) -> Hit:
    payload: Mapping[str, Any] = fields or {}
    hit = Hit(
        id=payload["id"],
        kind=payload["kind"],
        score=round(score, _DECIMALS) + 0.0,
        days=tuple(iso_day(number) for number in payload["days"]),
        cluster_id=payload["cluster_id"],
    )
    if not (
        all(isinstance(id_, str) for id_ in (hit.id, hit.cluster_id or ""))
        and hit.kind in get_args(Kind)
        and isfinite(hit.score)
        and all(isinstance(number, int) for number in payload["days"])
    ):
        raise ValueError(hit.id)
    return hit


def _numbers(vector: Vector) -> list[float]:
    numbers = array("f")
    numbers.frombytes(vector)
    return numbers.tolist()

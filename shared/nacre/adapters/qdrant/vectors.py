"""The vector index in Qdrant: a server by URL, or Qdrant Cloud by URL and API key.

Only what a server 1.16 and the client's local mode do alike is used: two named vectors, exact
filters, one batch for both lists.
"""

import json
import uuid
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import isfinite
from typing import Any, get_args

from qdrant_client import QdrantClient, models

from nacre.adapters.qdrant.calls import MissingCollectionError, QdrantCalls, not_understood
from nacre.adapters.qdrant.collection import DENSE, SPARSE, alias_of, make_collection
from nacre.adapters.vectors.point_rules import (
    check_names,
    check_points,
    check_question,
    day_number,
    iso_day,
)
from nacre.adapters.vectors.term_hashes import term_counts
from nacre.ports.embedder import Vector
from nacre.ports.vectors import Candidates, Filter, Hit, Kind, Point, dimension_of

_POINTS = uuid.UUID("6f1d0a0e-7c0b-5b0e-9a39-2f5a3c1f4f10")  # where our point ids come from
_TERM_BITS = 32  # an index of a sparse vector
_AT_ONCE = 100  # points in a request: half a megabyte to two
_TIES = 16  # more hits than wanted, so that equal scores at the end can be put in order
_DECIMALS = 6

# BM25 as Qdrant can do it: the rarity of terms is its own, over all Beings of the collection,
# and an average length that does not move. Measured, both cost nothing in quality.
_K1 = 0.9
_B = 0.4
_AVERAGE_TERMS = 16.0


class QdrantVectors:
    """A VectorIndex in a collection of its own, which the first write makes."""

    is_derived = True

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

    def upsert(self, being_id: str, points: Sequence[Point]) -> None:
        """Write points, replacing those with the same ids."""
        check_points(being_id, points, self._dimension)
        last = list({point.id: point for point in points}.values())
        for start in range(0, len(last), _AT_ONCE):
            structs = [_struct(being_id, point) for point in last[start : start + _AT_ONCE]]
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
        """Remove points; ids that are not there do no harm."""
        check_names(being_id, *ids)
        if ids:
            self._remove(models.PointIdsList(points=[_point_id(being_id, id_) for id_ in ids]))

    def search(
        self,
        being_id: str,
        *,
        dense: Vector | None,
        sparse: Sequence[str],
        where: Filter,
        limit: int,
    ) -> Candidates:
        """Return up to `limit` hits for a vector and as many for terms, from one request."""
        check_question(being_id, dense, self._dimension, limit)
        passing = _filter(being_id, where)
        nothing = Candidates((), ())
        if passing is None:
            return nothing
        wanted: dict[str, Any] = {}
        if dense is not None:
            wanted[DENSE] = _numbers(dense)
        if sparse:
            numbers = list(term_counts(sorted(set(sparse)), bits=_TERM_BITS))
            wanted[SPARSE] = models.SparseVector(indices=numbers, values=[1.0] * len(numbers))
        if not wanted:
            return nothing
        requests = [
            models.QueryRequest(
                query=query,
                using=name,
                filter=passing,
                limit=limit + _TIES,
                with_payload=["being_id", "id", "kind", "days", "cluster_id"],
            )
            for name, query in wanted.items()
        ]
        try:
            answers = self._call(
                "query", lambda: self._client.query_batch_points(self._alias, requests)
            )
        except MissingCollectionError:
            return nothing
        if len(answers) != len(wanted):
            raise not_understood("query")
        lists = {
            name: _hits(answer.points, being_id, limit)
            for name, answer in zip(wanted, answers, strict=True)
        }
        return Candidates(lists.get(DENSE, ()), lists.get(SPARSE, ()))

    def scan(self, being_id: str, *, after: str | None, limit: int) -> list[tuple[str, str]]:
        """Return the next points as (id, text_sha), in the order of Qdrant's own ids."""
        check_names(being_id)
        try:
            records, _ = self._call(
                "scroll",
                lambda: self._client.scroll(
                    self._alias,
                    scroll_filter=_filter(being_id, Filter()),
                    limit=limit + 1,  # it starts with the last one of the page before
                    offset=None if after is None else _point_id(being_id, after),
                    with_payload=["being_id", "id", "text_sha"],
                ),
            )
        except MissingCollectionError:
            return []
        numbers = [str(record.id) for record in records]
        before = "" if after is None else _point_id(being_id, after)
        # A server that began anew with each page would be read for ever.
        if numbers != sorted(set(numbers)) or (numbers and numbers[0] < before):
            raise not_understood("scroll")
        payloads = [record.payload or {} for record in records]
        try:
            found = [
                (str(each["id"]), str(each["text_sha"]))
                for each in payloads
                if _is_of(being_id, each)
            ]
        except LookupError:
            raise not_understood("scroll") from None
        return [each for each in found if each[0] != after][:limit]

    def erase(self, being_id: str) -> None:
        """Remove all points of a Being."""
        check_names(being_id)
        passing = _filter(being_id, Filter())
        assert passing is not None
        self._remove(models.FilterSelector(filter=passing))

    def _remove(self, selector: models.PointsSelector) -> None:
        with suppress(MissingCollectionError):
            self._call(
                "delete",
                lambda: self._client.delete(self._alias, points_selector=selector, wait=True),
            )


def _point_id(being_id: str, id_: str) -> str:
    # JSON, because in it no two pairs of ids read the same.
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
        },
    )


def _weights(terms: Sequence[str]) -> models.SparseVector:
    norm = _K1 * (1 - _B + _B * len(terms) / _AVERAGE_TERMS)
    counts = term_counts(terms, bits=_TERM_BITS)
    return models.SparseVector(
        indices=list(counts),
        values=[count * (_K1 + 1) / (count + norm) for count in counts.values()],
    )


def _filter(being_id: str, where: Filter) -> models.Filter | None:
    """Return the question's filter, which always names the Being; None where nothing passes."""
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


def _is_of(being_id: str, payload: Mapping[str, Any] | None) -> bool:
    """Tell whose a point is: the question's filter is the server's to keep, and this is ours."""
    return (payload or {}).get("being_id") == being_id


def _hits(points: Sequence[models.ScoredPoint], being_id: str, limit: int) -> tuple[Hit, ...]:
    try:
        hits = [_hit(point) for point in points if _is_of(being_id, point.payload)]
    except (LookupError, TypeError, ValueError):
        raise not_understood("query") from None
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit])


def _hit(point: models.ScoredPoint) -> Hit:
    found: Mapping[str, Any] = point.payload or {}
    hit = Hit(
        id=found["id"],
        kind=found["kind"],
        score=round(point.score, _DECIMALS) + 0.0,
        days=tuple(iso_day(number) for number in found["days"]),
        cluster_id=found["cluster_id"],
    )
    if not (
        all(isinstance(each, str) for each in (hit.id, hit.cluster_id or ""))
        and hit.kind in get_args(Kind)
        and isfinite(hit.score)
        and all(isinstance(number, int) for number in found["days"])
    ):
        raise ValueError(hit.id)
    return hit


def _numbers(vector: Vector) -> list[float]:
    numbers = array("f")
    numbers.frombytes(vector)
    return numbers.tolist()

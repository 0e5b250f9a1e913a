"""Indexes in files, for suites that run on every vector index."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from nacre.adapters.files.blobs import FileBlobs
from nacre.adapters.vectors.file_copies import FileCopies
from nacre.adapters.vectors.file_vectors import FileVectors
from nacre.adapters.vectors.point_rules import check_names, check_points
from nacre.being.memory.index.index_state import IndexStates
from nacre.being.memory.index.vector_items import VectorItem
from nacre.being.memory.model import keys
from nacre.being.memory.store.partitions import delete_all
from nacre.core.clock import Clock
from nacre.core.ids import new_uuid
from nacre.ports.blobs import Blobs
from nacre.ports.items.table import Table, Write
from nacre.ports.vectors.vector_index import (
    Candidates,
    Filter,
    Listing,
    Point,
    Question,
    dimension_of,
)


def files_of(
    table: Table,
    folder: Path,
    clock: Clock,
    *,
    blobs: Blobs | None = None,
    grace_seconds: float = 0,
    seed: str = "",
) -> Callable[[str], FileVectors]:
    """Return what opens the index of an embedding, as one process does."""
    stored = blobs or FileBlobs(folder / "blobs", now=clock)
    return lambda emb_id: FileVectors(
        table,
        lambda: stored,
        emb_id,
        copies=FileCopies(size=10**8, seconds=900),
        clock=clock,
        rng=Random(emb_id + seed),
        grace_seconds=grace_seconds,
    )


class WrittenFirst:
    """A VectorIndex whose points are written as items before it is told, as every writer does.

    `always` writes a new file after each change, so that searches read nothing but the file.
    """

    is_derived = True
    is_told_in_transaction = True

    def __init__(self, table: Table, index: FileVectors, *, always: bool) -> None:
        self.emb_id = index.emb_id
        self.index = index
        self._table = table
        self._states = IndexStates(table)
        self._always = always
        self._digests: dict[tuple[str, str], str] = {}

    def changes(self, being_id: str, ids: Sequence[str]) -> list[Write]:
        return self.index.changes(_uuid(being_id), ids)

    def settle(self, being_id: str, *, more_follow: bool = False) -> None:
        self.index.settle(_uuid(being_id), more_follow=more_follow)

    def upsert(self, being_id: str, points: Sequence[Point]) -> None:
        being = _uuid(being_id)
        check_points(being_id, points, dimension_of(self.emb_id))
        self._states.create(being, self.emb_id)
        for point in points:
            item = VectorItem(
                id=point.id,
                kind=point.kind,
                text=" ".join(point.terms),
                text_sha=point.text_sha,
                state=point.state,
                cluster_id=point.cluster_id,
                days=point.days,
                vectors={} if point.vector is None else {self.emb_id: point.vector},
                subject="",
                summary=point.summary,
            )
            self._digests[being, item.digest(self.emb_id)] = point.text_sha
            self._table.put(item.to_item(being))
        self._tell(being, list({point.id for point in points}))

    def delete(self, being_id: str, ids: Sequence[str]) -> None:
        being = _uuid(being_id)
        for id_ in ids:
            self._table.delete(keys.point(being, id_))
        self.index.delete(being, list(dict.fromkeys(ids)))

    def search(self, being_id: str, question: Question) -> Candidates:
        candidates = self.index.search(_uuid(being_id), question)

        def summaries(ids: Sequence[str]) -> dict[str, str]:
            """Return what the points were given, without what their items add to it."""
            return {id_: json.loads(text)[-1] for id_, text in candidates.summaries(ids).items()}

        return replace(candidates, summaries=summaries)

    def list_days(self, being_id: str, where: Filter, *, limit: int) -> Listing:
        return self.index.list_days(_uuid(being_id), where, limit=limit)

    def scan(self, being_id: str, *, after: str | None, limit: int) -> list[tuple[str, str]]:
        being = _uuid(being_id)
        page = self.index.scan(being, after=after, limit=limit)
        return [(id_, self._digests[being, digest]) for id_, digest in page]

    def erase(self, being_id: str) -> None:
        being = _uuid(being_id)
        delete_all(self._table, keys.vectors(being))
        self._table.delete(keys.index_state(being))
        self.index.erase(being)

    def _tell(self, being: str, ids: Sequence[str]) -> None:
        self._table.transact(self.index.changes(being, ids))
        if self._always:
            self.index.renew(being)  # another thread may be doing so
        else:
            self.index.settle(being)


def _uuid(being_id: str) -> str:
    check_names(being_id)
    return new_uuid(Random(being_id))

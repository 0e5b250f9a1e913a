"""Recalls as of a past time: the same search, over a copy of the memory as it was then."""

from contextlib import closing, contextmanager
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.being.memory.index.index_state import LEXICAL, IndexState, state_from_item
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.index.vector_items import from_item, is_point
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Node, Scene
from nacre.being.memory.services import open_services
from nacre.core.errors import InvalidInputError
from nacre.ports.items.table import Item, Key, Put
from nacre.ports.vectors.vector_index import VectorIndex
from nacre.wiring.features.embeddings import builtin_embedder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from nacre.being.memory.search.queries import MemoryQueries
    from nacre.wiring.compose import Home

T = TypeVar("T")

_ITEMS_AT_ONCE = 10  # of at most 400 kB each
_POINTS_AT_ONCE = 200


@contextmanager
def queries_at(home: "Home", being_id: str, time: datetime) -> "Iterator[MemoryQueries]":
    """Lend the searches of one Being's memory as of a time; they write nothing to the store.

    Raise InvalidInputError if that memory cannot be put together.
    """
    changes = home.ports.memory_changes
    if changes is None:
        raise InvalidInputError(
            "a stack keeps no record of what memories were before; recalls as of a time work"
            " where 'nacre serve' keeps the memory"
        )
    items = {Key.of(item): item for item in changes.items_at(being_id, time)}
    emb_id = _embedding(home, being_id, items.get(keys.index_state(being_id)))

    with closing(SqliteDatabase(":memory:")) as database:
        yield _queries(home, database, being_id, items, emb_id, time)


def _queries(
    home: "Home",
    database: SqliteDatabase,
    being_id: str,
    items: "Mapping[Key, Item]",
    emb_id: str,
    time: datetime,
) -> "MemoryQueries":
    def clock() -> datetime:
        return time

    def open_index(_emb_id: str) -> VectorIndex:
        return index

    table = SqliteTable(database, now=clock)
    for batch in _batches(_stored(being_id, items), _ITEMS_AT_ONCE):
        table.transact([Put(item) for item in batch])
    index = LocalVectors(database, emb_id)
    vectors = [from_item(item) for key, item in items.items() if is_point(being_id, key)]
    for some in _batches(vectors, _POINTS_AT_ONCE):
        index.upsert(being_id, [vector.point(emb_id) for vector in some])
    indexing = IndexSync(
        table,
        open_index,
        home.embedders.primary,
        clock=clock,
        rng=home.ports.rng,
        load_embedder=builtin_embedder,
    )
    queue = SqliteQueue(database, "jobs", now=clock)
    services = open_services(
        table, queue, indexing, home.embedders.tokens, clock=clock, rng=home.ports.rng
    )
    return services.queries


def _embedding(home: "Home", being_id: str, then: Item | None) -> str:
    """Return the embedding of the index as of then; raise InvalidInputError if it is not there."""
    now = home.index.indexing.states.get(being_id)
    if then is None or now is None:
        return (now or IndexState(home.index.indexing.configured)).active
    emb_id = state_from_item(then).active
    if emb_id != now.active:
        raise InvalidInputError(
            f"the memory was searched with the embedding {emb_id} then, and its vectors are not"
            f" kept; now it is {now.active}. Give a time after the change"
        )
    if emb_id != LEXICAL and home.index.indexing.embedder(emb_id) is None:
        raise InvalidInputError(
            f"the embedding {emb_id} is not available here; NACRE_EMBEDDINGS chooses it"
        )
    return emb_id


def _stored(being_id: str, items: "Mapping[Key, Item]") -> "Iterator[Item]":
    """Yield the items of the table, with the keys of its indexes."""
    for key, item in items.items():
        if key.pk == keys.nodes(being_id):
            yield Node.from_item(item).to_item(being_id)
        elif key.pk == keys.scenes(being_id):
            yield Scene.from_item(item).to_item(being_id)
        elif not is_point(being_id, key):
            yield item


def _batches(values: "Iterable[T]", size: int) -> "Iterator[list[T]]":
    rest = iter(values)
    while batch := list(islice(rest, size)):
        yield batch

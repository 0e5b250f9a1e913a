"""A search ranks by what the index knows, and reads the memories that it shows."""

from collections.abc import Iterator
from typing import Any

import pytest
from qdrant_client import QdrantClient

from nacre.adapters.qdrant.vectors import QdrantVectors
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.vectors.item_vectors import ItemVectors
from nacre.being.memory.index.vector_items import pages
from nacre.being.memory.model import keys
from nacre.being.memory.search.search import LIVING, SearchResult
from nacre.ports.items.table import Change, Key
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import a_node, queue_of
from tests.being.memory.minds import Minded, builtin, minded

CAT = "Bo fed the black cat in the garden"
TAX = "Ann finished her tax return"
SEA = "Ann swam in the cold sea at dawn"


@pytest.fixture(params=["items", "qdrant"])
def mind(request: pytest.FixtureRequest, clock: StillClock) -> Iterator[Minded]:
    """A mind that is searched in its items or in Qdrant, as on AWS."""
    embedder, tokens = builtin()
    database, client = SqliteDatabase(":memory:"), QdrantClient(":memory:")
    table = SqliteTable(database, now=clock)
    yield minded(
        table,
        queue_of(database, clock),
        lambda emb_id: (
            ItemVectors(table, emb_id)
            if request.param == "items"
            else QdrantVectors(client, emb_id)
        ),
        clock,
        embedder=embedder,
        tokens=tokens,
    )
    client.close()
    database.close()


def rank(mind: Minded, query: str) -> SearchResult:
    return mind.mind.search.rank(mind.being_id, query, where=LIVING)


def shown(result: SearchResult) -> list[tuple[Any, ...]]:
    return [(hit.memory.id, hit.score, dict(hit.parts), dict(hit.channels)) for hit in result.hits]


def forget_summaries(mind: Minded) -> None:
    """Leave the index as version 0.1.0 wrote it."""
    for items in pages(mind.table, mind.being_id):
        for item in items:
            change = Change(remove=frozenset({"summary"}))
            mind.table.update(keys.point(mind.being_id, item.id), change)
        mind.indexing.sync(mind.being_id, [item.id for item in items])


def test_a_search_reads_only_the_memories_that_it_shows(
    mind: Minded, monkeypatch: pytest.MonkeyPatch
) -> None:
    mind.note(*(f"Bo fed cat number {number}" for number in range(20)))
    read: list[Key] = []
    get_many = mind.table.table.get_many
    monkeypatch.setattr(
        mind.table.table,
        "get_many",
        lambda wanted, **options: get_many(read_all(read, wanted), **options),
    )

    hits = mind.mind.search.find(mind.being_id, "Who fed the cat?", limit=3).hits

    memories = {key.sk for key in read if key.pk == keys.scenes(mind.being_id)}
    assert memories == {hit.memory.id for hit in hits}
    assert len(memories) == 3


def read_all(read: list[Key], wanted: Any) -> list[Key]:
    places = list(wanted)
    read += places
    return places


@pytest.mark.parametrize("query", ["Who fed the cat?", "tax", "swimming", "What did Ann do?"])
def test_the_index_ranks_as_the_items_do(mind: Minded, query: str) -> None:
    mind.note(CAT, TAX, SEA, actors=["Ann", "Bo"])
    mind.remember(
        a_node(1, action="Ann fed two cats", stability=3.0, cluster_id="c1"),
        a_node(2, action="Ann fed the dog", superseded_by=a_node(1).node_id),
        a_node(3, action="A cat came?", similar=(a_node(1).node_id,)),
    )
    mind.table.update(keys.meta(mind.being_id), Change(set={"clock": 40}))
    indexed = rank(mind, query)
    assert indexed.hits
    assert not any(hit.memory.is_stored for hit in indexed.hits)

    forget_summaries(mind)
    stored = rank(mind, query)

    assert all(hit.memory.is_stored for hit in stored.hits)
    assert shown(indexed) == shown(stored)
    assert [hit.memory.event for hit in indexed.hits] == [hit.memory.event for hit in stored.hits]
    assert [hit.memory.links for hit in indexed.hits] == [hit.memory.links for hit in stored.hits]


def test_a_recall_says_the_same_with_and_without_summaries(mind: Minded) -> None:
    mind.note(CAT, TAX, SEA)
    queries = mind.mind.queries
    message = "Who fed the cat in the garden, and what about the tax return?"
    indexed = queries.recall(mind.being_id, message, counted=False)

    forget_summaries(mind)

    assert CAT in indexed.text
    assert queries.recall(mind.being_id, message, counted=False) == indexed


def test_a_hit_that_the_items_lack_makes_room_for_the_next(mind: Minded) -> None:
    nodes = [a_node(number, action=f"{CAT}, day {number}") for number in range(6)]
    mind.remember(*nodes)
    search = mind.mind.search
    best = search.find(mind.being_id, "cat", limit=6).hits
    mind.table.delete(Key(keys.nodes(mind.being_id), best[0].memory.id))

    hits = search.find(mind.being_id, "cat", limit=3).hits

    assert [hit.memory.id for hit in hits] == [hit.memory.id for hit in best[1:4]]


def test_a_memory_that_holds_again_is_found_again(mind: Minded) -> None:
    old, new = a_node(1, action="Ann lives in Bonn"), a_node(2, action="Ann lives in Ulm")
    old = a_node(1, action=old.action, superseded_by=new.node_id, valid_until="2026-01-01")
    mind.remember(old, new)
    assert [hit.memory.id for hit in rank(mind, "Where does Ann live?").hits] == [new.node_id]

    mind.mind.memory.corrections.hide(mind.being_id, new.node_id, by="owner")

    assert [hit.memory.id for hit in rank(mind, "Where does Ann live?").hits] == [old.node_id]

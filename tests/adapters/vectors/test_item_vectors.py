"""Searching the vector items themselves, on either store: all of them, or the newest."""

from dataclasses import replace

import pytest

from nacre.adapters.vectors import item_vectors
from nacre.adapters.vectors.item_vectors import ItemVectors
from nacre.being.memory.index.vector_items import vector_item
from nacre.being.memory.text.searchable_text import IndexEntry
from nacre.ports.items.table import Item, Put, Table
from nacre.ports.vectors.packed_vectors import packed
from nacre.ports.vectors.vector_index import Filter, Question
from tests.adapters.vector_cases import EMB_ID, EVERY, both, ids, point, unit

BEING = "00000000-0000-4000-8000-0000000000aa"
OTHER = "00000000-0000-4000-8000-0000000000bb"


def put(table: Table, *names: str, being: str = BEING, text: str = "pearl") -> None:
    """Write points as memories are written: with a node that was active at their number."""
    for start in range(0, len(names), 50):
        writes = []
        for name in names[start : start + 50]:
            entry = IndexEntry(name, "node", text, "active", "c", ("2026-07-01",), ())
            item = vector_item(entry, None)
            vector = unit(1, len(name))
            stored = replace(item, vectors={EMB_ID: vector})
            node: Item = {
                "pk": f"B#{being}#N", "sk": name, "schema": 1,
                "gsi1pk": f"B#{being}#ACT", "gsi1sk": f"2026-07-01#{name}",
            }  # fmt: skip
            writes += [Put(stored.to_item(being)), Put(node)]
        table.transact(writes)


def test_the_items_are_the_index(table: Table) -> None:
    index = ItemVectors(table, EMB_ID)
    put(table, "a", "bb", "ccc")
    put(table, "z", text="shell")

    hits = index.search(BEING, Question(dense=unit(1), sparse=["pearl"], where=EVERY, limit=3))

    assert ids(hits.dense) == ["a", "z", "bb"]
    assert ids(hits.sparse) == ["a", "bb", "ccc"]
    assert not hits.truncated
    assert hits.dense[0].days == ("2026-07-01",)
    assert hits.dense[0].cluster_id == "c"


def test_packed_vectors_and_those_of_the_first_version_are_found_together(table: Table) -> None:
    index = ItemVectors(table, EMB_ID)
    near, far = unit(4, 3), unit(0, 1)
    forms = {"plain": near, "small": packed(near), "small far": packed(far), "far": far}
    for name, vector in forms.items():
        entry = IndexEntry(name, "node", "pearl", "active", "c", ("2026-07-01",), ())
        stored = replace(vector_item(entry, None), vectors={EMB_ID: vector})
        table.put(stored.to_item(BEING))

    hits = index.search(BEING, Question(dense=unit(4, 3), sparse=[], where=EVERY, limit=4)).dense

    assert ids(hits) == ["plain", "small", "far", "small far"]
    assert [hit.score for hit in hits] == pytest.approx([1, 1, 0.6, 0.6], abs=0.005)


def test_filters_and_beings_are_kept_apart(table: Table) -> None:
    index = ItemVectors(table, EMB_ID)
    put(table, "a")
    put(table, "mine", being=OTHER)

    for where, expected in (
        (EVERY, {"a"}),
        (Filter(kinds=frozenset({"scene"})), set()),
        (Filter(states=frozenset({"active"}), cluster_id="c"), {"a"}),
        (Filter(day_from="2026-07-02"), set()),
    ):
        hits = index.search(BEING, Question(dense=unit(1), sparse=["pearl"], where=where, limit=9))
        assert both(hits) == expected


def test_more_than_can_be_read_leaves_the_newest_and_says_so(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_vectors, "EXACT_ITEM_POINTS", 100)
    monkeypatch.setattr(item_vectors, "SCANNED_BYTES", 60 * 250)
    index = ItemVectors(table, EMB_ID)
    names = [f"p{n:03}" for n in range(120)]
    put(table, *names[:100])
    exact = index.search(BEING, Question(dense=unit(1), sparse=["pearl"], where=EVERY, limit=200))
    assert (len(exact.dense), exact.truncated) == (100, False)

    put(table, *names[100:])
    for _ in range(2):
        hits = index.search(
            BEING, Question(dense=unit(1), sparse=["pearl"], where=EVERY, limit=200)
        )
        assert hits.truncated
        assert both(hits) == set(names[-len(hits.sparse) :])
        assert 40 < len(hits.sparse) < 120


def test_it_needs_to_be_told_nothing_and_scans_what_is_there(table: Table) -> None:
    index = ItemVectors(table, EMB_ID)
    put(table, *[f"p{n}" for n in range(7)])
    index.upsert(BEING, [point("new", unit(1))])
    index.delete(BEING, ["p1"])
    index.erase(BEING)

    assert not index.is_derived
    scanned, after = [], None
    while page := index.scan(BEING, after=after, limit=3):
        scanned += page
        after = page[-1][0]
    assert [id_ for id_, _ in scanned] == [f"p{n}" for n in range(7)]

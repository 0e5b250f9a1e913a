"""Vectors of clusters: the mean of what living members say, with a real index beneath."""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.being.memory.index.cluster_vectors import ClusterMean, ClusterMeans, Mean, mean_of
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.model.types import Cluster
from nacre.being.memory.repositories import Repositories, open_repositories
from nacre.being.memory.store.nodes import Nodes
from nacre.ports.items.table import Item
from nacre.ports.vectors.embedder import Vector
from nacre.ports.vectors.packed_vectors import packed
from nacre.ports.vectors.vector_index import Filter, Question
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, a_node, queue_of, scene_draft

EMB_ID = "test:letters:26:v1"
BEING = "00000000-0000-4000-8000-0000000000aa"


@dataclass(frozen=True)
class Letters:
    """An embedder that counts letters."""

    emb_id: str = EMB_ID
    dimension: int = 26

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        return [self.query(text) for text in texts]

    def query(self, text: str) -> Vector:
        counts = [text.lower().count(chr(97 + number)) for number in range(26)]
        length = math.sqrt(sum(count * count for count in counts)) or 1
        return struct.pack("<26f", *(count / length for count in counts))


@dataclass(frozen=True)
class Searched:
    being_id: str
    memory: Repositories
    means: ClusterMeans
    index: LocalVectors

    def found(self) -> dict[str, float]:
        hits = self.index.search(
            self.being_id,
            Question(dense=Letters().query("Ann fed a cat"), sparse=(), where=Filter(), limit=100),
        ).dense
        return {hit.id: hit.score for hit in hits}


@pytest.fixture
def searched(laptop: Keeper, clock: StillClock) -> Searched:
    table = laptop.table
    assert isinstance(table, SqliteTable)
    database: SqliteDatabase = table._database
    index = LocalVectors(database, EMB_ID)
    indexing = IndexSync(table, lambda _: index, Letters(), clock=clock, rng=Random(2))
    means = ClusterMeans(table, Nodes(table, indexing), indexing)
    queue = queue_of(database, clock)
    memory = open_repositories(table, queue, indexing, means, clock=clock, rng=Random(3))
    return Searched(laptop.id, memory, means, index)


def direction(vector: Vector | None) -> list[float]:
    assert vector is not None
    return list(struct.unpack(f"<{len(vector) // 4}f", vector))


@pytest.mark.requirement("003.merge_nodes.embedding")
def test_a_merge_renews_the_mean_of_its_cluster(searched: Searched) -> None:
    being_id, memory = searched.being_id, searched.memory
    memory.clusters.add(being_id, Cluster(cluster_id="c", created_at="t", n_active=3))
    nodes = [
        a_node(number, cluster_id="c", action=text)
        for number, text in enumerate(["cats eat", "cats sleep", "dogs bark"])
    ]
    memory.nodes.add(being_id, nodes)
    ids = [node.node_id for node in nodes]
    merged = memory.edits.merge(being_id, ids[:2], action="cats eat and sleep").node
    letters = Letters()
    expected = mean_of(letters.documents(["cats eat and sleep", "dogs bark"]))
    assert expected is not None

    assert direction(searched.means.get(being_id, "c", EMB_ID)) == pytest.approx(
        direction(expected.vector), abs=0.005
    )
    assert set(searched.found()) == {merged.node_id, ids[2]}

    memory.edits.undo_merge(being_id, merged.node_id)
    expected = mean_of(letters.documents([node.action for node in nodes]))
    assert expected is not None
    assert direction(searched.means.get(being_id, "c", EMB_ID)) == pytest.approx(
        direction(expected.vector), abs=0.005
    )
    assert set(searched.found()) == set(ids)


def test_a_cluster_without_members_has_no_vector(searched: Searched) -> None:
    being_id, memory = searched.being_id, searched.memory
    for cluster_id in ("c", "d"):
        memory.clusters.add(being_id, Cluster(cluster_id=cluster_id, created_at="t", n_active=1))
    nodes = [a_node(1, cluster_id="c"), a_node(2, cluster_id="d")]
    memory.nodes.add(being_id, nodes)
    memory.edits.merge(being_id, [node.node_id for node in nodes], action="both")

    assert searched.means.get(being_id, "c", EMB_ID) is not None
    assert searched.means.get(being_id, "d", EMB_ID) is None


def test_the_largest_calls_fit_with_a_real_index(searched: Searched) -> None:
    being_id, memory = searched.being_id, searched.memory
    first = memory.scenes.record(being_id, [scene_draft(f"event {number}") for number in range(20)])
    ids = [scene.scene_id for scene in first.scenes]
    second = memory.scenes.record(
        being_id,
        [scene_draft(f"other {number}") for number in range(20)],
        notes=[f"note {number}" for number in range(15)],
        replacing=ids,
    )
    assert len(second.deleted) == 20
    assert set(searched.found()) == {scene.scene_id for scene in second.scenes}

    nodes = [a_node(number, cluster_id=f"c{number:02}") for number in range(20)]
    for node in nodes:
        cluster = Cluster(cluster_id=node.cluster_id or "", created_at="t", n_active=1)
        memory.clusters.add(being_id, cluster)
    memory.nodes.add(being_id, nodes)
    merged = memory.edits.merge(being_id, [node.node_id for node in nodes], action="all").node
    memory.edits.undo_merge(being_id, merged.node_id)
    assert {node.node_id for node in nodes} <= set(searched.found())


vectors = st.lists(st.floats(-1, 1, width=32), min_size=4, max_size=4)


@given(st.lists(vectors, min_size=1, max_size=8))
def test_a_mean_has_length_one_and_does_not_depend_on_the_order(every: list[list[float]]) -> None:
    columns = [struct.pack("<4f", *each) for each in every]
    mean = mean_of(columns)
    if mean is None:
        assert all(abs(sum(column)) < 1e-6 for column in zip(*every, strict=True))
        return
    assert sum(part * part for part in direction(mean.vector)) == pytest.approx(1, abs=1e-5)
    assert mean_of(columns[::-1]) == mean


def test_nothing_has_no_mean() -> None:
    assert mean_of([]) is None


# Items


def floats(parts: Sequence[float]) -> Vector:
    return struct.pack(f"<{len(parts)}f", *parts)


@given(st.lists(st.floats(-1, 1, width=32), min_size=8, max_size=8), st.floats(0.01, 1))
def test_an_item_keeps_direction_and_length_in_a_byte_for_each_number(
    parts: list[float], length: float
) -> None:
    vector = Letters().query("cats eat fish in the sun")
    stored = ClusterMean({EMB_ID: Mean(vector, length)}, floats(parts))

    item = stored.to_item(BEING, "c", 3)
    read = ClusterMean.from_item(item)

    assert sum(len(value) for value in item.values() if isinstance(value, bytes)) == 26 + 8
    assert read.means[EMB_ID].length == length
    assert direction(read.means[EMB_ID].vector) == pytest.approx(direction(vector), abs=0.01)
    largest = max(map(abs, parts))
    assert direction(read.circumstances) == pytest.approx(parts, abs=0.02 * largest + 1e-6)
    assert read.to_item(BEING, "c", 3).keys() == item.keys()


def test_an_item_of_the_first_version_is_read_until_the_cluster_changes() -> None:
    vector, people = Letters().query("cats eat"), floats([0.5, 0.0, -0.25])
    item: Item = {"vec:" + EMB_ID: vector, "len:" + EMB_ID: 0.75, "people_words": people}

    assert ClusterMean.from_item(item) == ClusterMean({EMB_ID: Mean(vector, 0.75)}, people)


def test_the_first_version_finds_nothing_in_a_packed_item_that_it_would_misread() -> None:
    stored = ClusterMean({EMB_ID: Mean(Letters().query("cats"), 1.0)}, floats([0.5, 0.25]))

    names = stored.to_item(BEING, "c", 1).keys()

    assert not [name for name in names if name.startswith("vec:") or name == "people_words"]


def test_a_mean_without_its_length_is_computed_again() -> None:
    imported: Item = {"mean:" + EMB_ID: packed(Letters().query("cats"))}

    assert ClusterMean.from_item(imported) == ClusterMean({}, None)

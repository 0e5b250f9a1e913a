"""What it takes to draw the map of a large memory, from the store's file to the page."""

import random
import struct
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time

import pytest

from nacre.access.beings import Beings
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.index.index_state import IndexStates
from nacre.being.memory.index.vector_items import VectorItem
from nacre.being.memory.model.types import Cluster
from nacre.console.map.chart import chart
from nacre.console.map.picture import drawn_clusters
from nacre.core.clock import system_clock
from nacre.ports.items.table import Put, Table, Write
from tests.being.memory.keeping import a_node
from tests.benchmarks.table import show

pytestmark = pytest.mark.benchmark

EMBEDDING = "made:up:256:1"
GROUPS = 250
GOAL_SECONDS = 2.0


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    database = SqliteDatabase(tmp_path / "nacre.db")
    yield SqliteTable(database, "data", now=system_clock)
    database.close()


def fill(table: Table, being: str, count: int) -> None:
    """Store memories around as many directions as there are groups."""
    rng = random.Random(1)
    IndexStates(table).create(being, EMBEDDING)
    centres = [[rng.gauss(0, 1) for _ in range(256)] for _ in range(GROUPS)]
    names = [f"{group:03}" for group in range(GROUPS)]
    writes: list[Write] = [
        Put(Cluster(cluster_id=name, created_at="t", label=f"all about {name}").to_item(being))
        for name in names
    ]
    for number in range(count):
        group = number % GROUPS
        node = a_node(number, cluster_id=names[group])
        vector = struct.pack("256f", *(part + rng.gauss(0, 0.5) for part in centres[group]))
        point = VectorItem(
            node.node_id, "node", node.action, "0" * 32, "active", node.cluster_id, node.when,
            {EMBEDDING: vector}, node.action, {EMBEDDING: vector},
        )  # fmt: skip
        writes += [Put(node.to_item(being)), Put(point.to_item(being))]
    for first in range(0, len(writes), 90):
        table.transact(writes[first : first + 90])


def test_ten_thousand_memories_are_drawn_within_two_seconds(table: Table) -> None:
    rows = []
    for count in (1_000, 10_000):
        beings = Beings(table, clock=system_clock, rng=random.Random(count))
        being = beings.create(f"{count}", owner="me").being_id
        fill(table, being, count)
        start, worked = perf_counter(), process_time()
        found = chart(table, being)
        drawn = drawn_clusters(found)
        took, cpu = perf_counter() - start, process_time() - worked
        size = sum(len(path) for each in drawn for _, path in each.paths)
        rows.append([f"{count:,}", f"{took:.2f} s", f"{cpu:.2f} s", f"{size / 1000:.0f} kB"])
        assert found.by_meaning
        assert found.count == count
    show("The map, from the store to what is drawn", ["memories", "time", "CPU", "dots"], rows)

    assert cpu < GOAL_SECONDS

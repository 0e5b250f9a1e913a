"""What a patrol of ten scenes costs: time above the disk, commits, and what it reads.

`NACRE_BENCH_LARGE=1` adds a hundred thousand memories, which take some minutes to write.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter

import pytest

from nacre.being.memory.index.cluster_vectors import ClusterMeans
from nacre.being.memory.model.types import Cluster, Node
from tests.being.memory.minds import builtin
from tests.being.patrol.worlds import Fuse, World, new_world
from tests.benchmarks.memory_load import WHAT, WHERE, WHO, sentence
from tests.benchmarks.table import show

pytestmark = pytest.mark.benchmark

FEW, MANY, MORE = 1_000, 10_000, 100_000
SCENES = 10
ROUNDS = 15
MEMBERS = 40
ABOVE_DISK_MS = 200.0
GROWTH = 1.1


@dataclass(frozen=True, slots=True)
class Cost:
    """The medians of patrols of ten scenes."""

    milliseconds: float
    best: float  # of the milliseconds; the machine is shared
    commits: float
    reads: float
    items_read: float


def filled(path: Path, count: int) -> World:
    """Return a world whose Being has so many memories in clusters of forty."""
    world = new_world(builtin()[0], path=str(path))
    means = ClusterMeans(world.table, world.memory.nodes, world.indexing)
    rng = Random(count)
    moment = "2026-01-01T00:00:00.000Z"
    for first in range(0, count, MEMBERS):
        cluster_id = f"00000000-0000-4000-9000-{first:012}"
        size = min(MEMBERS, count - first)
        world.memory.clusters.add(
            world.being_id, Cluster(cluster_id=cluster_id, created_at=moment, n_active=size)
        )
        who, what, where = rng.choice(WHO), rng.choice(WHAT), rng.choice(WHERE)
        nodes = [
            Node(
                node_id=f"00000000-0000-4000-8000-{number:012}",
                action=f"{who} and {what} {where}: {sentence(rng, number)}",
                actors=("Ann",),
                when=(f"2025-{number % 12 + 1:02}-{number % 28 + 1:02}",),
                created_at=moment,
                stability=16.0,
                due=200,
                cluster_id=cluster_id,
            )
            for number in range(first, first + size)
        ]
        world.memory.nodes.add(world.being_id, nodes)
        means.renew(world.being_id, cluster_id)
    return world


def patrolled(world: World, rng: Random) -> Cost:
    """Return what patrols of ten new scenes cost."""
    milliseconds, seen = [], []
    for number in range(ROUNDS):
        said = [
            f"{rng.choice(WHO)} and {rng.choice(WHAT)} {rng.choice(WHERE)}:"
            f" {sentence(rng, 10**6 + number * SCENES + each)}"
            for each in range(SCENES)
        ]
        world.note(*said)
        before = Fuse(world.fuse.writes, world.fuse.reads, world.fuse.items_read)
        started = perf_counter()
        receipt = world.run()
        milliseconds.append((perf_counter() - started) * 1000)
        assert receipt.state == "done"
        assert receipt.counts["nodes_created"] + receipt.counts.get("evidence_added", 0) == SCENES
        seen.append(
            (
                world.fuse.writes - before.writes,
                world.fuse.reads - before.reads,
                world.fuse.items_read - before.items_read,
            )
        )
    commits, reads, items = (median(each) for each in zip(*seen[2:], strict=True))
    return Cost(median(milliseconds[2:]), min(milliseconds[2:]), commits, reads, items)


def disk(path: Path) -> float:
    """Return how many milliseconds one write of 4 kB takes to reach the disk."""
    times = []
    with path.open("wb") as file:
        for _ in range(100):
            started = perf_counter()
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            times.append((perf_counter() - started) * 1000)
    return median(times)


def test_a_patrol_costs_the_same_in_a_large_memory(tmp_path: Path) -> None:
    sizes = [FEW, MANY, *([MORE] if os.environ.get("NACRE_BENCH_LARGE") else [])]
    found = {}
    for size in sizes:
        world = filled(tmp_path / f"{size}.db", size)
        found[size] = patrolled(world, Random(3))
        world.database.close()
    floor = disk(tmp_path / "floor")

    show(
        f"A patrol of {SCENES} scenes, built-in embeddings, no model, median of {ROUNDS - 2};"
        f" one write to this disk takes {floor:.2f} ms",
        ("memories", "ms", "best", "commits", "reads", "items read"),
        [
            (
                f"{size:,}",
                f"{cost.milliseconds:.0f}",
                f"{cost.best:.0f}",
                f"{cost.commits:.0f}",
                f"{cost.reads:.0f}",
                f"{cost.items_read:.0f}",
            )
            for size, cost in found.items()
        ],
    )
    at_many = found[MANY]
    assert at_many.best - at_many.commits * floor <= ABOVE_DISK_MS
    largest, smallest = found[sizes[-1]], found[FEW]
    assert largest.items_read <= GROWTH * smallest.items_read
    assert largest.commits <= GROWTH * smallest.commits

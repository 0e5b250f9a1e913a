"""What a search for candidates costs: the laptop's index and a Qdrant server, side by side.

Both search by meaning and by words, 100 each, among the living memories of one Being. The
floor is one product of a matrix and a vector in numpy, measured in turns with them.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter_ns

import numpy as np
import pytest

from infra.qdrant_server import NoQdrantError, QdrantServer, binary
from nacre.adapters.qdrant.calls import connect
from nacre.adapters.qdrant.vectors import QdrantVectors
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.ports.vectors.vector_index import Question, VectorIndex
from tests.benchmarks.table import show
from tests.benchmarks.vector_load import BEING, DIMENSION, EMB_ID, LIVING, Load, resident

SIZES = (1_000, 10_000, 100_000)
SEARCHES = 60
WRITES = 60

pytestmark = pytest.mark.benchmark


def test_searches_for_candidates_side_by_side(tmp_path: Path) -> None:
    rows = []
    flat: list[float] = []
    for size in SIZES:
        path = tmp_path / f"{size}.db"
        local = LocalVectors(SqliteDatabase(path), EMB_ID)
        fill(local, size)
        server = started(tmp_path / f"qdrant-{size}")
        ways: dict[str, VectorIndex] = {"local": local}
        if server is not None:
            ways["qdrant"] = QdrantVectors(connect(server.url), EMB_ID)
            fill(ways["qdrant"], size)
        found = measured(ways, size)
        fresh = json.loads(
            subprocess.run(
                [sys.executable, str(Path(__file__).with_name("vector_load.py")), str(path)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        floor = found["bare product"]
        flat.append(found["local, write"])
        for name, time in found.items():
            memory = {
                "local, search": f"{fresh['rss']:.0f} (whole process)",
                "qdrant, search": f"{resident(server.pid):.0f} (server)" if server else "",
            }.get(name, "")
            rows.append((size, name, f"{time:.2f}", f"{time / floor:.1f}", memory))
        rows.append((size, "local, first search of a process", f"{fresh['first']:.0f}", "", ""))
        if server is not None:
            server.kill()

    show(
        f"Candidates, {DIMENSION} dimensions, one Being, median of {SEARCHES}",
        ("points", "operation", "ms", "ratio to a bare product", "memory, MB"),
        rows,
    )
    assert flat[-1] < 5 * flat[0]


def fill(index: VectorIndex, size: int) -> None:
    for points in Load().points(0, size):
        index.upsert(BEING, points)


def started(folder: Path) -> QdrantServer | None:
    try:
        binary()
    except NoQdrantError as error:
        print(f"\n!!! NOT MEASURED: {error}")
        return None
    server = QdrantServer(folder)
    server.start()
    return server


def measured(ways: dict[str, VectorIndex], size: int) -> dict[str, float]:
    """Return median milliseconds; the ways take turns."""
    load = Load()
    questions = [load.question() for _ in range(SEARCHES)]
    fresh = [page[0] for page in load.points(size, WRITES, 1)]
    matrix = np.random.default_rng(2).standard_normal((size, DIMENSION)).astype(np.float32)
    calls: dict[str, Callable[[int], object]] = {
        "bare product": lambda turn: matrix @ np.frombuffer(questions[turn][0], dtype="<f4")
    }
    for name, index in ways.items():
        calls[f"{name}, search"] = lambda turn, index=index: index.search(  # type: ignore[misc]
            BEING,
            Question(dense=questions[turn][0], sparse=questions[turn][1], where=LIVING, limit=100),
        )
        calls[f"{name}, write"] = lambda turn, index=index: index.upsert(  # type: ignore[misc]
            BEING, [fresh[turn]]
        )
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(SEARCHES):
        for name, call in calls.items():
            started = perf_counter_ns()
            call(turn)
            samples[name].append((perf_counter_ns() - started) / 1e6)
    return {name: median(times) for name, times in samples.items()}

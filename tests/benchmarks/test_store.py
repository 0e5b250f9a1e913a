"""What the laptop's store costs above the disk: one fsync, measured in the same run, is the floor.

Acknowledged writes wait for the disk (`synchronous=FULL`), so no store can be faster than
the time the disk takes to keep one page.
"""

import os
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter_ns

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.ports.items.table import Change, Item, Key, Present, Put, Table
from tests.benchmarks.table import show

ROUNDS = 300

pytestmark = pytest.mark.benchmark


def wall_times(ways: dict[str, Callable[[int], object]]) -> dict[str, float]:
    """Return the median time of one call of each way in microseconds; they take turns."""
    samples: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(ROUNDS):
        for name, way in ways.items():
            started = perf_counter_ns()
            way(turn)
            samples[name].append((perf_counter_ns() - started) / 1000)
    return {name: median(times) for name, times in samples.items()}


def filled(table: Table, count: int) -> None:
    for first in range(0, count, 100):
        table.transact([Put(node(number)) for number in range(first, first + 100)])


def node(number: int) -> Item:
    return {
        "pk": "B#b#N",
        "sk": f"{number:08}",
        "schema": 1,
        "gsi1pk": "B#b#ACT",
        "gsi1sk": f"{number:08}",
        "gsi2pk": "B#b#C#1",
        "gsi2sk": f"active#{number:08}",
        "text": "a memory of about a hundred characters, as people write them in a note " * 2,
        "seen": 0,
    }


def test_the_store_is_measured_against_the_disk(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "nacre.db")
    table = SqliteTable(database)
    queue = SqliteQueue(database, "bench")
    filled(table, 10_000)
    floor = os.open(tmp_path / "floor", os.O_WRONLY | os.O_CREAT)
    page = os.urandom(4096)

    def fsync(_: int) -> None:
        os.write(floor, page)
        os.fsync(floor)

    def send(turn: int) -> None:
        queue.send('{"kind": "patrol"}', group=f"g{turn}")

    def work(_: int) -> None:
        message = queue.receive()
        assert message is not None
        queue.done(message)

    times = wall_times(
        {
            "write and fsync 4 kB (the floor)": fsync,
            "put, new": lambda turn: table.put(node(50_000 + turn)),
            "put, if it exists": lambda turn: table.put(node(turn), when=Present()),
            "update, a counter": lambda turn: table.update(
                Key("B#b#N", f"{turn:08}"), Change(add={"seen": 1})
            ),
            "transact, 10 puts": lambda turn: table.transact(
                [Put(node(100_000 + turn * 10 + each)) for each in range(10)]
            ),
            "send": send,
            "receive and done (two writes)": work,
            "get": lambda turn: table.get(Key("B#b#N", f"{turn * 7:08}")),
            "get_many, 100": lambda turn: table.get_many(
                [Key("B#b#N", f"{turn + each * 50:08}") for each in range(100)]
            ),
            "query, 50 by index, newest first": lambda _: table.query(
                "B#b#ACT", index="gsi1", descending=True, limit=50
            ),
        }
    )
    os.close(floor)
    database.close()

    base = times["write and fsync 4 kB (the floor)"]
    show(
        "The item store on this machine, 10 000 items, median of 300",
        ("operation", "µs", "ratio to the floor"),
        [(name, f"{time:.0f}", f"{time / base:.2f}") for name, time in times.items()],
    )
    assert times["get"] < times["put, new"] < 20 * base

"""Promises of the laptop's vector index alone: several processes, and a place beside the items."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from nacre.adapters.sqlite import points as sqlite_points
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.adapters.vectors.point_matrix import PointMatrix
from nacre.adapters.vectors.point_rows import row_of
from nacre.core.limits import INDEXED_BEINGS_IN_MEMORY
from nacre.ports.items.table import Key
from nacre.ports.vectors.vector_index import Question
from tests.adapters.vector_cases import DIMENSION, EMB_ID, EVERY, ids, point, unit

DAYS = ("2026-07-01",)
PROCESS = Path(__file__).with_name("vector_process.py")


def found(index: LocalVectors, being: str = "b") -> list[str]:
    return ids(
        index.search(being, Question(dense=unit(1), sparse=(), where=EVERY, limit=100_000)).dense
    )


def writer(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, str(PROCESS), *arguments], stdout=subprocess.PIPE, text=True
    )


def test_two_processes_find_each_others_points_at_once(tmp_path: Path) -> None:
    path = tmp_path / "nacre.db"
    index = LocalVectors(SqliteDatabase(path), EMB_ID)
    seen = []
    with writer("write", str(path), "other", "20") as process:
        assert process.stdout is not None
        for number, line in enumerate(process.stdout):
            index.upsert("b", [point(f"mine-{number:04}", unit(1))])
            names = found(index)
            assert {line.strip(), f"mine-{number:04}"} <= set(names)
            seen.append(len(names))
    assert process.returncode == 0
    assert found(index) == [f"{name}-{n:04}" for name in ("mine", "other") for n in range(20)]
    assert seen == sorted(seen)


def test_what_one_index_removes_another_no_longer_finds(tmp_path: Path) -> None:
    mine, other = (LocalVectors(SqliteDatabase(tmp_path / "nacre.db"), EMB_ID) for _ in range(2))
    mine.upsert("b", [point(name, unit(1)) for name in "abc"])
    assert found(other) == ["a", "b", "c"]

    mine.delete("b", ["b"])
    assert found(other) == ["a", "c"]
    mine.upsert("b", [point("a", None)])
    assert found(other) == ["c"]
    mine.erase("b")
    assert found(other) == []
    mine.upsert("b", [point("d", unit(1))])
    assert found(other) == ["d"]


def test_one_that_is_far_behind_reads_everything_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_points, "_KEPT_CHANGES", 3)
    mine, other = (LocalVectors(SqliteDatabase(tmp_path / "nacre.db"), EMB_ID) for _ in range(2))
    mine.upsert("b", [point(name, unit(1)) for name in "abcdef"])
    assert found(other) == list("abcdef")

    mine.delete("b", ["a", "b"])
    mine.upsert("b", [point(name, unit(1)) for name in "uvwxyz"])
    mine.delete("b", ["c"])

    with closing(sqlite3.connect(tmp_path / "nacre.db")) as connection, connection:
        removed = connection.execute("SELECT id FROM vector_points WHERE kind IS NULL").fetchall()
    assert removed == [(None,)]  # the removals of a and b are forgotten
    assert found(other) == list("defuvwxyz")


def test_acknowledged_points_survive_the_end_of_their_process(tmp_path: Path) -> None:
    path = tmp_path / "nacre.db"
    with writer("numbers", str(path), "p") as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(50)]
        process.kill()
        lines += process.stdout.read().split()

    names = found(LocalVectors(SqliteDatabase(path), EMB_ID))
    assert set(lines) <= set(names)
    assert len(names) <= len(lines) + 1


def test_the_index_leaves_the_shape_of_the_store_alone_until_it_is_written_to(
    tmp_path: Path,
) -> None:
    database = SqliteDatabase(tmp_path / "nacre.db")
    index = LocalVectors(database, EMB_ID)
    found(index)
    with database.read() as connection:
        names = connection.execute("SELECT name FROM sqlite_schema").fetchall()
    assert not [name for (name,) in names if name.startswith("vector_")]

    index.upsert("b", [point("a", unit(1))])
    assert database.problems() == []


def test_of_a_removed_point_not_even_its_id_stays(tmp_path: Path) -> None:
    mine, other = (LocalVectors(SqliteDatabase(tmp_path / "nacre.db"), EMB_ID) for _ in range(2))
    mine.upsert("b", [point("kept", unit(1)), point("gone", unit(1), ["pearl"], days=DAYS)])
    assert found(other) == ["gone", "kept"]

    mine.delete("b", ["gone"])

    with closing(sqlite3.connect(tmp_path / "nacre.db")) as connection, connection:
        rows = connection.execute("SELECT * FROM vector_points WHERE kind IS NULL").fetchall()
    assert [[value for value in row if value is not None] for row in rows] == [[2, 1, 3]]
    assert found(other) == ["kept"]


def test_a_point_that_is_removed_and_comes_back_is_found(tmp_path: Path) -> None:
    mine, other = (LocalVectors(SqliteDatabase(tmp_path / "nacre.db"), EMB_ID) for _ in range(2))
    for _ in range(3):
        mine.upsert("b", [point("a", unit(1)), point("z", unit(1))])
        assert found(other) == ["a", "z"]
        mine.delete("b", ["a"])
        mine.upsert("b", [point("a", unit(1))])
        mine.delete("b", ["z", "a"])
        mine.upsert("b", [point("a", unit(1))])
        assert found(other) == ["a"]


def test_an_erased_being_leaves_no_row(tmp_path: Path) -> None:
    index = LocalVectors(SqliteDatabase(tmp_path / "nacre.db"), EMB_ID)
    index.upsert("b", [point("a", unit(1)), point("z", unit(1))])
    index.delete("b", ["z"])

    index.erase("b")

    with closing(sqlite3.connect(tmp_path / "nacre.db")) as connection, connection:
        for table in ("vector_sets", "vector_points"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_beings_beyond_those_in_memory_are_read_again(tmp_path: Path) -> None:
    index = LocalVectors(SqliteDatabase(tmp_path / "nacre.db"), EMB_ID)
    beings = [f"b{number}" for number in range(INDEXED_BEINGS_IN_MEMORY + 2)]
    for being in beings:
        index.upsert(being, [point(f"of-{being}", unit(1))])

    for _ in range(2):
        for being in beings:
            assert found(index, being) == [f"of-{being}"]


def test_writes_that_do_not_wait_leave_the_next_ones_durable(tmp_path: Path) -> None:
    # One connection is used for both, so the way it writes must come back each time.
    database = SqliteDatabase(tmp_path / "nacre.db")
    for durable in (False, True, False):
        with database.write(durable=durable) as connection:
            mode = connection.execute("PRAGMA synchronous").fetchone()[0]
        assert mode == (2 if durable else 1)
        with database.read() as connection:
            assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
    with pytest.raises(RuntimeError), database.write(durable=False):
        raise RuntimeError
    with database.read() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2


def test_a_table_that_does_not_wait_reads_and_writes_like_any_other(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "nacre.db")
    SqliteTable(database, durable=False).put({"pk": "p", "sk": "s", "schema": 1})

    assert SqliteTable(database).get(Key("p", "s")) == {"pk": "p", "sk": "s", "schema": 1}


def test_points_that_are_replaced_often_do_not_pile_up(tmp_path: Path) -> None:
    index = LocalVectors(SqliteDatabase(tmp_path / "nacre.db"), EMB_ID)
    for each in range(40):
        index.upsert("b", [point(f"p{n}", unit(1, each), [f"t{each}"]) for n in range(100)])
        assert len(found(index)) == 100

    assert len(index._beings["b"].matrix._ids) <= 1200
    last = index.search("b", Question(dense=None, sparse=["t39"], where=EVERY, limit=200))
    assert len(last.sparse) == 100
    assert (
        index.search("b", Question(dense=None, sparse=["t38"], where=EVERY, limit=5)).sparse == ()
    )


def test_rarity_counts_living_points_only() -> None:
    fresh, worn = PointMatrix(DIMENSION), PointMatrix(DIMENSION)
    points = [row_of(point(f"p{n}", None, ["pearl", f"t{n}"])) for n in range(20)]
    fresh.add(points[10:])
    worn.add(points)
    worn.add(points[:15])
    worn.remove(f"p{n}" for n in range(10))

    question = Question(dense=None, sparse=["pearl", "t12"], where=EVERY, limit=30)
    assert worn.search(question) == fresh.search(question)


def test_many_points_cross_the_blocks_of_the_matrix() -> None:
    matrix = PointMatrix(2)
    rows = [row_of(point(f"p{n:05}", unit(1, n)[:8], [f"t{n % 7}", "all"])) for n in range(20_000)]
    for start in range(0, len(rows), 3000):
        matrix.add(rows[start : start + 3000])

    found = matrix.search(Question(dense=unit(0, 1)[:8], sparse=["t3"], where=EVERY, limit=20_000))

    assert len(found.dense) == 20_000
    assert ids(found.dense)[-1] == "p00000"
    assert set(ids(found.sparse)) == {f"p{n:05}" for n in range(3, 20_000, 7)}

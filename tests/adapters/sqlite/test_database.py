"""One file, several processes, and no acknowledged write lost."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from nacre.adapters.sqlite import database as sqlite_database
from nacre.adapters.sqlite.database import SCHEMA_VERSION, SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.errors import ConditionFailedError, NewerSchemaError, StoreError, UnavailableError
from nacre.ports.items.table import Absent, Change, Compare, Item, Key, Range
from tests.adapters.conftest import StillClock

SCRIPT = Path(__file__).with_name("store_process.py")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "nacre.db"


@contextmanager
def opened(path: Path, **options: float) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(path, **options)  # type: ignore[arg-type]  # seconds only
    try:
        yield database
    finally:
        database.close()


def item(sk: str, **attributes: int | str) -> Item:
    return {"pk": "P", "sk": sk, "schema": 1, **attributes}


def start(verb: str, path: Path, argument: str) -> "subprocess.Popen[str]":
    command = [sys.executable, str(SCRIPT), verb, str(path), argument]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


# Opening


def test_a_new_store_is_private_and_durable(path: Path) -> None:
    with opened(path) as database:
        SqliteTable(database).put(item("A"))
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
        with database.read() as connection:
            pragmas = {
                name: connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("journal_mode", "synchronous", "user_version")
            }

    assert set(modes.values()) == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "user_version": SCHEMA_VERSION}


def test_every_connection_waits_for_the_disk(path: Path) -> None:
    with opened(path) as database, ThreadPoolExecutor(8) as pool:
        together = threading.Barrier(8, timeout=60)

        def synchronous(_: int) -> int:
            with database.read() as connection:
                together.wait()
                return int(connection.execute("PRAGMA synchronous").fetchone()[0])

        assert list(pool.map(synchronous, range(8))) == [2] * 8


def test_items_survive_a_restart(path: Path) -> None:
    with opened(path) as database:
        SqliteTable(database).put(item("A"))
    with opened(path) as database:
        assert SqliteTable(database).get(Key("P", "A")) == item("A")


def test_the_two_tables_are_apart(path: Path) -> None:
    with opened(path) as database:
        SqliteTable(database, "data").put(item("A"))
        assert SqliteTable(database, "tokens").get(Key("P", "A")) is None


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


def test_a_newer_store_is_refused_with_both_versions_and_left_alone(path: Path) -> None:
    with opened(path) as database, database.write() as connection:
        connection.execute("PRAGMA user_version=7")
    before = path.read_bytes()

    with pytest.raises(NewerSchemaError) as raised:
        SqliteDatabase(path)

    assert str(raised.value) == (
        f"The store {path} was written by a newer Nacre: it has schema 7, and this version knows"
        f" schemas up to {SCHEMA_VERSION}. Nothing was changed. Upgrade nacre to use it."
    )
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"this is not a database, and long enough to be sure of that" * 100,
        lambda data: data[:100] + b"\xff" * 4000 + data[4100:],
        lambda data: data[:16] + b"\x00" * 84 + data[100:],
    ],
    ids=["text", "first page", "header"],
)
def test_a_damaged_store_is_named_and_left_alone(
    path: Path, damage: Callable[[bytes], bytes]
) -> None:
    with opened(path) as database:
        SqliteTable(database).put(item("A"))
    path.write_bytes(damage(path.read_bytes()))
    before = contents(path)

    with pytest.raises(StoreError) as raised:
        SqliteDatabase(path)

    assert str(path) in str(raised.value)
    assert "the store is damaged" in str(raised.value)
    assert "Nothing was deleted" in str(raised.value)
    assert contents(path)["nacre.db"] == before["nacre.db"]


def test_damage_that_shows_later_is_an_error_and_not_a_wrong_answer(path: Path) -> None:
    with opened(path) as database:
        for number in range(200):
            SqliteTable(database).put(item(f"{number:03}", text="x" * 2000))
    data = bytearray(path.read_bytes())
    for page in range(15, len(data) // 4096):
        data[page * 4096 : page * 4096 + 100] = b"\xff" * 100
    path.write_bytes(bytes(data))

    with opened(path) as database:
        with pytest.raises(StoreError, match="the store is damaged"):
            SqliteTable(database).query("P")
        assert database.problems()


def test_a_sound_store_has_no_problems(path: Path) -> None:
    with opened(path) as database:
        SqliteTable(database).put(item("A"))
        assert database.problems() == []


def test_another_programs_database_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(StoreError, match="is the database of another program"):
        SqliteDatabase(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.parent.mkdir()
    path.touch()

    with opened(path) as database:
        SqliteTable(database).put(item("A"))


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreError, match="Choose a data folder that you may write to"):
        SqliteDatabase(tmp_path / "file" / "nacre.db")


def test_a_folder_in_place_of_the_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the store cannot be opened or created"):
        SqliteDatabase(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_is_a_clear_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="Choose a data folder that you may write to"):
            SqliteDatabase(tmp_path / "nacre.db")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("question", [1, 2])
def test_a_file_that_another_process_creates_meanwhile_is_opened_to_write(
    path: Path, monkeypatch: pytest.MonkeyPatch, question: int
) -> None:
    asked: list[bool] = []

    def answered(place: Path, mode: int) -> bool:
        asked.append(kept(place, mode))
        if len(asked) == question:
            path.parent.mkdir(exist_ok=True)
            path.touch(0o600)
        return asked[-1]

    kept = os.access
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", answered)
        database = SqliteDatabase(path)
    with closing(database):
        SqliteTable(database).put(item("A"))


def test_a_closed_store_says_so(path: Path) -> None:
    database = SqliteDatabase(path)
    database.close()
    database.close()

    with pytest.raises(UnavailableError, match="the store was closed"):
        SqliteTable(database).get(Key("P", "A"))


# Writing


def test_a_block_that_fails_writes_nothing(path: Path) -> None:
    with opened(path) as database:
        table = SqliteTable(database)
        table.put(item("A"))

        def interrupted() -> None:
            with database.write() as connection:
                connection.execute("DELETE FROM data")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()

        assert table.get(Key("P", "A")) == item("A")
        table.put(item("B"))


def test_a_writer_that_never_ends_is_named_after_the_busy_time(path: Path) -> None:
    with opened(path) as other, opened(path, busy_seconds=0.05) as database:
        table = SqliteTable(database)
        table.put(item("A"))
        with other.write():
            with pytest.raises(UnavailableError, match=r"writing for more than 0\.05 s"):
                table.put(item("B"))
            assert table.get(Key("P", "A")) == item("A")  # readers do not wait
        table.put(item("B"))


def test_readers_do_not_wait_for_writers_that_wait(path: Path) -> None:
    with opened(path) as database, ThreadPoolExecutor(21) as pool:
        table = SqliteTable(database)
        table.put(item("A"))
        together = threading.Barrier(20)

        def write() -> None:
            together.wait(60)
            table.put(item("B"))

        with database.write():
            writers = [pool.submit(write) for _ in range(19)]
            together.wait(60)
            found = [pool.submit(table.get, Key("P", "A")).result(60) for _ in range(500)]
        for writer in writers:
            writer.result(60)

    assert found == [item("A")] * 500


def test_threads_lose_no_update(path: Path) -> None:
    key = Key("P", "COUNT")
    with opened(path) as database, ThreadPoolExecutor(20) as pool:
        table = SqliteTable(database)
        change = Change(set={"schema": 1}, add={"n": 1})
        found = list(pool.map(lambda _: table.update(key, change)["n"], range(200)))

        assert sorted(map(int, map(str, found))) == list(range(1, 201))
        assert table.get(key) == item("COUNT", n=200)


def test_one_of_many_threads_creates_an_item(path: Path) -> None:
    with opened(path) as database, ThreadPoolExecutor(20) as pool:
        table = SqliteTable(database)

        def create(number: int) -> bool:
            try:
                table.put(item("A", by=number), when=Absent())
            except ConditionFailedError:
                return False
            return True

        assert sum(pool.map(create, range(50))) == 1


def test_threads_that_read_change_and_compare_lose_nothing(path: Path) -> None:
    with opened(path) as database, ThreadPoolExecutor(4) as pool:
        table = SqliteTable(database)
        table.put(item("A", n=0))

        def raise_by_one(_: int) -> None:
            while True:
                found = table.get(Key("P", "A"))
                assert found is not None
                number = found["n"]
                assert isinstance(number, int)
                try:
                    table.put(item("A", n=number + 1), when=Compare("n", "=", number))
                except ConditionFailedError:
                    continue
                return

        list(pool.map(raise_by_one, range(40)))
        assert table.get(Key("P", "A")) == item("A", n=40)


def test_expired_items_are_removed_by_later_writes(path: Path, clock: StillClock) -> None:
    with opened(path) as database:
        table = SqliteTable(database, now=clock)
        table.put(item("KEPT"))
        for number in range(300):
            table.put(item(f"{number:03}", expires_at=clock.at(10)))
        clock.move(61)
        table.put(item("NEW"))  # removes 200 and not more, so that it stays short
        with database.read() as connection:
            [left] = connection.execute("SELECT count(*) FROM data").fetchone()
        assert left == 102

        assert table.purge() == 100
        assert table.purge() == 0
        assert [found["sk"] for found in table.query("P").items] == ["KEPT", "NEW"]


# Processes


def test_processes_that_open_a_new_store_at_once_lose_no_update(path: Path) -> None:
    processes = [start("count", path, "50") for _ in range(4)]
    outputs = [process.communicate(timeout=60)[0] for process in processes]

    assert outputs == ["counted\n"] * 4
    with opened(path) as database:
        found = SqliteTable(database).get(Key("C", "COUNT"))
        assert found == {"pk": "C", "sk": "COUNT", "schema": 1, "n": 200}
        assert database.problems() == []


def check_acknowledged(path: Path, names: dict[str, int]) -> None:
    """Find every acknowledged write, and no half of one."""
    with opened(path) as database:
        table = SqliteTable(database)
        for name, acknowledged in names.items():
            numbers = [found["sk"] for found in table.query(name).items if found["sk"] != "COUNT"]
            assert len(numbers) >= acknowledged
            assert numbers == [f"{number:08}" for number in range(len(numbers))]
            counted = table.get(Key(name, "COUNT"))
            assert counted is None if not numbers else counted and counted["n"] == len(numbers)
        assert database.problems() == []


def stop_some(path: Path, rounds: int, how: signal.Signals, tmp_path: Path) -> None:
    rng = random.Random(11)
    acknowledged: dict[str, int] = {}
    for turn in range(rounds):
        processes = {
            f"N#{turn}#{writer}": start("numbers", path, f"N#{turn}#{writer}")
            for writer in range(2)
        }
        for name, process in processes.items():
            assert process.stdout is not None
            # Long enough to write something, and then any moment.
            lines = [process.stdout.readline() for _ in range(rng.randint(1, 20))]
            time.sleep(rng.random() * 0.01)
            process.send_signal(how)
            lines += process.stdout.readlines()
            process.stdout.close()
            assert process.wait(60) == (0 if how is signal.SIGTERM else -how)
            acknowledged[name] = len([line for line in lines if line.endswith("\n")])
        assert all(acknowledged.values())
        check_acknowledged(path, acknowledged)


def test_a_killed_writer_loses_nothing_it_acknowledged(path: Path, tmp_path: Path) -> None:
    stop_some(path, 3, signal.SIGKILL, tmp_path)


def test_a_writer_asked_to_end_loses_nothing_it_acknowledged(path: Path, tmp_path: Path) -> None:
    stop_some(path, 3, signal.SIGTERM, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_writers_stopped_many_times_lose_nothing(
    path: Path, tmp_path: Path, how: signal.Signals
) -> None:
    stop_some(path, 60, how, tmp_path)


def test_a_copy_of_the_files_of_a_killed_writer_opens(path: Path, tmp_path: Path) -> None:
    process = start("numbers", path, "N")
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(20)]
    process.kill()
    lines += process.stdout.readlines()
    process.stdout.close()
    process.wait(60)

    shutil.copytree(path.parent, tmp_path / "copy")
    check_acknowledged(tmp_path / "copy" / "nacre.db", {"N": len(lines)})


def test_a_disk_without_space_refuses_and_keeps_what_was_acknowledged(path: Path) -> None:
    process = start("fill", path, str(2_000_000))
    *written, error = process.communicate(timeout=60)[0].splitlines()

    assert error.startswith("UnavailableError: ")
    assert str(path) in error
    assert len(written) > 5
    with opened(path) as database:
        kept = [found["sk"] for found in SqliteTable(database).query("F").items]
        assert kept[: len(written)] == [f"{int(number):08}" for number in written]
        assert database.problems() == []


# Speed that does not fall as the store grows


@pytest.mark.parametrize(
    "call",
    [
        lambda table: table.get(Key("P", "A")),
        lambda table: table.get_many([Key("P", "A"), Key("P", "B")]),
        lambda table: table.query("P"),
        lambda table: table.query("P", keys=Range(prefix="A"), descending=True, limit=5),
        lambda table: table.query("P", index="gsi1", keys=Range(low="A", high="B")),
        lambda table: table.query("P", index="gsi2", limit=1),
        lambda table: table.query("P", index="gsi3", descending=True),
        lambda table: table.put(item("A"), when=Absent()),
        lambda table: table.delete(Key("P", "A")),
        lambda table: table.purge(),
    ],
)
def test_no_call_reads_the_whole_table_or_sorts(
    path: Path, call: Callable[[SqliteTable], object]
) -> None:
    statements: list[str] = []
    with opened(path) as database:
        with database.read() as connection:
            connection.set_trace_callback(statements.append)
        call(SqliteTable(database))
        with database.read() as connection:
            connection.set_trace_callback(None)
            plans = [
                row[3]
                for sql in statements
                if sql.startswith(("SELECT", "WITH", "INSERT", "DELETE"))
                for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")
            ]

    assert [plan for plan in plans if "data" in plan] or "INSERT" in str(statements)
    assert not [plan for plan in plans if plan.startswith(("SCAN data", "USE TEMP B-TREE"))]


def test_looking_for_a_message_does_not_sort_all_of_them(path: Path) -> None:
    with opened(path) as database:
        queue = SqliteQueue(database, "q")
        statements: list[str] = []
        with database.read() as connection:
            connection.set_trace_callback(statements.append)
        queue.receive()
        with database.read() as connection:
            connection.set_trace_callback(None)
            plans = [
                row[3]
                for sql in statements
                for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")
            ]

    assert any("messages_waiting" in plan for plan in plans)
    assert not [plan for plan in plans if plan.startswith("SCAN messages") and "INDEX" not in plan]


# Upgrading


def of_later(monkeypatch: pytest.MonkeyPatch, *statements: str) -> None:
    """Play a later version of this module, whose tables have changed once."""
    monkeypatch.setattr(sqlite_database, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    monkeypatch.setattr(sqlite_database, "_UPGRADES", {SCHEMA_VERSION: ";".join(statements)})


ADD = "ALTER TABLE messages ADD COLUMN colour TEXT DEFAULT 'white'"


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_an_older_store_is_brought_up_to_date_and_keeps_its_items(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as database:
        SqliteTable(database).put(item("A"))
        SqliteQueue(database, "jobs").send("{}", group="g")
    of_later(monkeypatch, ADD)

    with opened(path) as database:
        assert SqliteTable(database).get(Key("P", "A")) == item("A")
        with database.read() as connection:
            assert connection.execute("SELECT colour FROM messages").fetchall() == [("white",)]
    assert version_of(path) == SCHEMA_VERSION + 1
    with opened(path) as database:  # and only once
        assert database.problems() == []


def test_an_upgrade_that_fails_leaves_the_store_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as database:
        SqliteTable(database).put(item("A"))
    with monkeypatch.context() as later:
        of_later(later, ADD, "INSERT INTO no_such_table VALUES (1)")
        with pytest.raises(UnavailableError, match="no such table"):
            SqliteDatabase(path)

    assert version_of(path) == SCHEMA_VERSION
    with opened(path) as database, database.read() as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(messages)")]
    assert "colour" not in columns


def test_processes_that_open_an_older_store_at_once_upgrade_it_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path):
        pass
    of_later(monkeypatch, ADD)
    together = threading.Barrier(6, timeout=60)

    def open_and_close(_: int) -> None:
        together.wait()
        with opened(path):
            pass

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(open_and_close, range(6)))

    assert version_of(path) == SCHEMA_VERSION + 1

"""The audit: what a record holds, and that nothing done to a chain goes unseen."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.adapters.files.audit import JsonlAudit, JsonlRecords
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.errors import UnavailableError
from nacre.core.limits import (
    AUDIT_ANCHOR_SECONDS,
    AUDIT_CHECK_SECONDS,
    AUDIT_DAYS,
    AUDIT_FILE_BYTES,
)
from nacre.firewall.audit.entry import AuditEntry
from nacre.firewall.audit.log import AuditTrail, verify_chain, verify_lines
from nacre.firewall.audit.stored_log import ItemAudit, ItemRecords
from nacre.firewall.content.digests import arguments_sha256, canonical, shape
from nacre.ports.audit import GENESIS, Chain, Head
from nacre.ports.items.table import Condition, Item, Key
from tests.being.patrol.worlds import Fuse, FusedTable
from tests.firewall.chains import BEING, AuditStore, Ticking, anchors, entry, in_folder, in_items

ROOT = Path(__file__).parents[3]
PLACES = ["folder", "items"]


@pytest.fixture(params=PLACES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AuditStore]:
    yield from in_folder(tmp_path / "audit") if request.param == "folder" else in_items()


class Moments:
    """A log that keeps when its records were written, and nothing else."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def open(self) -> Head:
        return Head("w", 0, GENESIS)

    def append(self, line: bytes, *, before: Head, after: Head, at: str) -> None:
        assert f'"at":"{at}"'.encode() in line
        self.seen.append(at)

    def close(self) -> None:
        return


seconds = st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
parts = st.lists(st.sampled_from([0, 1, 999_999]) | st.integers(0, 999_999), min_size=1)


@given(st.lists(st.tuples(seconds, parts)))
def test_moments_are_spelled_as_they_are(times: list[tuple[datetime, list[int]]]) -> None:
    moments = [time.replace(microsecond=part) for time, chosen in times for part in chosen]
    log, clock = Moments(), iter(moments)
    trail = AuditTrail(log, lambda: next(clock))

    for number in range(len(moments)):
        trail.record(entry(number))

    assert log.seen == [moment.isoformat(timespec="microseconds") for moment in moments]


names = st.sampled_from(["", "s", 'ä"\\', "\udc80", "x" * 200, "y" * 201])
entries = st.builds(
    AuditEntry,
    outcome=st.sampled_from(["allow", "deny"]),
    server=names,
    method=names,
    sender=st.sampled_from(["client", "server"]),
    tool=st.none() | names,
    rule=st.none() | st.sampled_from([0, 1, 52]),
    policy=names,
    principal=names,
    being=names,
    request=st.none() | names,
    arguments_sha256=st.none() | names,
    shape=st.none() | st.dictionaries(names, names),
    enforced=st.booleans(),
    note=st.none() | names,
    fields=st.dictionaries(names | st.just("outcome"), names | st.integers(), max_size=1),
)


@given(entries)
def test_a_record_spells_its_facts(entry: AuditEntry) -> None:
    facts = entry.facts()

    assert list(json.loads(f"{{{entry.spelled()}}}").items()) == list(facts.items())
    assert f"{{{entry.spelled()}}}" == json.dumps(facts, separators=(",", ":"))


def test_a_record_says_what_happened_and_follows_the_one_before_it(store: AuditStore) -> None:
    trail = store.trail()

    first = trail.record(entry(1))
    trail.record(
        AuditEntry(
            outcome="deny",
            server="files",
            method="tools/call",
            tool="read",
            rule=3,
            policy="a" * 64,
            principal="t1",
            being=BEING,
            request="7",
            arguments_sha256=arguments_sha256({"path": "/x"}),
            shape=shape({"path": "/x"}),
            enforced=False,
            note="why",
            fields={"approval": "g1"},
        )
    )
    trail.close()

    ((writer, (line, next_line)),) = store.lines().items()
    assert first == f"{writer}/1"
    assert line["prev"] == GENESIS
    assert (line["seq"], line["writer"], line["at"]) == (
        1,
        writer,
        "2026-07-28T12:00:00.001000+00:00",
    )
    assert next_line["prev"] == line["hash"]
    assert {name: next_line[name] for name in list(next_line)[4:-1]} == {
        "outcome": "deny",
        "server": "files",
        "sender": "client",
        "method": "tools/call",
        "tool": "read",
        "rule": 3,
        "policy": "a" * 16,
        "principal": "t1",
        "being": BEING,
        "request": "7",
        "arguments_sha256": hashlib.sha256(b'{"path":"/x"}').hexdigest(),
        "shape": {"path": "text 2"},
        "note": "why",
        "enforced": False,
        "approval": "g1",
    }
    assert [check.problem for check in store.verified()] == [None]


def test_writers_at_once_have_chains_of_their_own(store: AuditStore) -> None:
    trails = [store.trail(), store.trail()]
    for number in range(6):
        trails[number % 2].record(entry(number))

    assert sorted(len(lines) for lines in store.lines().values()) == [3, 3]
    assert [check.problem for check in store.verified()] == [None, None]
    for trail in trails:
        trail.close()


def test_the_newest_records_of_all_writers_come_first(store: AuditStore) -> None:
    first, second = store.trail(), store.trail()
    names = [
        trail.record(entry(n)) for n, trail in enumerate((first, second, first, second, first))
    ]

    lines = [json.loads(line) for line in store.records.newest()]

    assert [f"{line['writer']}/{line['seq']}" for line in lines] == names[::-1]
    before = [json.loads(line) for line in store.records.newest(lines[1]["at"])]
    assert before == lines[2:]
    assert list(store.records.newest("2026-01-01")) == []


def test_one_record_is_found_by_its_writer_and_number(store: AuditStore) -> None:
    for trail in (store.trail(), store.trail()):
        names = [trail.record(entry(number)) for number in range(3)]
    writer = names[0].rpartition("/")[0]

    for number in range(1, 4):
        line = store.records.record(writer, number)
        assert line is not None
        record = json.loads(line)
        assert (record["writer"], record["seq"]) == (writer, number)
    for other in ("", "*", "laptop-*", "writer-9", "../x", "laptop-1.000001.jsonl#"):
        assert store.records.record(other, 1) is None
    for number in (0, 4, 10**30):
        assert store.records.record(writer, number) is None


def test_a_record_that_is_missing_costs_only_the_days_of_its_chain() -> None:
    with closing(SqliteDatabase(":memory:")) as database:
        clock, fuse = Ticking(), Fuse()
        table = SqliteTable(database, "data", now=clock)
        for writer in ("old", "new"):
            log = ItemAudit(table, BEING, clock=clock, new_writer=partial(str, writer))
            trail = AuditTrail(log, clock)
            trail.record(entry(1))
            clock.time += timedelta(hours=20)  # the second record is of the next day
            trail.record(entry(2))
            clock.time += timedelta(days=100)
        records = ItemRecords(FusedTable(table, fuse), BEING, clock=clock)

        found = [records.record("old", number) is not None for number in (1, 2, 3)]
        assert found == [True, True, False]
        assert fuse.reads <= 3 * 3  # a head, and two days
        assert records.record("new", 2) is not None


def test_a_record_is_found_over_files_and_behind_a_damaged_line(folder: Path) -> None:
    written(folder, 5, file_bytes=300)
    [first, second, *_] = sorted(folder.glob("*.jsonl"))
    first.write_bytes(b"broken\n" + first.read_bytes())

    line = JsonlRecords(folder).record("laptop-1", 5)

    assert line is not None
    assert json.loads(line)["tool"] == "tool-4"
    assert second.name == "laptop-1.000002.jsonl"


def test_the_newest_records_reach_back_over_files(folder: Path) -> None:
    trail = AuditTrail(JsonlAudit(folder, file_bytes=1000), Ticking())
    for number in range(12):
        trail.record(entry(number))
    assert len(list(folder.glob("*.jsonl"))) > 2

    numbers = [json.loads(line)["seq"] for line in JsonlRecords(folder).newest()]

    assert numbers == list(range(12, 0, -1))


def test_a_damaged_record_hides_no_older_one(folder: Path) -> None:
    trail = AuditTrail(JsonlAudit(folder), Ticking())
    for number in range(3):
        trail.record(entry(number))
    [file] = folder.glob("*.jsonl")
    first, _, third = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(first + b"broken\n" + third)

    assert [b"broken" in line for line in JsonlRecords(folder).newest()] == [False, True, False]


def test_threads_share_one_chain(store: AuditStore) -> None:
    trail = store.trail()
    threads = [
        threading.Thread(target=lambda: [trail.record(entry(n)) for n in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    trail.close()

    (check,) = store.verified()
    assert (check.records, check.problem) == (80, None)


# On the laptop.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "audit"


def written(folder: Path, count: int, *, file_bytes: int = AUDIT_FILE_BYTES) -> Path:
    trail = AuditTrail(JsonlAudit(folder, file_bytes=file_bytes), Ticking())
    for number in range(count):
        trail.record(entry(number))
    trail.close()
    return folder / "laptop-1.000001.jsonl"


def problem(folder: Path) -> str | None:
    (check,) = [verify_chain(chain) for chain in JsonlRecords(folder).chains()]
    return check.problem


def test_the_next_process_goes_on_where_the_last_ended(folder: Path) -> None:
    written(folder, 2)
    file = written(folder, 2)

    assert [json.loads(line)["seq"] for line in file.read_bytes().splitlines()] == [1, 2, 3, 4]
    assert problem(folder) is None


def test_files_and_folder_are_for_their_owner_alone(folder: Path) -> None:
    written(folder, 1)

    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_a_full_file_is_followed_by_the_next_in_one_chain(folder: Path) -> None:
    written(folder, 10, file_bytes=1000)

    assert len(list(folder.glob("*.jsonl"))) > 2
    assert all(path.stat().st_size < 1000 for path in folder.glob("*.jsonl"))
    assert problem(folder) is None


def test_a_file_in_the_middle_is_missed(folder: Path) -> None:
    written(folder, 10, file_bytes=1000)
    (folder / "laptop-1.000002.jsonl").unlink()

    assert "stands where" in str(problem(folder))


TAMPERINGS: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "edited": (
        lambda lines: [lines[0].replace(b"tool-0", b"tool-9"), *lines[1:]],
        "what follows record 0 is not a whole record",
    ),
    "removed": (lambda lines: [lines[0], *lines[2:]], "record 3 stands where 2 should be"),
    "first removed": (lambda lines: lines[1:], "record 2 stands where 1 should be"),
    "reordered": (
        lambda lines: [lines[1], lines[0], *lines[2:]],
        "record 2 stands where 1 should be",
    ),
    "repeated": (lambda lines: [*lines, lines[-1]], "record 5 stands where 6 should be"),
    "truncated": (lambda lines: lines[:3], "the last 2 of the records are missing"),
    "emptied": (lambda lines: [], "the last 5 of the records are missing"),
    "cut in a line": (
        lambda lines: [*lines[:4], lines[4][:-9]],
        "what follows record 4 is not a whole record",
    ),
    "last end of line cut": (
        lambda lines: [*lines[:4], lines[4][:-1]],
        "what follows record 4 is not a whole record",
    ),
}


@pytest.mark.parametrize("how", TAMPERINGS)
def test_tampering_is_found(folder: Path, how: str) -> None:
    file = written(folder, 5)
    change, expected = TAMPERINGS[how]
    file.write_bytes(b"".join(change(file.read_bytes().splitlines(keepends=True))))

    assert problem(folder) == expected


def test_a_chain_written_anew_is_not_the_one_that_was_noted(folder: Path, tmp_path: Path) -> None:
    file = written(folder, 5)
    forged = written(tmp_path / "forged", 5)
    text = forged.read_bytes()
    trail = AuditTrail(JsonlAudit(tmp_path / "other"), Ticking())
    for number in range(5):
        trail.record(entry(number + 100))
    trail.close()
    file.write_bytes((tmp_path / "other" / file.name).read_bytes())

    assert text != file.read_bytes()
    assert problem(folder) == "record 5 is not the one that was noted"


def test_a_chain_that_is_gone_with_its_note_is_missed_by_its_anchor(folder: Path) -> None:
    noted, database = anchors()
    trail = AuditTrail(JsonlAudit(folder), Ticking(), anchor=noted.note)
    for number in range(3):
        trail.record(entry(number))
    trail.close()
    for path in folder.iterdir():
        path.unlink()

    (check,) = [verify_chain(chain) for chain in JsonlRecords(folder, noted.noted).chains()]
    database.close()

    assert check.problem == "the last 3 of the records are missing"


def test_the_head_is_anchored_at_first_then_by_time_and_number(folder: Path) -> None:
    anchored: list[int] = []
    clock = Ticking()
    trail = AuditTrail(
        JsonlAudit(folder), clock, anchor=lambda head: anchored.append(head.sequence)
    )
    for number in range(1002):
        trail.record(entry(number))
    clock.time = clock.time.replace(hour=13)
    trail.record(entry())
    trail.record(entry())
    trail.close()

    assert anchored == [1, 1001, 1003, 1004]


def test_an_anchor_never_goes_back() -> None:
    noted, database = anchors()
    noted.note(Head("laptop-1", 5, "e" * 64))
    noted.note(Head("laptop-1", 3, "c" * 64))

    assert noted.noted() == {"laptop-1": Head("laptop-1", 5, "e" * 64)}
    database.close()


def test_a_chain_with_a_damaged_end_is_left_alone(folder: Path) -> None:
    file = written(folder, 3)
    damaged = file.read_bytes()[:-20]
    file.write_bytes(damaged)

    written(folder, 1)

    assert file.read_bytes() == damaged
    problems = {
        chain.writer: verify_chain(chain).problem for chain in JsonlRecords(folder).chains()
    }
    assert problems == {
        "laptop-1": "what follows record 2 is not a whole record",
        "laptop-2": None,
    }


def test_several_processes_write_at_once(folder: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from nacre.adapters.files.audit import JsonlAudit\n"
        "from nacre.core.clock import system_clock\n"
        "from nacre.firewall.audit.log import AuditTrail\n"
        "from nacre.firewall.audit.entry import AuditEntry\n"
        "trail = AuditTrail(JsonlAudit(Path(sys.argv[1])), system_clock)\n"
        "for number in range(200):\n"
        "    trail.record(AuditEntry(outcome='allow', server='s', method='ping'))\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"  # every process is still there when the last begins
    )
    environment = {"PYTHONPATH": str(ROOT / "shared")}
    command = [sys.executable, "-c", program, str(folder)]
    processes = [
        subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        process.communicate(b"\n")

    checks = [verify_chain(chain) for chain in JsonlRecords(folder).chains()]
    assert [(check.writer, check.records, check.problem) for check in checks] == [
        (f"laptop-{number}", 200, None) for number in (1, 2, 3)
    ]


def test_an_audit_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("in the way")

    with pytest.raises(UnavailableError, match="the audit cannot be written"):
        AuditTrail(JsonlAudit(tmp_path / "audit"), Ticking()).record(entry())


def test_what_would_be_written_to_a_file_that_is_gone_is_not_kept(folder: Path) -> None:
    now = 7.0
    trail = AuditTrail(JsonlAudit(folder, tick=lambda: now), Ticking())
    trail.record(entry(1))
    for path in folder.iterdir():
        path.unlink()
    now += 2 * AUDIT_CHECK_SECONDS

    with pytest.raises(UnavailableError, match="the file was removed"):
        trail.record(entry(2))
    trail.record(entry(3))
    trail.close()

    (chain,) = JsonlRecords(folder).chains()
    assert [json.loads(line)["tool"] for line in chain.lines] == ["tool-3"]


def test_no_descriptor_is_closed_twice_where_the_next_file_cannot_be_opened(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trail = AuditTrail(JsonlAudit(folder, file_bytes=1), Ticking())
    trail.record(entry(1))
    (folder / "laptop-1.000002.jsonl").mkdir()
    closed, close = [], os.close

    def noted(descriptor: int) -> None:
        closed.append(descriptor)
        close(descriptor)

    monkeypatch.setattr(os, "close", noted)
    with pytest.raises(UnavailableError):
        trail.record(entry(2))

    assert len(closed) == len(set(closed)) == 3  # of the lines, of their end, of the lock


def test_an_append_that_fails_leaves_the_chain_as_it_was(folder: Path) -> None:
    class Failing(JsonlAudit):
        fails = False

        def append(self, line: bytes, *, before: Head, after: Head, at: str) -> None:
            if self.fails:
                raise UnavailableError("no room")
            super().append(line, before=before, after=after, at=at)

    log = Failing(folder)
    trail = AuditTrail(log, Ticking())
    trail.record(entry(1))
    log.fails = True
    with pytest.raises(UnavailableError):
        trail.record(entry(2))
    log.fails = False
    trail.record(entry(3))
    trail.close()

    (chain,) = JsonlRecords(folder).chains()
    assert [json.loads(line)["tool"] for line in chain.lines] == ["tool-1", "tool-3"]
    assert problem(folder) is None


def test_a_full_disk_denies_and_leaves_whole_lines(folder: Path) -> None:
    program = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from nacre.adapters.files.audit import JsonlAudit\n"
        "from nacre.core.clock import system_clock\n"
        "from nacre.core.errors import UnavailableError\n"
        "from nacre.firewall.audit.log import AuditTrail\n"
        "from nacre.firewall.audit.entry import AuditEntry\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "trail = AuditTrail(JsonlAudit(Path(sys.argv[1])), system_clock)\n"
        "try:\n"
        "    for number in range(10):\n"
        "        trail.record(AuditEntry(outcome='allow', server='s', method='ping'))\n"
        "except UnavailableError as error:\n"
        "    print(error)\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        env={"PYTHONPATH": str(ROOT / "shared")},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "the audit cannot be written (" in process.stdout
    assert problem(folder) is None


# In the item store.


@dataclass
class Noting:
    """A table that notes what is put, and puts it so often."""

    table: SqliteTable
    times: int = 1
    writes: list[str] = field(default_factory=list)

    def put(self, item: Item, *, when: Condition | None = None) -> None:
        self.writes.append("head" if str(item["pk"]).endswith("#heads") else "record")
        for _ in range(self.times):
            self.table.put(item, when=when)


def in_table(store: AuditStore) -> tuple[ItemAudit, SqliteTable]:
    log = store.open_log()
    assert isinstance(log, ItemAudit)
    assert isinstance(log._table, SqliteTable)
    return log, log._table


def test_a_chain_belongs_to_one_writer() -> None:
    for store in in_items():
        logs = [store.open_log(), store.open_log()]
        before = logs[0].open()
        logs[1].open()
        at = "2026-07-28T12:00:00.000000+00:00"
        logs[0].append(b"{}", before=before, after=Head(before.writer, 1, "a" * 64), at=at)

        with pytest.raises(UnavailableError, match="another writer"):
            logs[1].append(b"[]", before=before, after=Head(before.writer, 1, "b" * 64), at=at)


def test_a_chain_that_two_continued_is_found() -> None:
    for store in in_items():
        trail = store.trail()
        trail.record(entry(1))
        twin = AuditTrail(copy(trail._log), store.clock)  # a memory that is there twice
        twin._head = trail._head
        trail.record(entry(2))
        twin.record(entry(3))

        [result] = store.verified()

        assert result.problem == "record 2 stands where 3 should be"


def test_a_record_is_one_write_and_its_head_another_one_a_minute() -> None:
    for store in in_items():
        log, table = in_table(store)
        log._table = noting = Noting(table)
        trail = AuditTrail(log, store.clock)
        for number in range(1, 5):
            trail.record(entry(number))
        store.clock.time += timedelta(seconds=AUDIT_ANCHOR_SECONDS)
        trail.record(entry(5))

        assert noting.writes == ["record", "head", *["record"] * 4, "head"]
        assert [result.problem for result in store.verified()] == [None]


def test_records_that_are_gone_from_the_end_are_missed_from_their_head_on() -> None:
    for store in in_items():
        trail = store.trail()
        for number in range(1, 4):
            trail.record(entry(number))
        store.clock.time += timedelta(seconds=AUDIT_ANCHOR_SECONDS)
        trail.record(entry(4))
        _, table = in_table(store)
        newest = table.query(f"A#{BEING}#2026-07-28", descending=True, limit=2).items
        for item in newest:
            table.delete(Key.of(item))

        [result] = store.verified()

        assert result.problem == "the last 2 of the records are missing"


def test_a_record_whose_answer_was_lost_is_stored_once() -> None:
    for store in in_items():
        log, table = in_table(store)
        log._table = Noting(table, times=2)  # as an adapter that got no answer
        trail = AuditTrail(log, store.clock)
        trail.record(entry(1))
        store.clock.time += timedelta(seconds=AUDIT_ANCHOR_SECONDS)
        trail.record(entry(2))

        [result] = store.verified()
        assert (result.records, result.problem) == (2, None)


def test_expired_records_are_missed_by_nobody() -> None:
    for store in in_items():
        trail = store.trail()
        trail.record(entry(1))
        store.clock.time += timedelta(days=AUDIT_DAYS - 1)
        trail.record(entry(2))
        store.clock.time += timedelta(days=2)
        (chain,) = store.records.chains()

        assert len(list(chain.lines)) == 1
        assert chain.may_begin_late


# An export.


def test_an_export_of_several_writers_is_checked_by_itself(tmp_path: Path) -> None:
    file = written(tmp_path / "one", 3)
    lines = file.read_bytes().splitlines()
    others = [line.replace(b"laptop-1", b"laptop-2") for line in lines]

    assert [check.problem for check in verify_lines(lines)] == [None]
    assert [check.problem for check in verify_lines(lines[1:])] == [None]
    assert [check.problem for check in verify_lines([lines[0], lines[2]])] == [
        "record 3 stands where 2 should be"
    ]
    assert [check.problem for check in verify_lines([*lines, *others, b"["])] == [
        None,
        "what follows record 0 is not a whole record",
        "1 line is not a record",
    ]


@pytest.mark.parametrize(
    ("prev", "number"), [(b"\xff" * 64, b"1"), (GENESIS.encode(), b"9" * 5000)]
)
def test_a_forged_record_that_is_no_text_or_no_number_is_none(prev: bytes, number: bytes) -> None:
    body = b'{"prev":"%b","seq":%b,"writer":"w"' % (prev, number)
    line = b'%b,"hash":"%b"}' % (body, hashlib.sha256(body).hexdigest().encode())

    check = verify_chain(Chain("w", [line], ()))

    assert check.problem == "what follows record 0 is not a whole record"


# Digests and shapes.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON))
def test_the_digest_of_arguments_does_not_depend_on_their_order(
    arguments: dict[str, object],
) -> None:
    turned = dict(reversed(arguments.items()))

    assert arguments_sha256(arguments) == arguments_sha256(turned)
    assert json.loads(canonical(arguments)) == arguments


def test_a_shape_holds_no_value() -> None:
    values = {
        "key": "sk-secret-value",
        "deep": {"password": "hunter2"},
        "list": [1, 2],
        "number": 123456,
        "truth": True,
        "nothing": None,
    }

    assert shape(values) == {
        "key": "text 15",
        "deep": "object 1",
        "list": "list 2",
        "number": "number",
        "truth": "truth",
        "nothing": "null",
    }


def test_a_shape_is_short() -> None:
    shapes = shape({f"{number}{'x' * 100}": 1 for number in range(100)})

    assert len(shapes) == 41
    assert shapes["…"] == "60 more"
    assert all(len(name) <= 64 for name in shapes)


def test_nothing_after_an_unknown_chain_is_taken(tmp_path: Path) -> None:
    file = written(tmp_path / "one", 2)
    lines = file.read_bytes().splitlines()
    heads = (Head("laptop-1", 1, "a" * 64), Head("laptop-1", 1, "b" * 64))

    assert verify_chain(Chain("laptop-1", lines, heads)).problem == (
        "two notes of record 1 disagree"
    )


def test_an_ordinary_record_does_not_load_the_search_for_secrets() -> None:
    """It takes as long to load as all else of a function's first call."""
    code = (
        "import sys\n"
        "from nacre.firewall.audit.entry import AuditEntry\n"
        "from nacre.firewall.content.digests import shape\n"
        "AuditEntry(\n"
        "    outcome='allow', server='nacre', method='tools/call', tool='recall',\n"
        "    being='5d3f2f0e-7c1b-4b5e-9d2a-1f0c9e8d7b6a', principal='tok_aB3dE5fG7hJ9kL1m',\n"
        "    request='7c9e6679-7425-40de-944b-e07fc1f90ae7', shape=shape({'user_message': 'x'}),\n"
        ").spelled()\n"
        "print('nacre.firewall.content.secrets' in sys.modules)\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == "False\n"

"""The index in files: found at once, whatever stops, whoever else writes, and gone when erased."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import Random

import pytest

from nacre.adapters.files.blobs import FileBlobs
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.vectors import file_vectors
from nacre.adapters.vectors.file_copies import FileCopies
from nacre.adapters.vectors.file_vectors import FileVectors
from nacre.adapters.vectors.index_files import IndexFile, IndexFiles
from nacre.adapters.vectors.item_vectors import ItemVectors
from nacre.adapters.vectors.point_file import decoded
from nacre.being.memory.index.index_state import INDEX, IndexStates
from nacre.being.memory.index.vector_items import vector_item
from nacre.being.memory.model import keys
from nacre.being.memory.text.searchable_text import IndexEntry
from nacre.core.errors import NewerSchemaError, UnavailableError
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import (
    INDEX_COPY_SECONDS,
    INDEX_FILE_BUSY_CHANGES,
    INDEX_FILE_CHANGES,
    INDEX_FILE_DAYS,
    INDEX_FILE_GRACE_SECONDS,
    INDEX_FILE_QUIET_SECONDS,
)
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Delete, Put
from nacre.ports.vectors.packed_vectors import packed
from nacre.ports.vectors.vector_index import Candidates, Question
from tests.adapters.conftest import StillClock
from tests.adapters.vector_cases import EMB_ID, EVERY, ids, some_vector, unit
from tests.being.memory.indexed import Bench, Words, entry
from tests.being.patrol.worlds import Fuse, FusedTable, Stopped
from tests.scaffolding.index_files import files_of

BEING = "00000000-0000-4000-8000-0000000000aa"
WORDS = ["pearl", "shell", "sand", "sea", "boat", "tide"]


@dataclass
class Bucket:
    """Blobs in a folder, that count, may stop or fail, and call back in the middle."""

    blobs: FileBlobs
    written: set[str] = field(default_factory=set)
    fuse: Fuse = field(default_factory=Fuse)
    read: list[str] = field(default_factory=list)
    is_down: bool = False
    before_put: Callable[[], object] = lambda: None
    before_get: Callable[[], object] = lambda: None

    def put(self, name: str, data: bytes, *, until: datetime | None = None) -> None:
        before, self.before_put = self.before_put, lambda: None
        before()
        self._check()
        self.written.add(name)
        self.blobs.put(name, data, until=until)

    def get(self, name: str) -> bytes | None:
        before, self.before_get = self.before_get, lambda: None
        before()
        if self.is_down:
            raise UnavailableError("no blobs now")
        self.read.append(name)
        return self.blobs.get(name)

    def delete(self, name: str) -> None:
        self._check()
        self.blobs.delete(name)

    def delete_all(self, folder: str) -> None:
        self.blobs.delete_all(folder)

    def names(self) -> list[str]:
        """Return the names of all files."""
        return sorted(name for name in self.written if self.blobs.get(name) is not None)

    def ids(self) -> set[str]:
        """Return the ids of the points in all files."""
        files = [self.blobs.get(name) for name in self.names()]
        return {point.row.id for file in files if file for point in decoded(file)}

    def _check(self) -> None:
        self.fuse.burn()
        if self.is_down:
            raise UnavailableError("no blobs now")


class Shore:
    """A Being's items, its bucket, and processes that search and write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = StillClock()
        self.database = SqliteDatabase(":memory:")
        self.fuse = Fuse()
        self.plain = SqliteTable(self.database, now=self.clock)
        self.table = FusedTable(self.plain, self.fuse)
        self.bucket = Bucket(FileBlobs(folder, now=self.clock), fuse=self.fuse)
        self.files = IndexFiles(self.plain, clock=self.clock, rng=Random(1))
        self.started = 0
        IndexStates(self.plain).create(BEING, EMB_ID)
        self.index = self.process()

    def process(self, *, grace_seconds: float = 0) -> FileVectors:
        """Return the index as another process has it."""
        self.started += 1
        make = files_of(
            self.table, self.folder, self.clock,
            blobs=self.bucket, grace_seconds=grace_seconds, seed=str(self.started),
        )  # fmt: skip
        return make(EMB_ID)

    def put(self, *names: str, text: str = "pearl", vector: bytes | None = None) -> None:
        """Write points as every writer does: with the note in the same transaction."""
        writes = []
        for name in names:
            item = vector_item(
                IndexEntry(name, "node", text, "active", "c", ("2026-07-01",), ()), None
            )
            item = replace(item, vectors={EMB_ID: packed(vector or unit(1))})
            writes.append(Put(item.to_item(BEING)))
        self.plain.transact([*writes, *self.index.changes(BEING, names)])

    def remove(self, *names: str) -> None:
        writes = [Delete(keys.point(BEING, name)) for name in names]
        self.plain.transact([*writes, *self.index.changes(BEING, names)])

    def state(self) -> IndexFile:
        state = self.files.read(BEING)
        assert state is not None
        return state

    def close(self) -> None:
        self.database.close()


@pytest.fixture
def shore(tmp_path: Path) -> Iterator[Shore]:
    shore = Shore(tmp_path)
    yield shore
    shore.close()


def asked(index: FileVectors | ItemVectors, text: str = "pearl") -> Candidates:
    return index.search(BEING, Question(dense=unit(1), sparse=[text], where=EVERY, limit=500))


def found(index: FileVectors, text: str = "pearl") -> set[str]:
    return set(ids(asked(index, text).sparse))


# Finding


def test_a_write_is_found_at_once_before_the_file_and_beside_it(shore: Shore) -> None:
    other = shore.process()
    shore.put("a")
    assert found(other) == found(shore.index) == {"a"}
    assert shore.state().name is not None

    shore.put("b")
    assert found(other) == found(shore.index) == {"a", "b"}
    shore.put("a", text="shell")
    shore.remove("b")
    assert found(other) == found(shore.index) == set()
    assert found(other, "shell") == {"a"}


def test_random_writes_folds_and_searches_give_what_the_items_give(shore: Shore) -> None:
    rng = Random(11)
    processes = [shore.process() for _ in range(3)]
    exact = ItemVectors(shore.plain, EMB_ID)
    for _ in range(250):
        name = f"p{rng.randrange(40)}"
        match rng.randrange(6):
            case 0 | 1 | 2:
                text = " ".join(rng.choices(WORDS, k=rng.randrange(1, 6)))
                shore.put(name, text=text, vector=some_vector(rng))
            case 3:
                shore.remove(name)
            case 4:
                rng.choice(processes).renew(BEING)
            case _:
                expected, answer = asked(exact), asked(rng.choice(processes))
                assert ids(answer.dense) == ids(expected.dense)
                assert {hit.id: hit.score for hit in answer.sparse} == pytest.approx(
                    {hit.id: hit.score for hit in expected.sparse}, abs=3e-6
                )
                assert answer.rarity == pytest.approx(expected.rarity)
    first, second, third = (process.scan(BEING, after=None, limit=100) for process in processes)
    assert first == second == third == exact.scan(BEING, after=None, limit=100)


def test_all_memories_are_searched_not_only_the_newest(
    shore: Shore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.adapters.vectors.item_vectors.EXACT_ITEM_POINTS", 20)
    names = [f"p{number:03}" for number in range(90)]
    for first in range(0, 90, 30):
        shore.put(*names[first : first + 30])

    answer = asked(shore.index)

    assert (set(ids(answer.sparse)), answer.truncated) == (set(names), False)


def test_a_search_reads_the_item_and_nothing_else_while_nothing_changes(shore: Shore) -> None:
    shore.put(*(f"p{number}" for number in range(30)))
    asked(shore.index)
    shore.bucket.read.clear()
    shore.fuse.reads = shore.fuse.writes = 0

    for _ in range(5):
        asked(shore.index)

    assert (shore.bucket.read, shore.fuse.writes) == ([], 0)


def test_a_reader_that_knows_every_change_needs_no_new_file(shore: Shore) -> None:
    reader, late = shore.process(), shore.process()
    shore.put("a")
    assert found(reader) == found(late) == {"a"}
    shore.put("b")
    assert found(reader) == {"a", "b"}
    shore.index.renew(BEING)
    shore.bucket.read.clear()

    assert found(reader) == {"a", "b"}
    assert shore.bucket.read == []
    assert found(late) == {"a", "b"}
    assert shore.bucket.read == [shore.state().name]


def test_a_reader_whose_file_is_renewed_while_it_reads_takes_the_new_one(shore: Shore) -> None:
    shore.put("a")
    found(shore.index)
    shore.put("b")
    reader = shore.process()
    shore.bucket.before_get = lambda: shore.process().renew(BEING)

    assert found(reader) == {"a", "b"}


# Renewing


def test_writers_renew_the_file_after_some_changes(shore: Shore) -> None:
    shore.put("a")
    found(shore.index)
    first = shore.state().name
    shore.clock.move(INDEX_FILE_QUIET_SECONDS + 1)
    shore.put(*(f"p{number}" for number in range(INDEX_FILE_CHANGES - 1)))
    shore.index.settle(BEING)
    assert shore.state().name == first

    shore.put("z")
    shore.index.settle(BEING)

    assert shore.state().name not in (None, first)
    assert shore.state().tail == {}
    assert shore.bucket.names() == [shore.state().name]


def test_many_quick_changes_do_not_write_a_file_each(shore: Shore) -> None:
    shore.put("a")
    found(shore.index)
    first = shore.state().name
    names = [f"p{number}" for number in range(INDEX_FILE_BUSY_CHANGES)]
    for start in range(0, INDEX_FILE_BUSY_CHANGES, 40):
        assert shore.state().name == first
        shore.put(*names[start : start + 40])
        shore.index.settle(BEING)
    assert shore.state().name != first


def test_a_writer_that_has_more_to_write_renews_the_file_without_waiting(shore: Shore) -> None:
    shore.put("a")
    found(shore.index)
    first = shore.state().name
    shore.put(*(f"p{number}" for number in range(INDEX_FILE_CHANGES)))
    shore.index.settle(BEING)
    assert shore.state().name == first

    shore.index.settle(BEING, more_follow=True)

    assert shore.state().name not in (None, first)
    assert shore.state().tail == {}


def test_stopped_at_any_step_nothing_is_lost_and_no_file_stays_behind(shore: Shore) -> None:
    shore.put("a", "b")
    found(shore.index)
    step = 0
    while True:
        shore.put(f"n{step}")
        shore.fuse.writes, shore.fuse.stop_before = 0, step
        is_done = False
        with suppress(Stopped):
            shore.process().renew(BEING)
            is_done = True
        shore.fuse.stop_before = None
        expected = {"a", "b", *(f"n{number}" for number in range(step + 1))}
        assert found(shore.process()) == expected, step
        assert len(shore.bucket.names()) <= 2
        if is_done:
            break
        shore.clock.move(10_000)  # its claim counts as given up
        shore.put("b")
        assert shore.process().renew(BEING)
        assert shore.bucket.names() == [shore.state().name], step
        step += 1
    assert step >= 4
    assert shore.bucket.names() == [shore.state().name]


def test_what_is_written_while_a_file_is_written_stays_in_the_tail(shore: Shore) -> None:
    shore.put("a", "b")
    found(shore.index)
    shore.put("a", text="shell")

    def write() -> None:
        shore.put("a", text="sand")
        shore.put("c")

    shore.bucket.before_put = write

    assert shore.index.renew(BEING)

    assert set(shore.state().tail) == {"a", "c"}
    assert found(shore.process(), "sand") == {"a"}
    assert found(shore.process()) == {"b", "c"}


def test_of_two_that_renew_at_once_one_does(shore: Shore) -> None:
    shore.put("a")
    found(shore.index)
    shore.put("b")
    second: list[bool] = []
    shore.bucket.before_put = lambda: second.append(shore.process().renew(BEING))

    assert shore.index.renew(BEING)

    assert second == [False]
    assert shore.bucket.names() == [shore.state().name]


def test_one_whose_claim_was_taken_removes_what_it_wrote(shore: Shore) -> None:
    shore.put("a", "b")
    found(shore.index)
    shore.put("c")

    def erase() -> None:
        shore.plain.delete(keys.point(BEING, "a"))
        shore.process().delete(BEING, ["a"])

    shore.bucket.before_put = erase

    assert not shore.index.renew(BEING)
    assert shore.bucket.names() == [shore.state().name]
    assert shore.bucket.ids() == {"b", "c"}


# Erasing


def test_an_erased_point_leaves_the_file_and_every_older_one_at_once(shore: Shore) -> None:
    reader = shore.process()
    shore.put("a", "secret")
    assert found(reader) == {"a", "secret"}
    shore.plain.delete(keys.point(BEING, "secret"))

    shore.index.delete(BEING, ["secret"])

    assert shore.bucket.ids() == {"a"}
    assert len(shore.bucket.names()) == 1
    assert found(reader) == {"a"}


def test_erasing_fails_while_blobs_cannot_be_written_and_can_be_repeated(shore: Shore) -> None:
    shore.put("a", "secret")
    found(shore.index)
    shore.plain.delete(keys.point(BEING, "secret"))
    shore.bucket.is_down = True
    with pytest.raises(UnavailableError):
        shore.index.delete(BEING, ["secret"])
    shore.bucket.is_down = False

    shore.process().delete(BEING, ["secret"])

    assert shore.bucket.ids() == {"a"}


def test_a_reader_keeps_no_copy_of_an_older_file(shore: Shore) -> None:
    reader = shore.process()
    shore.put("a", "secret")
    found(shore.index)
    found(reader)
    [older] = reader.copies.folder().iterdir()
    shore.plain.delete(keys.point(BEING, "secret"))
    shore.index.delete(BEING, ["secret"])

    assert found(reader) == {"a"}

    assert not older.exists()


def test_copies_go_when_they_were_not_written_for_a_while() -> None:
    now = [1_000_000.0]
    copies = FileCopies(size=10**6, seconds=INDEX_COPY_SECONDS, clock=lambda: now[0])
    folder = copies.folder()
    copies.put("b/one", b"1")
    [path] = folder.iterdir()
    now[0] = path.stat().st_mtime + INDEX_COPY_SECONDS
    assert copies.get("b/one") == b"1"
    now[0] += 1
    copies.expire()
    assert list(folder.iterdir()) == []
    del copies
    assert not folder.exists()


def test_points_that_nobody_asks_for_leave_the_memory(
    shore: Shore, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    shore.put("a")
    found(shore.index)
    other = "00000000-0000-4000-8000-0000000000bb"
    question = Question(dense=unit(1), sparse=["pearl"], where=EVERY, limit=5)
    shore.index.search(other, question)
    assert set(shore.index.beings_in_memory) == {BEING, other}

    now[0] += INDEX_COPY_SECONDS + 1
    shore.index.search(other, question)
    assert set(shore.index.beings_in_memory) == {other}

    monkeypatch.setattr(file_vectors, "INDEX_POINTS_IN_MEMORY", 0)
    found(shore.index)
    found(shore.index)
    assert set(shore.index.beings_in_memory) == {BEING}


def test_an_erased_being_leaves_no_file_and_no_item(shore: Shore) -> None:
    shore.put("a")
    found(shore.index)
    shore.plain.delete(keys.index_state(BEING))
    shore.plain.delete(keys.point(BEING, "a"))

    shore.index.erase(BEING)

    assert shore.bucket.names() == []
    assert found(shore.index) == set()
    assert shore.plain.get(keys.index_file(BEING)) is None


# Without blobs


def test_without_blobs_the_items_answer_and_later_a_file_again(
    shore: Shore, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(file_vectors, "INDEX_FILE_LOST_CHANGES", 200)
    shore.put("a")
    found(shore.index)
    shore.bucket.is_down = True
    shore.put("b")
    reader = shore.process()
    assert found(reader) == found(shore.index) == {"a", "b"}
    for start in range(0, 300, 90):
        shore.put(*(f"p{number}" for number in range(start, start + 90)))
        shore.index.settle(BEING)
    assert shore.state().name is None
    assert "p7" in found(reader)

    shore.bucket.is_down = False
    now[0] += 1000
    assert len(found(reader)) == 362
    assert shore.state().name is not None


def test_a_file_is_renewed_before_its_end_and_written_again_after_it(shore: Shore) -> None:
    shore.put("a")
    found(shore.index)
    first = shore.state().name
    shore.clock.move((INDEX_FILE_DAYS + 1) * 86_400)
    assert found(shore.index) == {"a"}
    assert shore.state().name != first

    shore.clock.move(30 * 86_400)
    assert found(shore.process()) == {"a"}
    assert shore.bucket.names() == [shore.state().name]


def test_a_damaged_file_is_replaced(shore: Shore) -> None:
    shore.put("a")
    found(shore.index)
    name = shore.state().name
    assert name is not None
    shore.bucket.blobs.put(name, b"nacre-points-1\n\0????")

    assert found(shore.process()) == {"a"}
    assert shore.state().name != name


# Between versions and settings


def test_no_file_is_written_while_older_calls_may_still_run(shore: Shore) -> None:
    index = shore.process(grace_seconds=INDEX_FILE_GRACE_SECONDS)
    shore.put("a")
    assert found(index) == {"a"}
    shore.clock.move(INDEX_FILE_GRACE_SECONDS - 1)
    assert found(index) == {"a"}
    assert shore.bucket.names() == []

    shore.clock.move(1)
    assert found(index) == {"a"}
    assert len(shore.bucket.names()) == 1


def test_an_older_version_refuses_a_being_with_a_file_and_no_other(shore: Shore) -> None:
    older = ItemSchema("search index", 1)
    shore.put("a")
    before = shore.plain.get(keys.index_state(BEING))
    assert before is not None
    older.read(before)
    found(shore.index)

    filed = shore.plain.get(keys.index_state(BEING))
    assert filed is not None
    with pytest.raises(NewerSchemaError, match=re.escape("search index")):
        older.read(filed)
    assert INDEX.read(filed)["active"] == EMB_ID


def test_a_writer_without_files_gives_the_file_up_and_it_comes_back_whole(shore: Shore) -> None:
    opened = {"files": True}
    make = files_of(shore.plain, shore.folder, shore.clock, blobs=shore.bucket)
    items = ItemVectors
    bench = Bench(
        shore.plain,
        lambda emb_id: make(emb_id) if opened["files"] else items(shore.plain, emb_id),
        shore.clock,
    )
    bench.write(entry("a", "pearl sea"))
    assert bench.found("pearl")[1] == ["a"]
    assert len(shore.bucket.names()) == 1

    opened["files"] = False
    without = Bench(shore.plain, lambda emb_id: items(shore.plain, emb_id), shore.clock)
    without.being_id = bench.being_id
    without.write(entry("b", "pearl sand"))
    assert without.found("pearl")[1] == ["a", "b"]
    state = IndexStates(shore.plain).get(bench.being_id)
    assert state is not None
    assert not state.filed

    assert set(bench.found("pearl")[1]) == {"a", "b"}
    assert Words().emb_id == state.active

"""The index follows the items, whatever fails in between: on the laptop, on AWS with Qdrant."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.qdrant.vectors import QdrantVectors
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.adapters.vectors.item_vectors import ItemVectors
from nacre.being.memory.index import maintenance as upkeep_module
from nacre.being.memory.index.index_state import LEXICAL, IndexState
from nacre.being.memory.index.maintenance import (
    Differences,
    IndexMaintenance,
    ReindexResult,
    RepairResult,
)
from nacre.being.memory.index.vector_items import VECTOR_OF, pages
from nacre.being.memory.model import keys
from nacre.being.memory.transfer.deferred_index import DeferredIndex
from nacre.core.limits import INDEX_GRACE_SECONDS, INDEX_KEEP_SECONDS, INDEX_RETRY_SECONDS
from nacre.ports.items.table import Change, Delete, Put
from nacre.ports.vectors.vector_index import dimension_of
from tests.adapters.conftest import StillClock
from tests.being.memory.indexed import Bench, Words, entry
from tests.scaffolding.aws_stack import Stack
from tests.scaffolding.index_files import files_of

DERIVED = ["laptop", "aws"]


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture(params=[*DERIVED, "aws-with-files", "aws-without-qdrant"])
def bench(request: pytest.FixtureRequest, clock: StillClock, tmp_path: Path) -> Iterator[Bench]:
    if request.param == "laptop":
        database = SqliteDatabase(":memory:")
        table = SqliteTable(database, now=clock)
        yield Bench(table, lambda emb_id: LocalVectors(database, emb_id), clock)
        database.close()
        return
    stack: Stack = request.getfixturevalue("stack")
    items = DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=clock)
    if request.param == "aws":
        from qdrant_client import QdrantClient

        client = QdrantClient(":memory:")
        yield Bench(items, lambda emb_id: QdrantVectors(client, emb_id), clock)
        client.close()
    elif request.param == "aws-with-files":
        yield Bench(items, files_of(items, tmp_path, clock), clock)
    else:
        yield Bench(items, lambda emb_id: ItemVectors(items, emb_id), clock)
    stack.clear("DataTable")


derived = pytest.mark.parametrize("bench", DERIVED, indirect=True)
laptop = pytest.mark.parametrize("bench", ["laptop"], indirect=True)


# Writing


def test_what_is_written_is_found_at_once_and_leaves_no_mark(bench: Bench) -> None:
    bench.write(entry("a", "pearl sea"), entry("z", "shell sand"))

    assert bench.found("pearl") == (["a"], ["a"])
    assert bench.marks() == []
    assert bench.failed == []


def test_only_an_index_that_is_told_after_the_transaction_needs_a_mark(bench: Bench) -> None:
    bench.write(entry("a", "pearl"))

    writes = bench.indexing.prepare(bench.being_id, [entry("b", "shell")], ["a"]).writes

    marks = [write for write in writes if isinstance(write, Put) and "ids" in write.item]
    is_told_after = bench.active.is_derived and not bench.active.is_told_in_transaction
    assert len(marks) == int(is_told_after)


def test_what_is_removed_is_no_longer_found(bench: Bench) -> None:
    bench.write(entry("a", "pearl"), entry("z", "pearl"))

    bench.remove("a", "unknown")

    assert bench.found("pearl") == (["z"], ["z"])
    assert bench.marks() == []


def test_a_new_state_needs_no_new_vector(bench: Bench) -> None:
    bench.write(entry("a", "pearl"))
    bench.write(entry("a", "pearl", state="dead"))

    assert bench.words.texts == ["pearl"]
    assert bench.found("pearl") == (["a"], ["a"])
    [[item]] = pages(bench.table, bench.being_id)
    assert (item.state, item.text) == ("dead", "pearl")


def test_a_new_text_is_found_by_it_alone(bench: Bench) -> None:
    bench.write(entry("a", "pearl"))
    bench.write(entry("a", "shell"))

    assert bench.found("pearl") == ([], [])
    assert bench.found("shell") == (["a"], ["a"])


def test_dates_that_are_none_are_left_out(bench: Bench) -> None:
    bench.write(entry("a", "pearl", days=("2026-07-01", "last summer")))

    [[item]] = pages(bench.table, bench.being_id)
    assert item.days == ("2026-07-01",)


@derived
def test_a_write_makes_one_write_more_than_it_has_entries(bench: Bench) -> None:
    entries = [entry(f"p{n}", "pearl") for n in range(5)]

    assert len(bench.indexing.prepare(bench.being_id, entries).writes) == 6
    assert len(bench.indexing.prepare(bench.being_id, [], ["a", "b"]).writes) == 3
    assert len(bench.indexing.prepare(bench.being_id, entries, ["a", "b"]).writes) == 8


def test_a_being_never_meets_anothers_points(bench: Bench) -> None:
    bench.write(entry("a", "pearl"))
    mine, bench.being_id = bench.being_id, "00000000-0000-4000-8000-000000000001"

    assert bench.found("pearl") == ([], [])
    bench.remove("a")
    bench.upkeep.erase(bench.being_id)
    bench.being_id = mine
    assert bench.found("pearl") == (["a"], ["a"])


# What fails


@derived
def test_a_process_that_dies_after_the_commit_leaves_a_mark_for_the_repair(bench: Bench) -> None:
    bench.write(entry("a", "pearl"), entry("z", "shell"), apply=False)
    assert bench.found("pearl") == ([], [])
    assert bench.marks() == [("a", "z")]

    assert bench.upkeep.repair(bench.being_id) == RepairResult(points=2, remaining=0)

    assert bench.found("pearl") == (["a"], ["a"])
    assert bench.marks() == []


@derived
def test_a_removal_that_was_not_told_is_repaired_too(bench: Bench) -> None:
    bench.write(entry("a", "pearl"))
    bench.remove("a", apply=False)

    bench.upkeep.repair(bench.being_id)

    assert bench.found("pearl") == ([], [])
    assert bench.marks() == []


@derived
def test_an_index_that_is_down_holds_no_write_up(bench: Bench) -> None:
    bench.active.is_down = True
    bench.write(entry("a", "pearl"))
    assert bench.marks() == [("a",)]
    assert bench.failed == [bench.being_id]

    bench.active.is_down = False
    bench.upkeep.repair(bench.being_id)
    assert bench.found("pearl") == (["a"], ["a"])


def test_a_model_that_is_down_leaves_words_until_it_is_back(
    bench: Bench, clock: StillClock
) -> None:
    bench.words.is_down = True
    bench.write(entry("a", "pearl"))
    bench.words.is_down = False
    assert bench.found("pearl") == ([], ["a"])
    assert bench.marks() == [("a",)]
    assert bench.upkeep.repair(bench.being_id) == RepairResult(points=1, remaining=1)

    clock.move(INDEX_RETRY_SECONDS)
    assert bench.upkeep.repair(bench.being_id) == RepairResult(points=1, remaining=0)

    assert bench.found("pearl") == (["a"], ["a"])
    assert bench.marks() == []


@laptop
def test_a_model_that_is_down_is_not_asked_by_every_write(bench: Bench, clock: StillClock) -> None:
    bench.words.is_down = True
    for number in range(3):
        bench.write(entry(f"p{number}", f"pearl {number}"))
    assert bench.words.asked == ["pearl 0"]

    clock.move(INDEX_RETRY_SECONDS)
    bench.write(entry("p3", "pearl 3"))
    assert bench.words.asked == ["pearl 0", "pearl 3"]


@derived
def test_a_write_picks_up_what_an_earlier_one_left(bench: Bench, clock: StillClock) -> None:
    bench.write(entry("left", "pearl"), apply=False)
    bench.write(entry("a", "shell"))
    assert bench.marks() == [("left",)]  # its writer may still be at it

    clock.move(INDEX_GRACE_SECONDS + 1)
    bench.write(entry("b", "shell"))

    assert bench.marks() == []
    assert bench.found("pearl") == (["left"], ["left"])


@derived
def test_of_two_writers_the_later_state_stays_whoever_tells_the_index_last(bench: Bench) -> None:
    bench.write(entry("a", "pearl"))
    slow = bench.process(bench.words)
    # The second writer commits and tells the index while the first is about to.
    bench.active.before_upsert = lambda: bench.write(entry("a", "shell"), by=slow)

    bench.write(entry("a", "sand"))

    [[item]] = pages(bench.table, bench.being_id)
    assert item.text == "shell"
    assert bench.found("shell") == (["a"], ["a"])
    assert bench.found("sand") == ([], [])
    assert bench.upkeep.check(bench.being_id).is_in_sync


@laptop
def test_many_threads_leave_the_index_as_the_items_are(bench: Bench) -> None:
    def work(number: int) -> None:
        for each in range(15):
            bench.write(entry(f"p{each % 5}", f"pearl {number} {each}"))
            if each % 4 == number % 4:
                bench.remove(f"p{each % 5}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert bench.upkeep.check(bench.being_id).is_in_sync
    assert bench.marks() == []


# Checking and mending


def test_an_index_that_nobody_wrote_to_is_sound(bench: Bench) -> None:
    assert bench.upkeep.check(bench.being_id) == Differences(bench.words.emb_id, 0)
    assert bench.upkeep.check_and_repair(bench.being_id) == Differences(bench.words.emb_id, 0)
    assert bench.upkeep.repair(bench.being_id) == RepairResult(0, 0)
    assert bench.upkeep.reindex(bench.being_id) is None


def test_what_an_import_left_is_checked_repaired_and_moved_to_another_embedding(
    bench: Bench,
) -> None:
    importing = DeferredIndex(bench.table, clock=bench.clock, rng=bench.rng)
    bench.table.transact(
        importing.prepare(bench.being_id, [entry("a", "pearl"), entry("z", "sand")]).writes
    )
    unfinished = bench.upkeep.check(bench.being_id)

    bench.upkeep.repair(bench.being_id)

    assert (unfinished.points, unfinished.without_vector) == (2, 2)
    assert bench.upkeep.check(bench.being_id) == Differences(bench.words.emb_id, 2)
    changed = bench.process(Words("others", 8), bench.words)
    assert changed.active_index(bench.being_id).embedder is bench.words
    assert IndexMaintenance(changed).reindex(bench.being_id) == ReindexResult(
        "test:others:8:1", bench.words.emb_id, 2
    )
    assert bench.found("pearl", by=changed)[1] == ["a"]


def test_a_check_of_what_an_import_left_writes_nothing(bench: Bench) -> None:
    importing = DeferredIndex(bench.table, clock=bench.clock, rng=bench.rng)
    bench.table.transact(importing.prepare(bench.being_id, [entry("a", "pearl")]).writes)

    assert bench.upkeep.check(bench.being_id).without_vector == 1

    assert bench.indexing.states.get(bench.being_id) is None
    assert bench.upkeep.check_and_repair(bench.being_id).points == 1
    assert bench.upkeep.check(bench.being_id).is_in_sync


@derived
def test_what_an_index_lost_kept_or_mixed_up_is_found_and_mended(bench: Bench) -> None:
    for number in range(6):
        bench.write(entry(f"p{number}", f"pearl {number}"))
    [items] = pages(bench.table, bench.being_id)
    bench.active.delete(bench.being_id, ["p1"])
    stale = items[2].point("test:words:16:1")
    bench.active.upsert(bench.being_id, [replace(stale, text_sha="old")])
    bench.table.transact([Delete(keys.point(bench.being_id, "p3"))])

    found = bench.upkeep.check(bench.being_id)

    assert (found.points, found.missing, found.stale, found.orphaned) == (
        5,
        ("p1",),
        ("p2",),
        ("p3",),
    )
    assert not found.is_in_sync
    assert bench.upkeep.check_and_repair(bench.being_id).ids == ("p1", "p2", "p3")
    assert bench.upkeep.check(bench.being_id) == Differences(bench.words.emb_id, 5)


@derived
def test_an_index_is_made_again_from_the_items_without_the_model(bench: Bench) -> None:
    for number in range(6):
        bench.write(entry(f"p{number}", f"pearl {number}"))
    before = bench.found("pearl 3")
    bench.active.erase(bench.being_id)
    bench.words.is_down = True

    bench.upkeep.check_and_repair(bench.being_id)

    bench.words.is_down = False
    assert bench.found("pearl 3") == before
    assert bench.words.texts == [f"pearl {number}" for number in range(6)]


def test_vectors_that_lack_are_counted_and_made(bench: Bench, clock: StillClock) -> None:
    bench.words.is_down = True
    bench.write(entry("a", "pearl"), entry("z", "shell"))
    bench.words.is_down = False
    clock.move(INDEX_RETRY_SECONDS)

    assert bench.upkeep.check(bench.being_id).without_vector == 2
    bench.upkeep.check_and_repair(bench.being_id)

    assert bench.upkeep.check(bench.being_id).is_in_sync
    assert bench.found("pearl") == (["a"], ["a"])


def test_an_erased_being_leaves_nothing(bench: Bench) -> None:
    bench.write(entry("a", "pearl"), entry("z", "shell"))
    bench.write(entry("late", "sand"), apply=False)

    bench.upkeep.erase(bench.being_id)

    assert bench.found("pearl") == ([], [])
    assert bench.active.scan(bench.being_id, after=None, limit=5) == []
    for partition in ("", "#V", "#X"):
        assert bench.table.query(f"B#{bench.being_id}{partition}").items == ()


# Another embedding


def test_another_embedding_is_made_while_the_old_one_answers(
    bench: Bench, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep_module, "_AT_ONCE", 5)
    bench.write(*[entry(f"p{number:03}", f"pearl {number}") for number in range(13)])
    new = Words("others", 8)
    process = bench.process(new, bench.words)
    upkeep = IndexMaintenance(process)
    steps: list[tuple[int, int]] = []

    def step(done: int, total: int) -> None:
        steps.append((done, total))
        # Meanwhile both answer with the old one, and what is written goes to both.
        reading = process.active_index(bench.being_id)
        assert reading.embedder is bench.words
        assert reading.remark is not None
        assert bench.found("pearl 7")[0]
        if len(steps) == 1:
            bench.write(entry("p000", "shell"), entry("pnew", "shell"), by=process)
            bench.remove("p012")

    rebuilt = upkeep.reindex(bench.being_id, step)

    assert rebuilt is not None
    assert (rebuilt.active, rebuilt.before) == (new.emb_id, bench.words.emb_id)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert process.active_index(bench.being_id).embedder is new
    assert process.active_index(bench.being_id).remark is None
    assert set(bench.found("shell", by=process)[1]) == {"p000", "pnew"}
    assert upkeep.check(bench.being_id) == Differences(new.emb_id, 13)

    # The old one stays for a day and then goes, with its vectors.
    clock.move(INDEX_KEEP_SECONDS + 1)
    upkeep.repair(bench.being_id)
    if bench.active.is_derived and not bench.active.is_told_in_transaction:
        assert bench.active.scan(bench.being_id, after=None, limit=5) == []
    items = [item for page in pages(bench.table, bench.being_id) for item in page]
    assert {emb_id for item in items for emb_id in item.vectors} == {new.emb_id}


@laptop
def test_an_interrupted_change_goes_on_where_it_was(bench: Bench) -> None:
    for number in range(200):
        bench.write(entry(f"p{number:03}", f"pearl {number}"))
    new = Words("others", 8)
    upkeep = IndexMaintenance(bench.process(new, bench.words))

    def die(done: int, _total: int) -> None:
        if done >= 64:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        upkeep.reindex(bench.being_id, die)
    assert len(new.texts) == 64
    again = IndexMaintenance(bench.process(new, bench.words))

    assert again.reindex(bench.being_id) == ReindexResult(new.emb_id, bench.words.emb_id, 200)
    assert len(new.texts) == 200
    assert again.reindex(bench.being_id) is None


@laptop
def test_a_model_that_fails_on_the_way_leaves_the_old_one_answering(
    bench: Bench, clock: StillClock
) -> None:
    for number in range(100):
        bench.write(entry(f"p{number:03}", f"pearl {number}"))
    new = Words("others", 8, is_down=True)
    upkeep = IndexMaintenance(bench.process(new, bench.words))

    with pytest.raises(Exception, match="goes on after 0 memories"):
        upkeep.reindex(bench.being_id)
    assert bench.found("pearl 7")[0]

    new.is_down = False
    clock.move(INDEX_RETRY_SECONDS)
    assert upkeep.reindex(bench.being_id) is not None


@laptop
def test_settings_that_change_back_give_the_unfinished_one_up(bench: Bench) -> None:
    for number in range(100):
        bench.write(entry(f"p{number:03}", f"pearl {number}"))
    new = Words("others", 8)
    process = bench.process(new, bench.words)

    def die(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        IndexMaintenance(process).reindex(bench.being_id, die)

    assert bench.upkeep.reindex(bench.being_id) is None
    assert bench.indexing.states.get(bench.being_id) == IndexState(
        bench.words.emb_id, former=(new.emb_id,)
    )
    bench.upkeep.repair(bench.being_id)
    assert bench.index(new.emb_id).scan(bench.being_id, after=None, limit=5) == []


@laptop
def test_without_the_old_model_the_old_index_answers_by_words(bench: Bench) -> None:
    bench.write(entry("a", "pearl"))
    process = bench.process(Words("others", 8))

    reading = process.active_index(bench.being_id)

    assert (reading.index.emb_id, reading.embedder) == (bench.words.emb_id, None)
    assert reading.remark == (
        "the search still works by words only, because the setting has changed since;"
        " run 'nacre reindex'"
    )
    bench.write(entry("z", "pearl"), by=process)
    assert bench.found("pearl", by=process) == ([], ["a", "z"])
    assert bench.marks() == []


def test_words_only_and_back(bench: Bench) -> None:
    words_only = bench.process(None)
    bench.write(entry("a", "pearl"), by=words_only)
    assert words_only.active_index(bench.being_id).index.emb_id == LEXICAL
    assert bench.found("pearl", by=words_only) == ([], ["a"])

    assert bench.upkeep.reindex(bench.being_id) == ReindexResult(bench.words.emb_id, LEXICAL, 1)
    assert bench.found("pearl") == (["a"], ["a"])
    assert IndexMaintenance(words_only).reindex(bench.being_id) == ReindexResult(
        LEXICAL, bench.words.emb_id, 1
    )
    assert bench.found("pearl", by=words_only) == ([], ["a"])


@derived
def test_a_writer_that_missed_the_change_is_caught_by_its_mark(bench: Bench) -> None:
    bench.write(entry("a", "pearl"))
    new = Words("others", 8)
    process = bench.process(new, bench.words)
    late = process.prepare(bench.being_id, [entry("late", "pearl")])  # before the change began

    def commit(_done: int, _total: int) -> None:
        bench.table.transact(late.writes)

    IndexMaintenance(process).reindex(bench.being_id, commit)
    late.apply()

    assert set(bench.found("pearl", by=process)[0]) == {"a", "late"}
    assert bench.upkeep.check(bench.being_id).emb_id == new.emb_id


@laptop
def test_the_sweep_finds_beings_whose_marks_were_left(bench: Bench, clock: StillClock) -> None:
    bench.write(entry("a", "pearl"))
    bench.write(entry("b", "pearl"), apply=False)
    assert list(bench.indexing.marks.beings()) == []

    clock.move(INDEX_GRACE_SECONDS + 1)

    assert list(bench.indexing.marks.beings()) == [bench.being_id]


def test_an_item_has_a_byte_for_each_number_of_its_vectors(bench: Bench) -> None:
    bench.write(entry("a", "pearl"))

    stored = bench.table.get(keys.point(bench.being_id, "a"))

    assert stored is not None
    [vector] = [value for name, value in stored.items() if name.startswith(VECTOR_OF)]
    assert isinstance(vector, bytes)
    assert len(vector) == dimension_of(bench.indexing.configured)


@laptop
def test_a_newer_item_is_refused(bench: Bench) -> None:
    bench.write(entry("a", "pearl"))
    bench.table.update(keys.point(bench.being_id, "a"), Change(set={"schema": 4}))

    with pytest.raises(Exception, match="newer Nacre"):
        bench.upkeep.check(bench.being_id)

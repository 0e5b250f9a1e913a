"""Exports and imports: the same state wherever a Being goes."""

import gzip
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.erase.erase_memories import MemoryEraser
from nacre.being.memory.model import keys
from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.memory.model.records import attributes_of
from nacre.being.memory.model.types import Node, node_id_of
from nacre.being.memory.model.wordings import earlier_versions
from nacre.being.memory.store.event_nodes import nodes_of_events
from nacre.being.memory.store.recall_log import counted_nodes
from nacre.being.memory.store.targets import TARGETS
from nacre.being.memory.transfer.export_file import ExportFile, save
from nacre.being.memory.transfer.exporter import Exporter
from nacre.being.memory.transfer.portable_records import KINDS, decode
from nacre.being.orders.sessions.session import Turn
from nacre.being.orders.sessions.store import SessionStore
from nacre.core.errors import InvalidInputError, UnavailableError
from nacre.jobs.lease import Leases
from nacre.ports.items.table import Change, Item, Key, Range, Table
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, a_node, keeper, queue_of, scene_draft
from tests.being.memory.minds import CountingTable
from tests.being.memory.moving import SERVERS, exported, fill, imported, state_of
from tests.scaffolding.aws_stack import Stack


@pytest.fixture(params=["sqlite", "dynamodb"])
def other(request: pytest.FixtureRequest, clock: StillClock) -> Iterator[Keeper]:
    """Another store, with an empty Being in it."""
    database = SqliteDatabase(":memory:")
    queue = queue_of(database, clock)
    if request.param == "dynamodb":
        stack: Stack = request.getfixturevalue("stack")
        table: Table = DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=clock)
        yield keeper(table, queue, clock, seed=2)
        stack.clear("DataTable")
    else:
        yield keeper(SqliteTable(database, now=clock), queue, clock, seed=2)
    database.close()


@pytest.fixture
def full(laptop: Keeper) -> Keeper:
    """A Being on SQLite that keeps one of everything."""
    fill(laptop)
    return laptop


def items(table: Table, being_id: str) -> list[Item]:
    """Every item of a Being but marks, vectors and names, with its id left out.

    Recalls are counted in their nodes, as in an export.
    """
    home = keys.home(being_id)
    found: list[Item] = []
    for partition in ("", "#T", "#S", "#N", "#E", "#C", "#H", "#H#2026-07", "#R", "#M"):
        found += table.query(home + partition, keys=Range()).items
    counted = counted_nodes(table, being_id, now="9999")
    text = json.dumps(
        [
            counted[str(each["sk"])].to_item(being_id) if each["sk"] in counted else each
            for each in found
            if each["sk"] not in ("META", "RECALLS")
            and not str(each["sk"]).startswith(("INDEX", "MK#"))
        ],
        sort_keys=True,
    )
    return list(json.loads(text.replace(being_id, "BEING")))


def test_every_kind_is_in_an_export_of_everything(full: Keeper, clock: StillClock) -> None:
    _, summary = exported(full.table, full.beings, full.id, clock)

    assert set(summary.counts) == set(KINDS)


def test_every_prefix_of_the_home_partition_is_carried() -> None:
    prefixes = {
        value for name, value in vars(keys).items() if name.isupper() and isinstance(value, str)
    }

    assert prefixes == {kind.prefix for kind in KINDS.values() if kind.prefix}


def test_an_import_into_an_empty_being_gives_the_same_state(
    full: Keeper, other: Keeper, clock: StillClock
) -> None:
    content, summary = exported(full.table, full.beings, full.id, clock)

    outcome = imported(other.table, other.id, content, clock)

    assert outcome.new == summary.counts
    assert (outcome.same, outcome.kept, outcome.no_room) == ({}, {}, {})
    assert summary.state == state_of(full.table, full.id) == state_of(other.table, other.id)
    before, after = items(full.table, full.id), items(other.table, other.id)
    for cluster in (each for each in after if str(each["pk"]).endswith("#C")):
        assert cluster.pop("gsi3pk") == "B#BEING#DIRTY"  # its vector did not come along
        assert cluster.pop("gsi3sk") == cluster["sk"]
        assert cluster.pop("dirty") is True
    for cluster in (each for each in before if str(each["pk"]).endswith("#C")):
        assert cluster.pop("dirty") in (True, False)
        cluster.pop("gsi3pk", None)
        cluster.pop("gsi3sk", None)
    assert after == before
    for name in ("clock", "pending_scenes", "unread", "n_relations", "n_notes", "n_knowledge"):
        assert other.meta(name) == full.meta(name), name
    assert other.meta("gsi1pk") == keys.work(other.id)


def test_the_name_of_its_orders_goes_with_a_being_and_its_sessions_stay(
    laptop: Keeper, other: Keeper, clock: StillClock
) -> None:
    """A session belongs to a token or a client of one server, and nobody elsewhere could go on."""
    laptop.beings.name_orders(laptop.id, "Clawd bot")
    sessions = SessionStore(
        laptop.table, Leases(laptop.table, now=clock, duration=timedelta(minutes=1)), clock=clock
    )
    turn = Turn(turn_id="1", at="2026-07-28T00:00:00.000Z", message="A secret?", answer="No.")
    sessions.add(laptop.id, "a" * 64, turn, caller="a client", marker_id=None)
    content, summary = exported(laptop.table, laptop.beings, laptop.id, clock)

    imported(other.table, other.id, content, clock)

    assert other.beings.order_name(other.id) == "Clawd bot"
    assert summary.state == state_of(other.table, other.id)
    assert b"A secret?" not in content
    assert not other.table.query(keys.sessions(other.id)).items


def test_a_round_trip_over_dynamodb_ends_where_it_began(
    full: Keeper, stack: Stack, clock: StillClock
) -> None:
    cloud = keeper(
        DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=clock),
        full.queue,
        clock,
        seed=3,
    )
    there, _ = exported(full.table, full.beings, full.id, clock)
    imported(cloud.table, cloud.id, there, clock)
    back, summary = exported(cloud.table, cloud.beings, cloud.id, clock)
    home = full.another("Home again")

    imported(full.table, home, back, clock)

    assert state_of(full.table, home) == summary.state == state_of(full.table, full.id)
    stack.clear("DataTable")


def test_the_same_again_changes_nothing(full: Keeper, laptop: Keeper, clock: StillClock) -> None:
    content, summary = exported(full.table, full.beings, full.id, clock)
    target = laptop.another("Copy")
    imported(laptop.table, target, content, clock)
    meta = laptop.table.get(keys.meta(target))

    again = imported(laptop.table, target, content, clock)

    assert (again.new, again.kept, again.same) == ({}, {}, summary.counts)
    assert laptop.table.get(keys.meta(target)) == meta


def test_what_is_there_and_says_something_else_stays_and_is_named(
    full: Keeper, clock: StillClock
) -> None:
    content, _ = exported(full.table, full.beings, full.id, clock)
    entries = full.memory.entries
    entries.update(full.id, TARGETS["preferences"], "Key 'one' \"€\"", "changed since")

    outcome = imported(full.table, full.id, content, clock)

    assert outcome.kept == {"preferences": 1}
    assert outcome.kept_keys == ["preferences Key 'one' \"€\""]
    entry = entries.get(full.id, TARGETS["preferences"], "Key 'one' \"€\"")
    assert entry is not None
    assert entry.text == "changed since"


def test_a_dry_run_says_the_same_and_writes_nothing(full: Keeper, clock: StillClock) -> None:
    content, summary = exported(full.table, full.beings, full.id, clock)
    target = full.another("Copy")
    counted = CountingTable(full.table)

    outcome = imported(counted, target, content, clock, is_dry=True)

    assert (outcome.new, counted.writes) == (summary.counts, 0)


def test_memories_keep_their_age_on_the_clock_of_another_being(
    full: Keeper, clock: StillClock
) -> None:
    content, _ = exported(full.table, full.beings, full.id, clock)
    target = full.another("Older")
    full.table.update(keys.meta(target), Change(set={"clock": 100}))

    imported(full.table, target, content, clock)

    node_id = a_node(6).node_id
    before, after = full.memory.nodes.get(full.id, node_id), full.memory.nodes.get(target, node_id)
    assert before is not None
    assert after is not None
    assert (before.clock0, before.due) == (6, 200)
    assert (after.clock0, after.due) == (6 + 59, 200 + 59)


def test_a_client_that_sends_its_history_again_is_recognised_by_the_copy(
    full: Keeper, clock: StillClock
) -> None:
    said = [ChatMessage("user", "hello"), ChatMessage("assistant", "hi 🌊")]
    content, _ = exported(full.table, full.beings, full.id, clock)
    target = full.another("Copy")
    imported(full.table, target, content, clock)

    added = full.memory.history.add(target, said)

    assert (added.stored, added.known) == (0, 2)


class Breaking(CountingTable):
    """A store that stops after so many transactions."""

    left = 3

    def transact(self, writes: Any, *, token: str | None = None) -> None:
        if self.left == 0:
            raise UnavailableError("gone")
        self.left -= 1
        super().transact(writes, token=token)


def test_an_import_that_broke_off_goes_on_when_it_is_repeated(
    full: Keeper, other: Keeper, clock: StillClock
) -> None:
    full.memory.nodes.add(full.id, [a_node(number) for number in range(100, 145)])
    full.memory.nodes.add(full.id, [a_node(number) for number in range(145, 190)])
    full.memory.nodes.add(full.id, [a_node(number) for number in range(190, 235)])
    content, summary = exported(full.table, full.beings, full.id, clock)
    with pytest.raises(UnavailableError):
        imported(Breaking(other.table), other.id, content, clock)
    assert state_of(other.table, other.id) != summary.state

    outcome = imported(other.table, other.id, content, clock)

    assert outcome.same.total() > 0
    assert outcome.kept == {}
    assert state_of(other.table, other.id) == summary.state
    assert other.meta("pending_scenes") == full.meta("pending_scenes")


def test_more_than_there_may_be_is_refused_before_anything_is_written(
    full: Keeper, clock: StillClock
) -> None:
    from random import Random

    from nacre.being.memory.transfer.deferred_index import DeferredIndex
    from nacre.being.memory.transfer.importer import Importer

    content, _ = exported(full.table, full.beings, full.id, clock)
    target = full.another("Full")
    full.table.update(keys.meta(target), Change(set={"n_notes": 499}))
    counted = CountingTable(full.table)
    imports = Importer(counted, DeferredIndex(counted, clock=clock, rng=Random(1)))

    with pytest.raises(InvalidInputError, match="at most 500 notes, and 1 of the file"):
        imports.check_room(target, ExportFile(io.BytesIO(content)).records())

    assert counted.writes == 0


# Files


def test_the_first_line_says_what_the_file_is_and_the_last_proves_it(
    full: Keeper, clock: StillClock
) -> None:
    content, summary = exported(full.table, full.beings, full.id, clock)
    lines = [json.loads(line) for line in content.splitlines()]

    assert lines[0]["type"] == "nacre-export"
    assert (lines[0]["format"], lines[0]["being"]["name"]) == (1, "Pearl")
    assert lines[0]["counts"] == summary.counts
    assert sum(summary.counts.values()) == len(lines) - 2
    assert lines[-1] == {"type": "end", "state": summary.state, "sha256": lines[-1]["sha256"]}
    assert [line["type"] for line in lines[1:-1]] == [
        kind for kind in KINDS for _ in range(summary.counts[kind])
    ]


def test_two_exports_of_one_state_differ_in_nothing(full: Keeper, clock: StillClock) -> None:
    first, _ = exported(full.table, full.beings, full.id, clock)
    second, _ = exported(full.table, full.beings, full.id, clock)

    assert first == second


def test_what_is_local_or_secret_is_not_in_the_file(full: Keeper, clock: StillClock) -> None:
    full.table.put({"pk": keys.home(full.id), "sk": "SECRET#LLM", "schema": 1, "key": "sk-hidden"})
    full.table.put({"pk": keys.home(full.id), "sk": "LOCK#PATROL", "schema": 1, "until": 7_777_777})

    content, _ = exported(full.table, full.beings, full.id, clock)

    assert b"sk-hidden" not in content
    assert b"7777777" not in content
    assert b"queued_at" not in content
    assert content.count(full.id.encode()) == 1  # in the header


def test_a_packed_file_is_read_as_it_is(full: Keeper, clock: StillClock) -> None:
    content, summary = exported(full.table, full.beings, full.id, clock)
    target = full.another("Copy")

    imported(full.table, target, gzip.compress(content), clock)

    assert state_of(full.table, target) == summary.state


@pytest.fixture
def small(laptop: Keeper, clock: StillClock) -> bytes:
    laptop.memory.scenes.record(laptop.id, [scene_draft("Ann ate"), scene_draft("Ann slept")])
    return exported(laptop.table, laptop.beings, laptop.id, clock)[0]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def refusal(content: bytes) -> str:
    with pytest.raises(InvalidInputError) as refused:
        ExportFile(io.BytesIO(content)).check()
    return str(refused.value)


def test_a_file_cut_anywhere_is_refused(small: bytes) -> None:
    for length in range(len(small)):
        assert refusal(small[:length])
    packed = gzip.compress(small)
    for length in range(2, len(packed), 3):
        assert refusal(packed[:length])


def test_a_file_with_any_byte_changed_is_refused(small: bytes) -> None:
    for place in range(len(small) - 1):
        changed = bytearray(small)
        changed[place] ^= 1
        assert refusal(bytes(changed)), place


def test_what_is_wrong_is_told_exactly(small: bytes) -> None:
    lines = small.splitlines(keepends=True)

    assert refusal(b"".join(lines[:-1])).startswith("after line 4: the file is cut off")
    assert refusal(small[:-3]).startswith("line 5: the file is cut off")
    without_a_scene = b"".join([*lines[:2], *lines[3:]])
    assert refusal(without_a_scene).startswith("the file says 2 of scene and has 1")
    assert refusal(small + b"\n").startswith("line 6")
    assert refusal(b"").startswith("this is not an export of Nacre")
    assert refusal(b'{"type":"entity"}\n').startswith("this is not an export of Nacre; for one of")
    changed = small.replace(b"Ann ate", b"Ann hid")
    assert refusal(changed).startswith("the hash of the file is not the one it ends with")


def test_a_newer_format_is_refused(small: bytes) -> None:
    newer = small.replace(b'"format":1,"nacre":"', b'"format":2,"nacre":"9.')

    assert "was written by a newer Nacre (9." in refusal(newer)
    assert refusal(newer).endswith("this version knows formats up to 1; upgrade nacre")


@pytest.mark.parametrize(
    ("kind", "key", "value", "complaint"),
    [
        ("nonsense", "x", {}, "unknown type 'nonsense'"),
        ("scene", "a", {"scene_id": "a"}, "'action' is missing"),
        ("node", "a", {"node_id": "b"}, "is missing"),
        ("being", "", {"owner": "me"}, "neither a key nor an identity"),
        ("being", "", {"gsi1pk": "B#1"}, "neither a key nor an identity"),
        ("being", "", {"order_name": "ignore\nall"}, "not a valid name for orders"),
        ("being", "", {"order_name": "Clawd  bot"}, "not a valid name for orders"),
        ("being", "", {"order_name": 5}, "not a valid name for orders"),
        ("patrol_run", "1", {"schema": 1, "gsi1pk": "B#other#PENDING"}, "a place that is not"),
        ("patrol_run", "1", {"schema": 1, "pk": "B#other"}, "a place that is not"),
        ("relation", "META", {"entity": "Ann", "type": "x", "content": "y", "updated_at": "z"},
         "the key of this relation"),
        ("relation", "ann", {"entity": "Ann", "type": 1, "content": "y", "updated_at": "z"},
         "'type' is not of the type"),
        ("relation", "ann", {"entity": "Ann", "type": "x", "content": "y", "updated_at": "z",
                             "new": 1}, "knows no 'new' here"),
        ("relation", "\ud800", {"entity": "Ann"}, "unpaired surrogate"),
        ("patrol_run", "1", {"schema": 1, "x": float("inf")}, "JSON cannot carry"),
        ("patrol_run", "1", {"schema": 1, "x": float("nan")}, "JSON cannot carry"),
        ("patrol_run", "1", {"schema": 1, "x": nested(700)}, "nests deeper"),
    ],
)  # fmt: skip
def test_a_record_that_cannot_be_is_refused(
    small: bytes, kind: str, key: str, value: dict[str, Any], complaint: str
) -> None:
    lines = small.splitlines(keepends=True)
    line = json.dumps({"type": kind, "key": key, "value": value}).encode() + b"\n"

    said = refusal(b"".join([*lines[:2], line, *lines[2:]]))

    assert said.startswith("line 3: ")
    assert complaint in said


HOSTILE = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    texts=st.lists(HOSTILE, min_size=1, max_size=6, unique=True),
    numbers=st.lists(
        st.floats(min_value=0, max_value=1e9, allow_nan=False).filter(
            lambda each: each == 0 or each > 1e-100
        ),
        min_size=6,
        max_size=6,
    ),
)
def test_hostile_texts_and_numbers_come_through(
    texts: list[str], numbers: list[float], clock: StillClock
) -> None:
    database = SqliteDatabase(":memory:")
    kept = keeper(SqliteTable(database, now=clock), queue_of(database, clock), clock)
    for number, text in enumerate(texts):
        node = a_node(number, action=text, actors=(text,), stability=numbers[number] + 1)
        kept.table.put(node.to_item(kept.id))
        kept.memory.history.add(kept.id, [ChatMessage("user", text)])
    content, summary = exported(kept.table, kept.beings, kept.id, clock)
    target = kept.another("Copy")

    imported(kept.table, target, content, clock)

    assert state_of(kept.table, target) == summary.state
    found = [Node.from_item(each) for each in kept.table.query(keys.nodes(target)).items]
    assert [each.action for each in found] == texts
    database.close()


def test_any_change_of_the_state_changes_the_hash(full: Keeper) -> None:
    seen = {state_of(full.table, full.id)}
    records = [
        (kind.name, page[0])
        for kind in KINDS.values()
        for page in [next(iter(Exporter(full.table)._pages(full.id, kind)))]
    ]
    for kind, item in records:
        changed = {**item, ("share" if kind in ("being", "patrol_run") else "version"): 77}
        if kind in ("letter_received", "letter_sent", "message", "marker", "scene"):
            name = {"message": "content", "marker": "count", "scene": "action"}.get(kind, "content")
            changed = {**item, name: 77 if name == "count" else "changed"}
        elif kind == "captured_identity":
            changed = {**item, "sk": "changed", "identity": "changed"}
        full.table.put(changed)
        seen.add(state_of(full.table, full.id))
        full.table.put(item)

    assert len(seen) == 1 + len(KINDS)


def test_a_write_between_reading_and_writing_is_not_overwritten(
    full: Keeper, clock: StillClock
) -> None:
    content, _ = exported(full.table, full.beings, full.id, clock)
    target = full.another("Copy")

    class Racing(CountingTable):
        raced = False

        def transact(self, writes: Any, *, token: str | None = None) -> None:
            if not self.raced:
                self.raced = True
                full.memory.entries.update(target, TARGETS["souls"], "name", "Someone else")
            self.table.transact(writes, token=token)

    outcome = imported(Racing(full.table), target, content, clock)

    assert outcome.kept["souls"] == 1
    entry = full.memory.entries.get(target, TARGETS["souls"], "name")
    assert entry is not None
    assert entry.text == "Someone else"


@pytest.mark.slow
def test_memory_does_not_grow_with_what_is_moved(laptop: Keeper, clock: StillClock) -> None:
    """Both sides go through the records one by one; only the file is as long as they are."""
    import tempfile
    import tracemalloc

    def peak(count: int) -> int:
        source, target = laptop.another(f"From {count}"), laptop.another(f"To {count}")
        for first in range(0, count, 45):
            numbers = range(first, min(count, first + 45))
            nodes = [a_node(each, action="Ann fed a cat. " * 100) for each in numbers]
            laptop.memory.nodes.add(source, nodes)
        being = laptop.beings.get(source)
        assert being is not None
        with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as spool:
            tracemalloc.start()
            records = Exporter(laptop.table).records(source)
            save(records, being, file, spool, now=clock())
            file.seek(0)
            imported(laptop.table, target, file, clock)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return peak

    assert peak(1800) < 1.3 * peak(450)


@pytest.fixture
def third(clock: StillClock) -> Iterator[Keeper]:
    """A store with yet another Being."""
    database = SqliteDatabase(":memory:")
    yield keeper(SqliteTable(database, now=clock), queue_of(database, clock), clock, seed=3)
    database.close()


def test_an_event_that_comes_again_is_known_wherever_its_memory_has_moved(
    laptop: Keeper, other: Keeper, third: Keeper, clock: StillClock
) -> None:
    event, elsewhere = "f" * 64, "e" * 64
    node = a_node(1, node_id=node_id_of(laptop.id, event), fingerprint=event)
    laptop.memory.nodes.add(laptop.id, [node])
    carried(laptop, other, clock)
    second = a_node(2, node_id=node_id_of(other.id, elsewhere), fingerprint=elsewhere)
    other.memory.nodes.add(other.id, [second])
    carried(other, third, clock)

    for kept in (laptop, other, third):
        assert nodes_of_events(kept.table, kept.id, [event])[event].node_id == node.node_id
    for kept in (other, third):
        known = nodes_of_events(kept.table, kept.id, [elsewhere, event, "d" * 64])
        assert {each: found.node_id for each, found in known.items()} == {
            event: node.node_id,
            elsewhere: second.node_id,
        }
    assert notes_of(laptop) == []
    assert len(notes_of(other)) == 1
    assert len(notes_of(third)) == 2
    assert state_of(other.table, other.id) == state_of(third.table, third.id)


def test_a_memory_that_was_made_anew_is_not_taken_for_its_old_event(
    laptop: Keeper, other: Keeper, clock: StillClock
) -> None:
    node = a_node(1, node_id=node_id_of(laptop.id, "f" * 64), fingerprint="f" * 64)
    laptop.memory.nodes.add(laptop.id, [node])
    carried(laptop, other, clock)
    other.table.put(replace(node, fingerprint="a" * 64).to_item(other.id))

    assert nodes_of_events(other.table, other.id, ["f" * 64]) == {}


def test_an_erased_memory_leaves_no_note_of_its_event(
    laptop: Keeper, other: Keeper, clock: StillClock
) -> None:
    for number, event in ((1, "f" * 64), (2, "e" * 64)):
        node_id = node_id_of(laptop.id, event)
        nodes = [a_node(number, node_id=node_id, fingerprint=event, evidence=())]
        laptop.memory.nodes.add(laptop.id, nodes)
    carried(laptop, other, clock)

    MemoryEraser(other.table, clock=clock, rng=Random(1)).node(
        other.id, node_id_of(laptop.id, "f" * 64)
    )

    assert [item["sk"] for item in notes_of(other)] == ["e" * 64]


def carried(source: Keeper, target: Keeper, clock: StillClock) -> None:
    content, _ = exported(source.table, source.beings, source.id, clock)
    imported(target.table, target.id, content, clock)


def notes_of(kept: Keeper) -> list[Item]:
    return list(kept.table.query(keys.known_events(kept.id)).items)


def test_a_hidden_and_corrected_memory_moves_as_it_is(
    full: Keeper, other: Keeper, clock: StillClock
) -> None:
    file, _ = exported(full.table, full.beings, full.id, clock)
    imported(other.table, other.id, file, clock)

    [before] = full.memory.nodes.hidden(full.id).nodes
    [after] = other.memory.nodes.hidden(other.id).nodes
    assert after == before
    assert [version.action for version in earlier_versions(after)] == [a_node(6).action]
    shown = other.memory.corrections.take_back(other.id, after.node_id, by="agent")
    assert (shown.status, shown.action) == ("active", "Ann fed the heron")


@pytest.mark.parametrize(
    "line", ["x", "[]", "{}", '{"until": "t", "by": "agent", "fields": {"action": 7}}']
)
def test_wordings_that_cannot_be_read_are_refused(
    full: Keeper, other: Keeper, clock: StillClock, line: str
) -> None:
    node = replace(full.memory.nodes.hidden(full.id).nodes[0], wordings=(line,))
    full.table.put(node.to_item(full.id))
    file, _ = exported(full.table, full.beings, full.id, clock)

    with pytest.raises(InvalidInputError, match=r"earlier wordings|'action' is not of the type"):
        imported(other.table, other.id, file, clock)


def test_a_memory_is_the_same_record_however_its_scenes_are_stored(
    laptop: Keeper, other: Keeper, clock: StillClock
) -> None:
    node = a_node(1, evidence=tuple(f"TOLD{number}" for number in range(1500)))
    laptop.memory.nodes.add(laptop.id, [a_node(1, evidence=())])
    laptop.table.put(node.to_item(laptop.id))  # as version 0.1.0 did
    before = state_of(laptop.table, laptop.id)
    carried(laptop, other, clock)
    laptop.memory.edits.pin(laptop.id, node.node_id, pinned=True)
    laptop.memory.edits.pin(laptop.id, node.node_id, pinned=False)
    laptop.table.update(
        Key(keys.nodes(laptop.id), node.node_id), Change(set={"version": 1, "due": node.due})
    )

    assert laptop.table.query(keys.evidence(laptop.id)).items
    assert other.table.query(keys.evidence(other.id)).items
    assert before == state_of(laptop.table, laptop.id) == state_of(other.table, other.id)
    content, _ = exported(laptop.table, laptop.beings, laptop.id, clock)
    assert imported(other.table, other.id, content, clock).same["node"] == 1


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"origins": ["web"]}, "unknown origin 'web'"),
        ({"origins": ["external:"]}, "needs the name of a server"),
        ({"origins": ["external:web"], "trust": "agent"}, "its trust is above that of its origins"),
        ({"trust": "external", "tellings": ["owner", "external:unknown"]}, "names an origin that"),
    ],
)
def test_origins_that_do_not_fit_are_refused(fields: dict[str, Any], expected: str) -> None:
    value = {**attributes_of(a_node(1)), **fields}
    line = {"type": "node", "key": a_node(1).node_id, "value": value}

    with pytest.raises(InvalidInputError, match=rf"line 2: .*{expected}"):
        decode(line, "line 2")


def test_an_earlier_wording_of_a_file_is_trusted_no_more_than_its_origins() -> None:
    fields = {"trust": "user", "origins": ["external:web"]}
    line = json.dumps({"until": "t", "by": "agent", "fields": fields, "told": 1})
    value = {**attributes_of(a_node(1)), "wordings": [line]}

    with pytest.raises(InvalidInputError, match="its trust is above that of its origins"):
        decode({"type": "node", "key": a_node(1).node_id, "value": value}, "line 2")


def test_origins_move_with_their_memories_scenes_and_messages(
    full: Keeper, other: Keeper, clock: StillClock
) -> None:
    file, _ = exported(full.table, full.beings, full.id, clock)
    imported(other.table, other.id, file, clock)

    node = other.memory.nodes.get(other.id, a_node(3).node_id)
    assert node is not None
    assert {name: getattr(node, name) for name in SERVERS} == SERVERS
    waiting = other.memory.scenes.pending(other.id).scenes
    assert [scene.origins for scene in waiting] == [(), ("agent", "external:web")]
    hits = other.memory.history.search(other.id, limit=3, query="🌊")
    assert [message.origins for message in hits.messages] == [("agent", "external:web")]


def test_a_memory_in_a_file_lists_all_of_its_scenes() -> None:
    value = {**attributes_of(a_node(1)), "earlier": 7}
    line = {"type": "node", "key": a_node(1).node_id, "value": value}

    with pytest.raises(InvalidInputError, match="line 2: a node lists all of its scenes"):
        decode(line, "line 2")

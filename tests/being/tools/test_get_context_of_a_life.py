"""What a client learns at the start of a session, in lives of different lengths and languages."""

import json
from datetime import timedelta
from typing import Any

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.being.memory.model.cluster_weight import cluster_weight
from nacre.being.memory.model.types import Cluster, Node
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import CONTEXT_CLUSTERS_BYTES, CONTEXT_RECENT_BYTES, CONTEXT_SNAPSHOT_BYTES
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import a_node, queue_of
from tests.being.memory.minds import Minded, minded
from tests.being.patrol.worlds import Fuse, FusedTable

DAY = 86_400


def context(mind: Minded) -> dict[str, Any]:
    blocks: dict[str, Any] = json.loads(mind.text("get_context"))
    return blocks


def recent(mind: Minded) -> list[str]:
    lines: list[str] = context(mind)["recent_nodes"].splitlines()
    return [line.split(": ", 1)[1] for line in lines]


def subjects(mind: Minded) -> list[str]:
    """Return the lines of the snapshot about clusters and waiting scenes."""
    sections = str(context(mind)["snapshot"]).split("## ")
    return [
        line
        for section in sections
        if section.startswith(("Clusters", "Scenes"))
        for line in section.strip().splitlines()[1:]
    ]


def note(mind: Minded, clock: StillClock, *actions: str, **fields: Any) -> None:
    """Note scenes of today."""
    mind.note(*actions, **{"when": [f"{clock().date()}"], **fields})


def test_a_note_of_a_minute_ago_is_told(mind: Minded, clock: StillClock) -> None:
    note(mind, clock, "Ann adopted a grey cat named Mochi")
    clock.move(60)

    assert recent(mind) == ["Ann adopted a grey cat named Mochi"]
    assert subjects(mind) == ["- [2026-07-28] Ann: Ann adopted a grey cat named Mochi"]


def test_waiting_scenes_come_before_what_a_patrol_took_earlier(
    mind: Minded, clock: StillClock
) -> None:
    note(mind, clock, "Ann moved to Porto", "Ann bought a bicycle")
    mind.text("trigger_patrol", messages=[])
    clock.move(DAY)
    note(mind, clock, "Ann lost her keys")

    assert recent(mind)[0] == "Ann lost her keys"
    assert sorted(recent(mind)[1:]) == ["Ann bought a bicycle", "Ann moved to Porto"]


@pytest.mark.parametrize(
    ("event", "routine"),
    [
        ("Nora had her knee operated", "nightly backup finished"),
        ("Jonas wurde am Herzen operiert", "Die Datensicherung ist fertig"),
        ("健太は昨日手術を受けた", "夜間バックアップが完了した"),
        ("A Inês partiu o braço", "cópia de segurança concluída"),
    ],
)
def test_reports_of_every_night_do_not_push_out_the_event_of_yesterday(
    wordy: Minded, clock: StillClock, event: str, routine: str
) -> None:
    for night in range(12):
        clock.move(DAY)
        note(wordy, clock, f"{routine} ({night})", importance=0.2)
    note(wordy, clock, event, importance=0.9)
    for number in range(8):
        clock.move(DAY / 8)
        note(wordy, clock, f"{routine} (job {number})", importance=0.2)

    lines = recent(wordy)

    assert event in lines
    assert lines[0] == f"{routine} (job 7)"
    assert len(lines) <= 5


def test_a_report_of_every_night_is_a_routine_whatever_its_importance(
    wordy: Minded, clock: StillClock
) -> None:
    for event in ("Ann was bitten by a dog", "Ann met Carlos", "Ann sold the boat"):
        clock.move(DAY)
        note(wordy, clock, event)
    for _ in range(20):
        clock.move(DAY / 24)
        note(wordy, clock, "The nightly backup finished")
    wordy.text("trigger_patrol", messages=[])

    assert recent(wordy) == [
        "The nightly backup finished",
        "Ann sold the boat",
        "Ann met Carlos",
        "Ann was bitten by a dog",
    ]


def test_recalls_do_not_make_an_old_memory_a_recent_one(mind: Minded, clock: StillClock) -> None:
    note(mind, clock, *(f"Ann planted {tree}" for tree in ("a pear tree", "an oak", "a fig tree")))
    mind.text("trigger_patrol", messages=[])
    clock.move(10 * DAY)
    note(mind, clock, *(f"Bob cooked {dish}" for dish in ("soup", "rice", "fish", "eggs", "beans")))
    mind.text("trigger_patrol", messages=[])
    clock.move(DAY)
    mind.text("recall", user_message="Where did Ann plant the pear tree?")

    assert all("cooked" in line for line in recent(mind))


def test_each_subject_is_told_with_its_newest_statement(mind: Minded) -> None:
    _cluster(mind, "c1", "Ann's home", _homes())

    assert subjects(mind) == ["- Ann's home: [2026-07-03] Ann: lives in Porto [cluster c1]"]


@pytest.mark.parametrize(
    "change",
    [
        {"superseded_by": "00000000-0000-4000-8000-000000000002"},
        {"status": "merged", "merged_into": "00000000-0000-4000-8000-000000000002"},
        {"status": "dead"},
        {"status": "dead", "reason": "undone"},
    ],
)
def test_what_no_longer_holds_is_not_told(mind: Minded, change: dict[str, Any]) -> None:
    *older, newest = _homes()
    _cluster(mind, "c1", "Ann's home", [*older, replace(newest, **change)])

    assert subjects(mind) == ["- Ann's home: [2026-07-02] Ann: lives in Lyon [cluster c1]"]


def test_the_ten_subjects_that_matter_most_are_told(mind: Minded, clock: StillClock) -> None:
    for number in range(14):
        important = 0.9 if number in (3, 12) else 0.3
        members = [
            a_node(
                100 * number + member,
                action=f"subject {number}, part {member}",
                created_at=f"{clock().date() - timedelta(days=20 * number)}T00:00:00.000Z",
                importance=important,
            )
            for member in range(3)
        ]
        _cluster(mind, f"c{number:02}", f"Subject {number}", members)

    labels = [line.removeprefix("- ").split(":")[0] for line in subjects(mind)[:10]]

    assert len(subjects(mind)) == 10
    assert labels[0] == "Subject 3"
    assert "Subject 12" in labels
    assert "Subject 13" not in labels


def test_subjects_keep_their_room_beside_many_notes(wordy: Minded) -> None:
    for number in range(10):
        action = f"subject {number}: " + "words " * 100
        members = [a_node(number, action=action, created_at="2026-07-20T00:00:00.000Z")]
        _cluster(wordy, f"c{number}", f"Subject {number}", members)
    for first in range(0, 200, 10):
        wordy.text("update_notes", notes=[f"{first + number} " + "n" * 150 for number in range(10)])

    snapshot = context(wordy)["snapshot"]

    assert len(snapshot.encode()) <= CONTEXT_SNAPSHOT_BYTES
    section = snapshot.split("## Clusters of memories\n")[1]
    assert [line[:11] for line in section.splitlines()] == [
        f"- Subject {number}" for number in range(9, -1, -1)
    ]
    assert len(section.encode()) <= CONTEXT_CLUSTERS_BYTES


def test_the_digest_of_a_model_is_told_beside_the_newest_statement(wordy: Minded) -> None:
    _cluster(wordy, "c1", "Home", _homes(), digest="Ann moves often.", digest_source="llm")

    assert subjects(wordy) == [
        "- Home: Ann moves often.",
        "  newest: [2026-07-03] Ann: lives in Porto [cluster c1]",
    ]


def test_a_cluster_of_an_older_version_is_told_before_a_patrol_weighs_it(mind: Minded) -> None:
    _cluster(mind, "c1", "Ann's home", _homes(), weight=None)

    assert subjects(mind) == ["- Ann's home: [2026-07-03] Ann: lives in Porto [cluster c1]"]


@pytest.mark.slow
def test_ten_thousand_memories_cost_no_more_reads_than_a_thousand(clock: StillClock) -> None:
    costs = []
    for count in (1_000, 10_000):
        database = SqliteDatabase(":memory:")
        fuse = Fuse()
        table = FusedTable(SqliteTable(database, now=clock), fuse)
        mind = minded(
            table,
            queue_of(database, clock),
            lambda emb_id, database=database: LocalVectors(database, emb_id),  # type: ignore[misc]
            clock,
        )
        for first in range(0, count, 10):
            members = [
                a_node(number, cluster_id=f"c{first}", action=f"event {number}")
                for number in range(first, first + 10)
            ]
            _cluster(mind, f"c{first}", f"Subject {first}", members)
        note(mind, clock, *(f"event of today {number}" for number in range(20)))
        before = fuse.reads, fuse.items_read
        blocks = context(mind)
        costs.append((fuse.reads - before[0], fuse.items_read - before[1]))
        assert len(blocks["recent_nodes"].encode()) <= CONTEXT_RECENT_BYTES
        database.close()

    assert costs[0] == costs[1]
    calls, items = costs[0]
    assert calls <= 50
    assert items <= 300


def _homes() -> list[Node]:
    return [
        a_node(number, action=f"lives in {place}", when=(f"2026-07-0{number}",))
        for number, place in enumerate(("Lisbon", "Lyon", "Porto"), start=1)
    ]


def _cluster(mind: Minded, cluster_id: str, label: str, members: list[Node], **fields: Any) -> None:
    weight = cluster_weight(members)
    cluster = Cluster(
        cluster_id=cluster_id,
        created_at="2026-07-03T00:00:00.000Z",
        **{"label": label, "n_active": len(members), "weight": weight, **fields},
    )
    mind.mind.memory.clusters.add(mind.being_id, cluster)
    mind.remember(*(replace(node, cluster_id=cluster_id) for node in members))

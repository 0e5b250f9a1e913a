"""Two Beings on a DynamoDB that throttles, fails, is slow, loses answers and answers in part."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random
from threading import Lock
from typing import Any

import pytest

from nacre.access.beings import Beings
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.vectors.item_vectors import ItemVectors
from nacre.being.memory.model import keys
from nacre.core.limits import JOB_SECONDS
from tests.adapters.conftest import StillClock
from tests.being.memory.minds import Minded, RefusedError, builtin, minded
from tests.end_to_end.faults.dynamodb_faults import spoiled_store
from tests.scaffolding.aws_stack import aws_stack

pytestmark = pytest.mark.slow

NAMES = ("Ann", "Bob")
_NOTES = 12  # of each Being
_SHARE = 0.12  # of the requests; a note is ten or so, and most are repeated


def test_what_is_acknowledged_is_kept_once_and_by_its_own_being(clock: StillClock) -> None:
    embedder, tokens = builtin()
    database = SqliteDatabase(":memory:")
    queue = SqliteQueue(database, "jobs", now=clock)
    with aws_stack() as stack, spoiled_store(stack, Random(5)) as (store, client):
        fake: Any = client
        table = DynamoTable(
            fake, stack.ids["DataTable"], sleep=lambda _: None, rng=Random(3), now=clock
        )
        made = Beings(table, clock=clock, rng=Random(2))
        beings = {
            name: minded(
                table,
                queue,
                lambda emb_id: ItemVectors(table, emb_id),
                clock,
                embedder=embedder,
                tokens=tokens,
                being_id=made.create(name, owner=name).being_id,
            )
            for name in NAMES
        }
        store.share = _SHARE
        acknowledged = written(beings)
        store.share = 0.0
        noted = {name: scenes_of(being) for name, being in beings.items()}
        store.share = _SHARE
        for being in beings.values():
            with suppress(RefusedError):
                being.call("trigger_patrol", messages=[])
            being.work()
        store.share = 0.0
        clock.move(JOB_SECONDS + 1)  # a lease that could not be given back runs out
        for being in beings.values():  # what was given up begins anew, and goes on where it was
            being.call("trigger_patrol", messages=[])
            being.work()

        for name, being in beings.items():
            kept = noted[name]
            assert set(kept.values()) == {1}, "a note was applied twice"
            assert acknowledged[name] <= kept.keys()
            assert all(action.startswith(f"{name} ") for action in kept)
            sound(being, kept)
            found = being.text("search_memory", query="the lighthouse")
            assert f"{name} saw" in found
            assert not [other for other in NAMES if other != name and f"{other} saw" in found]
        assert store.spoiled.keys() >= {"throttled", "failing", "lost answer", "half", "in part"}
    database.close()


def written(beings: dict[str, Minded]) -> dict[str, set[str]]:
    """Let both Beings note at once, and return what was acknowledged."""
    acknowledged: dict[str, set[str]] = {name: set() for name in beings}
    turn = Lock()

    def note(name: str, number: int) -> None:
        action = f"{name} saw lighthouse number {number} of the coast"
        with suppress(RefusedError):
            beings[name].note(action)
            with turn:
                acknowledged[name].add(action)

    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(note, n, number) for number in range(_NOTES) for n in beings]
        for job in jobs:
            job.result()
    assert all(len(each) > _NOTES / 2 for each in acknowledged.values())
    return acknowledged


def scenes_of(being: Minded) -> Counter[str]:
    scenes = being.mind.memory.scenes.page(being.being_id).scenes
    meta = being.table.get(keys.meta(being.being_id))
    assert meta is not None
    assert meta["pending_scenes"] == len(scenes)
    return Counter(scene.action for scene in scenes)


def sound(being: Minded, kept: Counter[str]) -> None:
    """Find every scene in one memory, whatever became of the patrols."""
    memory = being.mind.memory
    scenes = memory.scenes.page(being.being_id).scenes
    evidence = [each for node in memory.nodes.page(being.being_id).nodes for each in node.evidence]
    assert {run.state for run in being.runs()} == {"done"}
    assert {scene.status for scene in scenes} == {"consumed"}
    assert Counter(scene.action for scene in scenes) == kept
    assert sorted(evidence) == sorted(scene.scene_id for scene in scenes)

"""Several processes on one store: what was acknowledged is there, and a patrol fires once."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest

from nacre.access.beings import Beings
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.being.memory.index.index_state import LEXICAL
from nacre.being.memory.model import keys
from nacre.being.patrol.run.runs import Runs
from nacre.core.clock import system_clock
from nacre.jobs.loop import Outcome, WorkerLoop
from nacre.ports.vectors.vector_index import Filter, Question
from nacre.protocol.http import error_map
from nacre.text.analysis import terms
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings
from tests.being.memory.notes_process import open_memory

PROCESS = Path(__file__).with_name("notes_process.py")


@contextmanager
def writer(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, str(PROCESS), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def being_id(path: Path) -> str:
    database = SqliteDatabase(path)
    beings = Beings(SqliteTable(database), clock=system_clock, rng=Random())
    being = beings.create("Pearl", owner="me")
    database.close()
    return being.being_id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "nacre.db"


def check(path: Path, being_id: str, acknowledged: set[str]) -> int:
    """Find every acknowledged scene, counted and searchable; return how many there are."""
    memory = open_memory(str(path))
    database = SqliteDatabase(path)
    table = SqliteTable(database)
    stored = {scene.scene_id for scene in memory.scenes.page(being_id).scenes}
    assert acknowledged <= stored
    pending = [scene.scene_id for scene in memory.scenes.pending(being_id).scenes]
    assert pending == sorted(stored)
    meta = table.get(keys.meta(being_id))
    assert meta is not None
    assert meta["pending_scenes"] == len(stored)
    depth = SqliteQueue(database, "jobs").depth()
    assert depth.waiting <= 1
    assert depth.waiting == 1 or "queued_at" in meta or len(stored) < 10
    assert database.problems() == []
    found = LocalVectors(database, LEXICAL).search(
        being_id, Question(dense=None, sparse=terms("event"), where=Filter(), limit=len(stored) + 1)
    )
    assert acknowledged <= {hit.id for hit in found.sparse}
    database.close()
    return len(stored)


@pytest.mark.slow
def test_four_processes_with_twenty_stores_each_lose_nothing(path: Path, being_id: str) -> None:
    race(path, being_id, processes=4, stores=20)


def race(path: Path, being_id: str, *, processes: int, stores: int) -> None:
    with ExitStack() as stack:
        arguments = ("store", str(path), being_id, str(stores))
        running = [stack.enter_context(writer(*arguments)) for _ in range(processes)]
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        outputs = [process.communicate(timeout=120)[0] for process in running]
    lines = "".join(outputs).splitlines()
    answers = [json.loads(line) for line in lines]

    assert len({scene_id for scene_id, _ in answers}) == processes * stores
    assert [patrol for _, patrol in answers].count("queued") == 1
    acknowledged = {scene_id for scene_id, _ in answers}
    assert check(path, being_id, acknowledged) == processes * stores
    assert patrolled(path, being_id, acknowledged) == processes * stores


def patrolled(path: Path, being_id: str, acknowledged: set[str]) -> int:
    """Let two workers at once do what was queued; every scene is in one memory, by one run."""
    laptop = open_laptop(path.parent, Settings(str(path.parent), embeddings="none"))
    outcomes: list[Outcome] = []
    loops = [laptop.worker_loop(outcomes.append, error_map) for _ in range(2)]

    def work(loop: WorkerLoop) -> None:
        while loop.run_next():
            pass

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, loops))
    memory = laptop.memory_services.memory
    [run] = Runs(laptop.data).page(being_id).runs
    scenes = memory.scenes.page(being_id).scenes
    evidence = [each for node in memory.nodes.page(being_id).nodes for each in node.evidence]
    laptop.close()
    assert {outcome.result for outcome in outcomes} == {"done"}
    assert (run.state, run.trigger, run.counts["scenes_taken"]) == ("done", "auto", len(scenes))
    assert {scene.status for scene in scenes} == {"consumed"}
    assert sorted(evidence) == sorted(scene.scene_id for scene in scenes)
    assert acknowledged <= set(evidence)
    return len(evidence)


def killed(path: Path, being_id: str, *, rounds: int) -> None:
    rng = random.Random(7)
    acknowledged: set[str] = set()
    for turn in range(rounds):
        with (
            writer("loop", str(path), being_id, f"a{turn}") as first,
            writer("loop", str(path), being_id, f"b{turn}") as second,
        ):
            for process in (first, second):
                assert process.stdout is not None
                lines = [process.stdout.readline() for _ in range(rng.randint(1, 15))]
                time.sleep(rng.random() * 0.01)
                process.kill()
                lines += process.stdout.readlines()
                whole = [line for line in lines if line.endswith("\n")]
                acknowledged |= {json.loads(line)[0] for line in whole}
        assert check(path, being_id, acknowledged) >= len(acknowledged)


def test_a_killed_note_taker_loses_nothing_it_acknowledged(path: Path, being_id: str) -> None:
    killed(path, being_id, rounds=2)


@pytest.mark.slow
def test_many_races_lose_nothing(tmp_path: Path) -> None:
    for number in range(5):
        path = tmp_path / str(number) / "nacre.db"
        database = SqliteDatabase(path)
        beings = Beings(SqliteTable(database), clock=system_clock, rng=Random())
        being_id = beings.create("Pearl", owner="me").being_id
        database.close()
        race(path, being_id, processes=4, stores=20)


@pytest.mark.slow
def test_note_takers_killed_many_times_lose_nothing(path: Path, being_id: str) -> None:
    killed(path, being_id, rounds=25)

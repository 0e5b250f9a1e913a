"""A worker that is killed: another process goes on with its task."""

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from random import Random

import pytest

from nacre.being.tasks.task import call_key
from nacre.protocol.context import Context
from nacre.protocol.versions import MODERN
from tests.being.tasks.worker_process import Place
from tests.being.tasks.worlds import CALLER, KEY, text_of
from tests.scaffolding.lambda_events import BEING
from tests.scaffolding.waiting import until

ROOT = Path(__file__).parents[3]
_SECONDS = 60


def worker(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.being.tasks.worker_process", str(folder)],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"},
    )


def attempts(folder: Path) -> list[str]:
    file = folder / "attempts"
    return file.read_text().splitlines() if file.exists() else []


def taken(folder: Path) -> int:
    """Return how many steps were taken so far."""
    file = folder / "steps"
    return file.stat().st_size if file.exists() else 0


@pytest.mark.slow
def test_tasks_survive_any_number_of_killed_workers(tmp_path: Path) -> None:
    place, rng = Place(tmp_path), Random(11)
    place.table.put({"pk": f"B#{BEING}", "sk": "META", "schema": 1})
    context = Context(version=MODERN, principal=CALLER)
    steps_of = {
        place.requests.create("steps", {"many": many}, context, None)["taskId"]: many
        for many in range(1, 30)
    }

    def left() -> list[str]:
        return [
            task_id
            for task_id in steps_of
            if place.requests.get(task_id, CALLER)["status"] == "working"
        ]

    def is_far(steps: int) -> bool:
        return taken(tmp_path) >= steps or not left()

    kills = 0
    while left():
        killed = worker(tmp_path)
        until(partial(is_far, taken(tmp_path) + rng.randint(20, 60)), "no steps were taken")
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        kills += 1
        assert kills < 100
    ended = {task_id: place.requests.get(task_id, CALLER) for task_id in steps_of}
    place.database.close()

    assert kills >= 3
    assert {task_id["status"] for task_id in ended.values()} == {"completed"}
    assert {task_id: text_of(ended[task_id]["result"]) for task_id in steps_of} == {
        task_id: f"{many} steps" for task_id, many in steps_of.items()
    }


def test_a_killed_workers_task_is_done_by_another_process(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.table.put({"pk": f"B#{BEING}", "sk": "META", "schema": 1})
    requests = place.requests
    context = Context(version=MODERN, principal=CALLER, llm_api_key=KEY)
    task_id = requests.create("writes", {}, context, None)["taskId"]
    killed = worker(tmp_path)
    try:
        until(lambda: attempts(tmp_path), "the first attempt did not begin")
        call = call_key(BEING, task_id)
        until(lambda: "notes" in (place.table.get(call) or {}), "nothing was noted")
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    assert requests.get(task_id, CALLER)["status"] == "working"

    place.loop.start()
    finished = until(
        lambda: (task := requests.get(task_id, CALLER))["status"] != "working" and task,
        "nobody went on",
    )
    assert place.loop.stop(_SECONDS)
    place.database.close()

    assert (finished["status"], text_of(finished["result"])) == ("completed", "attempts [1, 2]")
    assert attempts(tmp_path) == [f"1 {KEY}", f"2 {KEY}"]

"""A worker that is killed: another process goes on with its task."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nacre.being.tasks.task import call_of
from nacre.protocol.context import Context
from nacre.protocol.versions import MODERN
from tests.being.tasks.worker_process import Place
from tests.being.tasks.worlds import CALLER, KEY, text_of
from tests.lambda_events import BEING

ROOT = Path(__file__).parents[3]
_SECONDS = 60


def until(found: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + _SECONDS
    while not (value := found()):
        assert time.monotonic() < end, what
        time.sleep(0.02)
    return value


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
    wanted = {
        place.desk.create("steps", {"many": many}, context, None)["taskId"]: many
        for many in range(1, 30)
    }

    def left() -> list[str]:
        return [each for each in wanted if place.desk.get(each, CALLER)["status"] == "working"]

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
    ended = {each: place.desk.get(each, CALLER) for each in wanted}
    place.database.close()

    assert kills >= 3
    assert {each["status"] for each in ended.values()} == {"completed"}
    assert {each: text_of(ended[each]["result"]) for each in wanted} == {
        each: f"{many} steps" for each, many in wanted.items()
    }


def test_a_killed_workers_task_is_done_by_another_process(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.table.put({"pk": f"B#{BEING}", "sk": "META", "schema": 1})
    desk = place.desk
    context = Context(version=MODERN, principal=CALLER, llm_api_key=KEY)
    task_id = desk.create("writes", {}, context, None)["taskId"]
    killed = worker(tmp_path)
    try:
        until(lambda: attempts(tmp_path), "the first attempt did not begin")
        call = call_of(BEING, task_id)
        until(lambda: "notes" in (place.table.get(call) or {}), "nothing was noted")
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    assert desk.get(task_id, CALLER)["status"] == "working"

    place.loop.start()
    done = until(
        lambda: (got := desk.get(task_id, CALLER))["status"] != "working" and got,
        "nobody went on",
    )
    assert place.loop.stop(_SECONDS)
    place.database.close()

    assert (done["status"], text_of(done["result"])) == ("completed", "attempts [1, 2]")
    assert attempts(tmp_path) == [f"1 {KEY}", f"2 {KEY}"]

"""A hook from its start to its end, as a client calls it, beside a Python that does nothing."""

import json
import os
import resource
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nacre.cli.hooks.hook_input import EVENTS
from tests.benchmarks.table import show
from tests.cli.processes import finish, serving, start

pytestmark = pytest.mark.benchmark

ROUNDS = 30
GOAL_MS = 120.0


def measured(command: list[str], text: str) -> tuple[float, float]:
    """Return the milliseconds of a process: on the clock, and of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall * 1000, cpu * 1000


def line(number: int, role: str) -> str:
    """Return a line of a transcript with a message of 600 characters."""
    return json.dumps(
        {
            "type": role,
            "message": {"role": role, "content": f"message {number} " + "words of it " * 48},
            "uuid": f"{role}-{number}",
            "timestamp": datetime.now(UTC).isoformat(),
        }
    )


def test_hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("NACRE_")]:
        monkeypatch.delenv(name)
    # Installed programs have compiled modules, and so do these after their first run.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "compiled"))
    monkeypatch.setenv("NACRE_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "shared"))
    transcript = tmp_path / "session.jsonl"
    payload = {
        "session_id": "s1",
        "transcript_path": str(transcript),
        "cwd": "/home/ann/boat",
        "prompt": "Where does message 12 say that the boat lies?",
    }
    rows = []
    with serving() as server:
        assert server.process.stderr is not None
        # A server whose log nobody reads would stop when the pipe is full.
        threading.Thread(target=server.process.stderr.read, daemon=True).start()
        assert finish(start("capture", "allow"))[0] == 0
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in ("nothing", *EVENTS)}
        for number in range(ROUNDS):
            times["nothing"].append(measured([sys.executable, "-c", "pass"], ""))
            for place, event in enumerate(EVENTS):
                with transcript.open("a") as file:
                    for role in ("user", "assistant"):
                        file.write(line(number * len(EVENTS) + place, role) + "\n")
                command = [sys.executable, "-m", "nacre.cli", "hook", event]
                times[event].append(measured(command, json.dumps(payload)))
    log = tmp_path / "data" / "hooks.log"
    print(log.read_text() if log.exists() else "no hook failed")
    for name, samples in times.items():
        walls, cpus = (sorted(column) for column in zip(*samples, strict=True))
        p95 = int(ROUNDS * 0.95)
        rows.append(
            (
                name,
                *(
                    f"{value:.0f}"
                    for value in (walls[ROUNDS // 2], walls[p95], cpus[ROUNDS // 2], cpus[p95])
                ),
            )
        )
        # On a busy machine only processor time says something about the hook.
        assert cpus[p95] < GOAL_MS
    show("Hooks", ("event", "median ms", "p95 ms", "median CPU ms", "p95 CPU ms"), rows)

"""What becomes of calls when `nacre serve` is told to stop."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.jobs.job import Job, encode_job
from nacre.wiring import laptop
from nacre.wiring.data_folder import DATABASE
from tests.cli.conftest import Nacre
from tests.cli.processes import Server
from tests.scaffolding.waiting import until

_SCRIPT = Path(__file__).parent / "slow_server.py"
_PACKAGE = Path(__file__).parents[3] / "shared"
_SECONDS = 60


@dataclass
class Slow:
    """A running server whose tool `wait` ends when it is told to."""

    server: Server
    path: str
    token: str
    folder: Path
    place: Path
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(6))

    def call(self, name: str, **arguments: Any) -> Any:
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return self.server.post(self.path, self.token, message)

    def begin_call(self) -> "Future[Any]":
        """Call the slow tool, and return once it runs."""
        answer = self.pool.submit(self.call, "wait")
        until((self.place / "call").exists)
        return answer

    def begin_job(self) -> None:
        """Send the slow job, and return once it runs."""
        with self.jobs() as jobs:
            jobs.send(encode_job(Job("wait")), group="g")
        until((self.place / "job").exists)

    @contextmanager
    def jobs(self) -> Iterator[SqliteQueue]:
        with closing(SqliteDatabase(self.folder / DATABASE)) as database:
            yield SqliteQueue(database, laptop.QUEUE)

    def go(self) -> None:
        (self.place / "go").touch()

    def refuses(self) -> bool:
        """Tell whether nobody listens any more."""
        try:
            self.server.post(self.path, self.token, {})
        except (OSError, HTTPException):
            return True
        return False

    def end(self) -> tuple[int, list[str]]:
        """Return the exit code and the events in the log once the process has ended."""
        _, err = self.server.process.communicate(timeout=_SECONDS)
        lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
        return self.server.process.returncode, [line["event"] for line in lines]


@pytest.fixture
def slow(nacre: Nacre, folder: Path, tmp_path: Path) -> Iterator[Slow]:
    being_id = nacre("being", "create", "Ann").out.strip()
    token = nacre("token", "create", "--scope", "full").out.strip()
    process = subprocess.Popen(
        [sys.executable, _SCRIPT, tmp_path, "serve", "--port", "0", "--log"],
        env={**os.environ, "PYTHONPATH": str(_PACKAGE)},
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        slow = Slow(Server(process), f"/{being_id}", token, folder, tmp_path)
        with slow.pool:
            yield slow
            process.kill()
    finally:
        process.kill()
        process.communicate()


def test_a_call_in_flight_is_answered_before_the_server_ends(slow: Slow) -> None:
    answer = slow.begin_call()
    slow.server.process.send_signal(signal.SIGTERM)
    until(slow.refuses)
    assert slow.server.process.poll() is None
    slow.go()

    status, body = answer.result(_SECONDS)
    assert (status, body["result"]["content"]) == (200, [{"type": "text", "text": "waited"}])
    code, events = slow.end()
    assert code == 0
    assert events[-1] == "stopped"


def test_no_write_that_was_acknowledged_is_lost(slow: Slow, folder: Path) -> None:
    waiting = slow.begin_call()
    acknowledged: list[str] = []

    def write(writer: int) -> None:
        for number in range(1000):
            note = f"note {writer}.{number} of a busy day"
            try:
                status, body = slow.call("update_notes", notes=[note])
            except (OSError, HTTPException):
                return  # never answered: perhaps written, perhaps not
            assert (status, body["result"].get("isError")) == (200, None), body
            acknowledged.append(note)

    writers = [slow.pool.submit(write, writer) for writer in range(3)]
    until(lambda: len(acknowledged) >= 10)
    slow.server.process.send_signal(signal.SIGTERM)
    until(slow.refuses)
    slow.go()
    for writer in writers:
        writer.result(_SECONDS)
    assert waiting.result(_SECONDS)[0] == 200
    assert slow.end()[0] == 0

    with closing(sqlite3.connect(folder / "nacre.db")) as connection:
        kept = "\n".join(row[0] for row in connection.execute("SELECT body FROM data"))
    assert [note for note in acknowledged if note not in kept] == []


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_a_second_interrupt_ends_the_server_at_once(slow: Slow, first: signal.Signals) -> None:
    answer = slow.begin_call()
    slow.server.process.send_signal(first)
    until(slow.refuses)
    assert slow.server.process.poll() is None
    slow.server.process.send_signal(signal.SIGINT)

    # The slow call never ends, so that nothing else can have ended the server.
    slow.server.process.wait(_SECONDS)
    with pytest.raises((OSError, HTTPException, ValueError)):
        answer.result(_SECONDS)


def test_a_job_in_progress_is_finished_before_the_server_ends(slow: Slow) -> None:
    slow.begin_job()
    slow.server.process.send_signal(signal.SIGTERM)
    until(slow.refuses)
    assert slow.server.process.poll() is None
    slow.go()

    code, events = slow.end()
    assert code == 0
    assert events[-2:] == ["job", "stopped"]


@pytest.mark.slow
@pytest.mark.parametrize("calls", [0, 1])
def test_a_second_interrupt_waits_for_no_job_either(slow: Slow, calls: int) -> None:
    slow.begin_job()
    for _ in range(calls):
        slow.begin_call()
    slow.server.process.send_signal(signal.SIGINT)
    until(slow.refuses)
    assert slow.server.process.poll() is None
    slow.server.process.send_signal(signal.SIGINT)

    slow.server.process.wait(_SECONDS)
    with slow.jobs() as jobs:  # it comes back when its time is over
        assert jobs.depth().in_flight == 1

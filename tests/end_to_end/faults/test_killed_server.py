"""`nacre serve` killed again and again while official clients write and patrols run."""

import asyncio
import json
import signal
import threading
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from mcp import Client

from tests.cli.conftest import Nacre, folder, nacre
from tests.cli.processes import Server, serving
from tests.end_to_end.clients.test_memory import over_http, text
from tests.end_to_end.faults.laptop import Caller, caller
from tests.scaffolding.waiting import until

__all__ = ["folder", "nacre"]  # fixtures
pytestmark = pytest.mark.slow

NAMES = ("Ann", "Bob")
_KILLS = 4
_WRITERS = 2  # for each Being
_SECONDS = 60


class Writers:
    """Official clients of two Beings, which write until their server is gone."""

    def __init__(self, callers: dict[str, Caller]) -> None:
        self._callers = callers
        self._turn = threading.Lock()
        self._number = 0
        self.acknowledged: dict[str, set[str]] = {name: set() for name in callers}
        self.refused: list[str] = []

    def start(self, server: Server) -> list[threading.Thread]:
        threads = [
            threading.Thread(target=self._run, args=(name, server.url), daemon=True)
            for name in self._callers
            for _ in range(_WRITERS)
        ]
        for thread in threads:
            thread.start()
        return threads

    def count(self) -> int:
        return sum(map(len, self.acknowledged.values()))

    def reached(self, wanted: int) -> bool:
        return self.count() >= wanted

    def _run(self, name: str, url: str) -> None:
        who = self._callers[name]
        connect = partial(over_http, f"{url}/{who.being_id}", "auto", token=who.token)

        async def main() -> None:
            async with connect() as client:
                while True:
                    await self._write(client, name)

        try:
            asyncio.run(main())
        except BaseException as error:  # noqa: BLE001  what a client makes of a server that is gone
            self.refused.append(type(error).__name__)

    async def _write(self, client: Client, name: str) -> None:
        with self._turn:
            self._number += 1
            number = self._number
        action = f"{name} counted heron {number:05}"
        scene = {"action": action, "actors": [name], "when": ["2026-07-01"]}
        await text(client, "update_notes", scenes=[scene])
        with self._turn:
            self.acknowledged[name].add(action)


def test_nothing_acknowledged_is_lost_or_done_twice(nacre: Nacre, tmp_path: Path) -> None:
    callers = {name: caller(nacre, name) for name in NAMES}
    writers, rng = Writers(callers), Random(17)
    for _ in range(_KILLS):
        wanted = writers.count() + rng.randint(8, 60)
        with serving() as server:
            threads = writers.start(server)
            until(partial(writers.reached, wanted))
            code, _, err = server.stop(signal.SIGKILL)
            assert (code, "Traceback" in err) == (-signal.SIGKILL, False), err
            for thread in threads:
                thread.join(_SECONDS)
                assert not thread.is_alive()
    assert len(writers.refused) == _KILLS * _WRITERS * len(NAMES)

    with serving() as server:
        for name in NAMES:
            until(partial(settled, nacre, name))
        assert server.stop(signal.SIGTERM)[0] == 0
    assert nacre("doctor").code == 0
    for name in NAMES:
        file = tmp_path / f"{name}.jsonl"
        nacre("export", str(file), "--being", name)
        scenes, evidence = exported(file)
        assert all(action.startswith(f"{name} counted") for action in scenes.values())
        assert set(Counter(scenes.values()).values()) == {1}
        assert writers.acknowledged[name] <= set(scenes.values())
        assert sorted(evidence) == sorted(scenes)


def settled(nacre: Nacre, name: str) -> bool:
    """Ask for a patrol where none is under way, and tell whether no scene waits."""
    status = nacre("patrol", "status", "--being", name, "--json").json()
    if status["pending_scenes"] or status["open"]:
        nacre("patrol", "run", "--being", name)
        return False
    return True


def exported(file: Path) -> tuple[dict[str, str], list[str]]:
    """Return the scenes of an export by id, and what its memories are made of."""
    scenes: dict[str, str] = {}
    evidence: list[str] = []
    for line in file.read_text().splitlines():
        told: dict[str, Any] = json.loads(line)
        if told["type"] == "scene":
            scenes[told["key"]] = told["value"]["action"]
        if told["type"] == "node":
            evidence += told["value"]["evidence"]
    return scenes, evidence

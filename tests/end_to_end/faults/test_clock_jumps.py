"""A server whose clock is set under it, forward and back, with libfaketime before the real one."""

import json
import signal
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import Nacre, folder, nacre
from tests.cli.processes import Server, serving
from tests.cli.test_set_clock import _LIBRARIES, pytestmark
from tests.end_to_end.faults.laptop import Caller, caller
from tests.scaffolding.waiting import until

__all__ = ["folder", "nacre", "pytestmark"]

_DAYS = (2, -1, 400, -400, 0)


@pytest.fixture
def clock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let processes from now on see the time that a file says, whenever they look."""
    file = tmp_path / "faketime"
    file.write_text("+0d")
    for name, value in {
        "LD_PRELOAD": _LIBRARIES[0],
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",  # what older ones call it
    }.items():
        monkeypatch.setenv(name, value)
    return file


def seen_days(server: Server, who: Caller) -> int:
    """Return how far from ours the clock is that the server sees."""
    told = json.loads(who.call(server, "get_current_time", timezone="UTC")[1])["iso"]
    return round((datetime.fromisoformat(told) - datetime.now(UTC)).total_seconds() / 86400)


def test_a_server_goes_on_while_its_clock_jumps(nacre: Nacre, clock_file: Path) -> None:
    who = caller(nacre)
    kept: list[str] = []
    with serving() as server:
        for number, days in enumerate(_DAYS):
            clock_file.write_text(f"{days:+}d")
            is_kept, said = who.call(server, "update_notes", notes=[f"note {number}"])
            if days > 90:  # how long a token lives
                assert (is_kept, "expired" in said) == (False, True), said
                continue
            assert is_kept, said
            assert seen_days(server, who) == days
            kept.append(f"note {number}")
        found = json.loads(who.call(server, "get_context")[1])["snapshot"]
        code, _, err = server.stop(signal.SIGTERM)

    assert (code, "Traceback" in err) == (0, False), err
    assert len(kept) == len(_DAYS) - 1
    assert [each for each in kept if each not in found] == []


def test_patrols_are_done_although_the_clock_is_set_while_they_run(
    nacre: Nacre, clock_file: Path
) -> None:
    # Ten scenes fire by themselves: under libfaketime whoever waits by `time.sleep` fails.
    who = caller(nacre)
    days = (2, -2, 0)
    with serving() as server:
        for number, ahead in enumerate(days, 1):
            scenes = [
                {"action": f"Ann saw heron {number}-{n}", "actors": ["Ann"], "when": ["2026-07-01"]}
                for n in range(10)
            ]
            assert '"patrol": "fired"' in who.call(server, "update_notes", scenes=scenes)[1]
            clock_file.write_text(f"{ahead:+}d")
            until(partial(has_run, nacre, number))
        assert server.stop(signal.SIGTERM)[0] == 0
    runs = nacre("patrol", "history", "--json").json()
    assert [(run["state"], run["counts"]["scenes_taken"]) for run in runs] == [("done", 10)] * 3
    assert nacre("patrol", "status", "--json").json()["pending_scenes"] == 0


def has_run(nacre: Nacre, times: int) -> bool:
    runs = nacre("patrol", "history", "--json").json()
    return [run["state"] for run in runs] == ["done"] * times

"""Commands on a machine whose clock was set, with libfaketime in front of the real one."""

import json
import re
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from glob import glob
from typing import Any

import pytest

from tests.cli.conftest import Nacre
from tests.cli.processes import finish, serving, start

# Of Debian's package libfaketime; the variant for programs with threads.
_LIBRARIES = sorted(glob("/usr/lib/*/faketime/libfaketimeMT.so.1"))  # noqa: PTH207

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not _LIBRARIES, reason="NOT RUN, no clock can be set: apt-get install libfaketime"
    ),
]

CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "update_notes", "arguments": {"notes": ["Kept on a strange day"]}},
}


SetClock = Callable[[int], None]


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    def set_clock(days: int) -> None:
        """Let the processes from now on see another day."""
        monkeypatch.setenv("LD_PRELOAD", _LIBRARIES[0])
        monkeypatch.setenv("FAKETIME", f"{days:+}d")
        monkeypatch.setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        monkeypatch.setenv("DONT_FAKE_MONOTONIC", "1")  # what older ones call it

    return set_clock


def post(being_id: str, token: str) -> tuple[int, Any]:
    with serving() as server:
        answer = server.post(f"/{being_id}", token, CALL)
        code, _, err = server.stop(signal.SIGTERM)
    assert (code, "Traceback" in err) == (0, False)
    return answer


def seen_day() -> timedelta:
    """Return how far from ours the clock is that a process sees."""
    with serving() as server:
        _, _, err = server.stop(signal.SIGTERM)
    [line, *_] = [line for line in err.splitlines() if line.startswith("{")]
    return datetime.fromisoformat(json.loads(line)["timestamp"]) - datetime.now(UTC)


@pytest.mark.parametrize("days", [2, -100])
def test_a_token_works_although_the_clock_was_set_after_it_was_made(
    nacre: Nacre, set_clock: SetClock, days: int
) -> None:
    being_id = nacre("being", "create", "Ann").out.strip()
    token = nacre("token", "create", "--scope", "full").out.strip()
    set_clock(days)
    assert abs(seen_day() - timedelta(days=days)) < timedelta(hours=1)

    status, answer = post(being_id, token)

    assert (status, answer["result"].get("isError")) == (200, None)
    code, out, err = finish(start("token", "list", "--json"))
    assert (code, err) == (0, "")
    assert [row["state"] for row in json.loads(out)] == ["active"]


def test_starts_with_a_clock_that_is_far_ahead_take_no_token_for_good(
    nacre: Nacre, set_clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    being_id = nacre("being", "create", "Ann").out.strip()
    token = nacre("token", "create", "--scope", "full").out.strip()
    set_clock(400)
    for _ in range(3):
        status, answer = post(being_id, token)  # each of them looks for what may be removed
        assert (status, "expired" in answer["error"]["message"]) == (401, True)
        code, _, err = finish(start("token", "create", "--scope", "read-only"))
        assert code == 0, err
    monkeypatch.delenv("LD_PRELOAD")

    status, answer = post(being_id, token)
    assert (status, answer["result"].get("isError")) == (200, None)


@pytest.mark.parametrize("days", [2, -100])
def test_a_token_that_was_made_on_another_day_works_or_says_why_not(
    nacre: Nacre, set_clock: SetClock, days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    being_id = nacre("being", "create", "Ann").out.strip()
    set_clock(days)
    code, out, err = finish(start("token", "create", "--scope", "full"))
    assert code == 0, err
    monkeypatch.delenv("LD_PRELOAD")

    status, answer = post(being_id, out.strip())

    if days > -90:  # how long a token lives
        assert (status, answer["result"].get("isError")) == (200, None)
    else:
        assert status == 401
        assert re.search(r"expired.*make one with 'nacre token create'", answer["error"]["message"])


def test_a_store_of_another_day_passes_the_doctor(nacre: Nacre, set_clock: SetClock) -> None:
    being_id = nacre("being", "create", "Ann").out.strip()
    token = nacre("token", "create", "--scope", "full").out.strip()
    post(being_id, token)
    set_clock(-100)

    for command in (["status"], ["doctor"], ["being", "list"], ["token", "list"]):
        code, out, err = finish(start(*command))
        assert (code, "Traceback" in out + err) == (0, False), (command, out, err)

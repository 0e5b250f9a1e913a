"""Servers that crash, hang, die or are slow: nobody else waits, and their owner is told."""

import json
import math
import os
import threading
from dataclasses import replace
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.core.backoff import pause
from nacre.core.coroutines import Looper
from nacre.gateway.catalogue.health import Report, answered, duration, failed, report
from nacre.gateway.catalogue.store import Entry, Health, StoredCatalogue
from nacre.gateway.qualified_names import exposed_name
from nacre.gateway.servers.config import server_from
from nacre.ports.other_programs.upstream import Offered
from nacre.protocol.versions import MODERN
from tests.gateway.http_upstream import Upstream, http_upstream
from tests.gateway.test_new_sessions import Sessions, sessions, told
from tests.gateway.test_served import ANSWERS, ask, behind, definition, list_tools, odd, said
from tests.scaffolding.gateway_world import World, world
from tests.scaffolding.waiting import until


@pytest.fixture(autouse=True)
def quick_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give hanging programs little time to end by themselves."""
    monkeypatch.setattr("nacre.adapters.mcp.stdio_transport._GRACE_SECONDS", 0.05)


def health(gateway: World, server: str = "odd") -> Health:
    return StoredCatalogue(lambda: gateway.laptop.data).load()[server].health


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def folder_of(root: Path, name: str) -> Path:
    folder = root / name
    folder.mkdir()
    return folder


@pytest.mark.requirement("002.external.hanging")
def test_a_list_does_not_wait_again_for_a_server_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second list comes while the first one still waits, which then has everything."""
    seconds = [0.0]
    clock = SimpleNamespace(monotonic=lambda: seconds[0])
    monkeypatch.setattr("nacre.gateway.catalogue.fetcher.time", clock)
    # The first one has real seconds to wait: on a busy machine a program starts slowly.
    monkeypatch.setattr("nacre.gateway.catalogue.fetcher.GATHER_SECONDS", 60.0)
    fine, hanging = folder_of(tmp_path, "fine"), folder_of(tmp_path, "hanging")
    list_tools(fine, "echo")
    list_tools(hanging, "echo")
    (hanging / "mute").touch()
    with world(tmp_path / "w", {"fine": odd(fine), "hanging": odd(hanging)}) as gateway:
        first: list[str] = []
        patient = replace(gateway, looper=Looper())
        thread = threading.Thread(target=lambda: first.extend(patient.tools()))
        thread.start()
        catalogue = StoredCatalogue(lambda: gateway.laptop.data)
        until(lambda: "fine" in catalogue.load())
        seconds[0] = 1000.0  # too long since the server was asked
        second = gateway.ask("tools/list")["result"]
        was_first = not thread.is_alive()
        (hanging / "mute").unlink()
        thread.join()

    assert "mcp__fine__echo" in [tool["name"] for tool in second["tools"]]
    assert second["_meta"] == {"nacre/missing": {"hanging": "has not answered yet"}}
    assert not was_first
    assert first == ["mcp__fine__echo", "mcp__hanging__echo"]


def test_a_program_that_hangs_at_its_start_ends_with_nacre(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = tmp_path / "pid"
    script = f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 1000"
    with world(tmp_path / "w", {"mute": {"command": "sh", "args": ["-c", script]}}) as gateway:
        monkeypatch.setattr("nacre.gateway.catalogue.fetcher.GATHER_SECONDS", 0.0)
        gateway.tools()
        until(pid.exists)
        assert runs(int(pid.read_text()))

    until(lambda: not runs(int(pid.read_text())))


@pytest.mark.requirement("002.external.failing-calls")
def test_a_server_that_ends_with_each_call_is_left_alone(tmp_path: Path) -> None:
    with behind(tmp_path) as gateway:
        texts = [told(gateway, "mcp__odd__dies") for _ in range(4)]
        until(lambda: health(gateway).paused_until > 0)
        noted = health(gateway)

    assert [text.endswith("it may have been carried out") for text in texts] == [True] * 3 + [False]
    assert "it may have been carried out; it is tried again in" in texts[3]
    assert noted.error == "was lost while the call ran; it may have been carried out"
    assert noted.paused_until > noted.error_at


def test_a_question_shows_that_a_server_is_back(tmp_path: Path) -> None:
    """The answer to its question is another request, which is not refused."""
    with behind(tmp_path) as gateway:
        for _ in range(3):
            told(gateway, "mcp__odd__dies")
        gateway.laptop.mounts._open["odd", ""]._breaker._until = 0.0  # the pause is over
        answer = ask(gateway, "ask", MODERN)

    assert json.loads(said(answer)) == ANSWERS["elicitation/create"]


def test_a_server_that_is_to_be_asked_anew_shows_no_time() -> None:
    assert report(CONFIG, replace(KNOWN, at=0.0), now=1010.0).asked_at is None


def test_a_program_that_hangs_in_a_call_is_replaced(tmp_path: Path) -> None:
    with behind(tmp_path, timeout_seconds=0.5) as gateway:
        hung = int((tmp_path / "pid").read_text())
        text = told(gateway, "mcp__odd__held")
        until(lambda: not runs(hung))
        again = gateway.call("mcp__odd__echo")

    assert text.endswith("did not answer within 0.5 s")
    assert "isError" not in again


def test_a_program_that_hangs_in_a_list_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.gateway.catalogue.current_view.GATHERED_LOOK_SECONDS", 0.0)
    with behind(tmp_path, timeout_seconds=0.5) as gateway:
        hung = int((tmp_path / "pid").read_text())
        (tmp_path / "mute").touch()
        catalogue = StoredCatalogue(lambda: gateway.laptop.data)
        catalogue.update(
            lambda entries: {name: replace(entry, at=0.0) for name, entry in entries.items()}
        )
        gateway.laptop.mounts.gather()
        until(lambda: health(gateway).error != "")
        until(lambda: not runs(hung))
        noted = health(gateway)
        (tmp_path / "mute").unlink()
        again = gateway.call("mcp__odd__echo")

    assert noted.error == "did not list what it offers within 0.5 s"
    assert "isError" not in again


def test_a_program_that_answers_anything_stays(tmp_path: Path) -> None:
    with behind(tmp_path, timeout_seconds=0.5) as gateway:
        program = (tmp_path / "pid").read_text()
        told(gateway, "mcp__odd__silent")
        told(gateway, "mcp__odd__silent")  # the check after the first one has ended by now
        again = gateway.call("mcp__odd__echo")
        same = (tmp_path / "pid").read_text()

    assert "isError" not in again
    assert same == program


def test_a_server_that_comes_back_is_asked_again_by_a_call(tmp_path: Path) -> None:
    """After failures to list, the next call after the pause asks it, and is made."""
    list_tools(tmp_path, "echo", "dies")
    with behind(tmp_path) as gateway:
        tools = (tmp_path / "tools.json").rename(tmp_path / "away.json")
        told(gateway, "mcp__odd__dies")
        assert "No list" in told(gateway, "mcp__odd__echo")
        tools.rename(tmp_path / "tools.json")
        assert "echo" in told(gateway, "mcp__odd__echo")
        assert health(gateway).failures == 0
        assert health(gateway).error == "cannot list what it offers (No list)"


def has_session(gateway: World, server: str) -> bool:
    return gateway.laptop.mounts._open[server, ""].is_compared


def test_a_session_that_ended_unnoticed_is_found_before_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.gateway.servers.config.UPSTREAM_ALIVE_SECONDS", 0.02)
    with sessions(tmp_path) as (gateway, server):
        gateway.tools()
        until(lambda: server.asked.count("ping") >= 2)
        assert told(gateway, "mcp__web__echo") == "called"
        assert server.asked.count("initialize") == 1

        server.known.clear()
        until(lambda: not has_session(gateway, "web"))
        assert told(gateway, "mcp__web__echo") == "called"

    assert server.asked.count("initialize") == 2
    assert server.asked.count("tools/call") == 2  # none met a session that had ended


class Streams:
    """A server of the older kind of stream; streams in `lost` take messages and answer nothing."""

    def __init__(self, upstream: Upstream) -> None:
        self.asked: list[tuple[str, str]] = []  # streams and methods
        self.lost: set[str] = set()
        self.answers: dict[str, Queue[bytes | None]] = {}
        handler: Any = upstream.server.RequestHandlerClass
        handler.do_GET = lambda request: self.stream(request)
        handler.do_POST = lambda request: self.take(request)

    def stream(self, request: Any) -> None:
        name = str(len(self.answers))
        answers = self.answers[name] = Queue()
        request.send_response(200)
        request.send_header("content-type", "text/event-stream")
        request.end_headers()
        request.wfile.write(b"event: endpoint\ndata: /stream/%s\n\n" % name.encode())
        while (answer := answers.get()) is not None:
            request.wfile.write(b"event: message\ndata: " + answer + b"\n\n")

    def take(self, request: Any) -> None:
        body = json.loads(request.rfile.read(int(request.headers["content-length"])))
        name, method = request.path.rpartition("/")[2], body["method"]
        self.asked.append((name, method))
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            },
            "tools/list": {"tools": [definition("echo")]},
            "tools/call": {"content": [{"type": "text", "text": "called"}]},
            "ping": {},
        }
        outcome: dict[str, Any] = {"error": {"code": -32601, "message": "Method not found"}}
        if method in results:
            outcome = {"result": results[method]}
        if "id" in body and name not in self.lost:
            answer = {"jsonrpc": "2.0", "id": body["id"], **outcome}
            self.answers[name].put(json.dumps(answer).encode())
        request.reply(202, b"", "text/plain")

    def close(self) -> None:
        for answers in self.answers.values():
            answers.put(None)


def test_a_stream_that_was_lost_unnoticed_is_found_before_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call in it would wait in vain: nobody ever says that the stream is lost."""
    monkeypatch.setattr("nacre.gateway.servers.config.UPSTREAM_ALIVE_SECONDS", 0.02)
    with http_upstream() as upstream:
        server = Streams(upstream)
        entry = {"url": upstream.url.replace("/mcp", "/sse"), "timeout_seconds": 1}
        with world(tmp_path / "w", {"web": entry}) as gateway:
            gateway.tools()
            assert told(gateway, "mcp__web__echo") == "called"
            server.lost.add("0")
            until(lambda: not has_session(gateway, "web"))
            assert told(gateway, "mcp__web__echo") == "called"
        server.close()

    calls = [name for name, method in server.asked if method == "tools/call"]
    assert calls == ["0", "1"]


def test_an_error_answers_a_ping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nacre.gateway.servers.config.UPSTREAM_ALIVE_SECONDS", 0.02)
    monkeypatch.setattr(Sessions, "unknown", frozenset({"ping"}))
    with sessions(tmp_path) as (gateway, server):
        gateway.tools()
        until(lambda: server.asked.count("ping") >= 3)

    assert server.asked.count("initialize") == 1


def test_a_session_without_keep_alive_is_not_pinged(tmp_path: Path) -> None:
    with sessions(tmp_path, keep_alive_seconds=0) as (gateway, server):
        gateway.tools()
        assert told(gateway, "mcp__web__echo") == "called"

    assert "ping" not in server.asked


# What the owner is told.

OFFERED = Offered(
    tools=(
        {"name": "read", "description": "Read ä file.", "inputSchema": {"type": "object"}},
        {"name": "odd name", "inputSchema": {}, "outputSchema": {"type": "object"}},
    ),
    opening=1.5,
    latency=0.25,
)
CONFIG = server_from("files", {"command": "x"})
KNOWN = Entry(
    CONFIG.digest, 1000.0, OFFERED, health=Health(0.25, 1.5, 0, "was lost", 900.0, paused_until=990)
)


def test_a_server_that_answers_shows_how_fast_and_how_costly_it_is() -> None:
    found = report(CONFIG, KNOWN, now=1010.0)

    shown = [
        '{"name":"mcp__files__read","description":"Read ä file.","inputSchema":{"type":"object"}}',
        f'{{"name":"{exposed_name("files", "odd name")}","inputSchema":{{}}}}',
    ]
    size = sum(len(text.encode()) for text in shown)
    assert found == Report(
        "ok",
        tools=2,
        tokens=math.ceil(size / 4),
        latency=0.25,
        opening=1.5,
        error="was lost",
        error_at=900.0,
        asked_at=1000.0,
    )


@pytest.mark.parametrize(
    ("entry", "state", "retry_at"),
    [
        (None, "not asked yet", None),
        (replace(KNOWN, digest="other"), "not asked yet", None),
        (Entry(CONFIG.digest, 0.0, None), "not asked yet", None),
        (replace(KNOWN, health=Health(paused_until=1030.0)), "paused", 1030.0),
        (failed(KNOWN, CONFIG, "is down", 1010.0), "failing", 1040.0),
        (failed(None, CONFIG, "is down", 1010.0), "unreachable", 1040.0),
    ],
)
def test_a_state_follows_from_what_is_stored(
    entry: Entry | None, state: str, retry_at: float | None
) -> None:
    found = report(CONFIG, entry, now=1010.0)
    assert (found.state, found.retry_at) == (state, retry_at)


def test_durations_are_written_for_people() -> None:
    shown = [duration(seconds) for seconds in (None, 0.0004, 0.0016, 0.25, 1.46)]
    assert shown == ["", "<1 ms", "2 ms", "250 ms", "1.5 s"]


def test_each_failure_to_list_doubles_the_pause_and_a_list_ends_it() -> None:
    entry, pauses = KNOWN, []
    for _ in range(6):
        entry = failed(entry, CONFIG, "is down", 0.0)
        pauses.append(report(CONFIG, entry, now=0.0).retry_at)

    assert pauses == [30.0, 60.0, 120.0, 240.0, 300.0, 300.0]
    assert entry.offered is OFFERED
    after = answered(entry, CONFIG, replace(OFFERED, opening=0.0))
    assert (after.failures, after.opening, after.error) == (0, 1.5, "is down")
    assert answered(entry, server_from("files", {"command": "y"}), OFFERED).error == ""


@pytest.mark.security
def test_an_error_shows_no_secret_of_the_server() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    entry = failed(None, CONFIG, f"refused to be opened (-1: {secret} is wrong)", 0.0)

    assert entry.problem == entry.health.error
    assert secret not in (entry.problem or secret)
    assert "is wrong" in (entry.problem or "")


@given(st.integers(-5, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_pause_is_bounded_and_differs_by_a_fifth(failures: int, chance: float) -> None:
    seconds = pause(failures, first=30.0, longest=300.0, chance=lambda: chance)
    even = pause(failures, first=30.0, longest=300.0)

    assert 24.0 <= seconds <= 300.0
    assert 0.8 * even <= seconds <= 1.2 * even + 1e-9

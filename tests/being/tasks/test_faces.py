"""Tasks over stdio and HTTP: a client's own server has its worker too."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from nacre.core.errors import HeaderMismatchError
from nacre.protocol.http.headers import check_mirrors
from nacre.protocol.messages import Request
from nacre.protocol.versions import META_CAPABILITIES, META_VERSION, MODERN
from tests.being.tasks.worlds import TAKES, text_of
from tests.cli.processes import start

META = {META_VERSION: MODERN, META_CAPABILITIES: TAKES}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NACRE_HOME", str(tmp_path / "data"))


class Stdio:
    """A running `nacre mcp-server` and a client of this era."""

    def __init__(self) -> None:
        self.process = start("mcp-server", stdin=subprocess.PIPE)

    def say(self, method: str, **params: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return dict(json.loads(self.process.stdout.readline())["result"])

    def ended(self, task_id: str) -> dict[str, Any]:
        end = time.monotonic() + 60
        while (task := self.say("tasks/get", taskId=task_id))["status"] == "working":
            assert time.monotonic() < end, task
            time.sleep(0.05)
        return task

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


def test_a_task_outlives_the_stdio_server_that_took_it() -> None:
    first = Stdio()
    scene = {"action": "Ann fed the cat", "actors": ["Ann"], "when": ["2026-07-01"]}
    arguments: dict[str, Any] = {"scenes": [scene]}
    offered = first.say("server/discover")["capabilities"]["extensions"]
    first.say("tools/call", name="update_notes", arguments=arguments)
    arguments = {"messages": []}
    lost = first.say("tools/call", name="trigger_patrol", arguments=arguments)
    first.kill()

    second = Stdio()
    try:
        reply = second.say("tools/call", name="trigger_patrol", arguments=arguments)
        ended = [second.ended(task["taskId"]) for task in (lost, reply)]
    finally:
        second.kill()

    assert offered == {"io.modelcontextprotocol/tasks": {}}
    assert [task["status"] for task in ended] == ["completed", "completed"]
    assert {json.loads(text_of(task["result"]))["status"] for task in ended} == {"ok"}


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_the_header_of_a_task_may_be_left_out_but_not_be_wrong(method: str) -> None:
    request = Request(1, method, {"taskId": "one"})

    check_mirrors(request, {"mcp-method": method}, None)
    check_mirrors(request, {"mcp-method": method, "mcp-name": "one"}, None)
    with pytest.raises(HeaderMismatchError):
        check_mirrors(request, {"mcp-method": method, "mcp-name": "two"}, None)

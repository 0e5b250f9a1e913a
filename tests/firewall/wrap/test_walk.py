"""A client starts what stands in its file: the wrapped server answers, under the policy."""

import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Nacre, folder, nacre
from tests.firewall.proxy.programs import environment
from tests.scaffolding.server_threads import answering

__all__ = ["folder", "nacre"]

ODD = Path(__file__).parents[2] / "firewall" / "proxy" / "odd_server.py"
SEEN: list[dict[str, str]] = []


class Remote(BaseHTTPRequestHandler):
    """A server that answers each request with what it asked."""

    def do_POST(self) -> None:
        SEEN.append({name.lower(): value for name, value in self.headers.items()})
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = {"jsonrpc": "2.0", "id": message.get("id"), "result": {"path": self.path}}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def remote() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Remote)
    with answering(server):
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\naction = "allow"\ntool = "read_*"\nserver = "s"\n')
    return rules


def start(file: Path, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """Start the server as the file says, and return what it answers."""
    entry = json.loads(file.read_text())["mcpServers"]["s"]
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        env={**environment(), **entry.get("env", {})},
        input="".join(json.dumps(message) + "\n" for message in messages),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(messages), done.stderr
    return sorted(answers, key=lambda answer: int(answer["id"]))


def call(number: int, tool: str) -> dict[str, Any]:
    params = {"name": tool, "arguments": {}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def written(tmp_path: Path, entry: dict[str, Any]) -> Path:
    file = tmp_path / "home" / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"mcpServers": {"s": entry}}, indent=2))
    return file


@pytest.mark.requirement("004.wrap.config")
def test_a_wrapped_command_answers_what_the_rules_allow(
    nacre: Nacre, tmp_path: Path, rules: Path
) -> None:
    file = written(tmp_path, {"command": sys.executable, "args": [str(ODD), "echo"]})
    before = file.read_bytes()
    assert nacre("wrap", "s", "--policy", str(rules)).code == 0

    allowed, denied = start(file, call(1, "read_file"), call(2, "write_file"))

    assert allowed["result"] == {"echo": {"name": "read_file", "arguments": {}}}
    assert denied["result"]["isError"] is True
    assert nacre("unwrap", "s").code == 0
    assert file.read_bytes() == before


def test_a_wrapped_url_is_called_with_its_headers(
    nacre: Nacre, tmp_path: Path, rules: Path, remote: str
) -> None:
    SEEN.clear()
    entry = {
        "url": f"{remote}/mcp?key=k1",
        "headers": {"Authorization": "Bearer t1", "X-Team": "${red}", "Accept": "*/*"},
    }
    file = written(tmp_path, entry)
    before = file.read_bytes()
    assert nacre("wrap", "s", "--policy", str(rules)).code == 0

    allowed, denied = start(file, call(1, "read_file"), call(2, "write_file"))

    assert allowed["result"] == {"path": "/mcp?key=k1"}
    assert denied["result"]["isError"] is True
    assert {seen["authorization"] for seen in SEEN} == {"Bearer t1"}
    assert {seen["x-team"] for seen in SEEN} == {"${red}"}
    assert nacre("unwrap", "s").code == 0
    assert file.read_bytes() == before

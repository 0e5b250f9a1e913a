"""A large call through the laptop's server has the outcome of a small one, byte for byte."""

import json
import re
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pytest

from nacre.adapters.screening.process_pool import ScreeningProcesses
from tests.firewall.proxy.test_large_calls import ODD_VALUES, VALUES
from tests.gateway.recording_upstream import recording
from tests.scaffolding.gateway_world import LEGACY, MODERN, world

POLICY = """
[settings]
wait_seconds = 0
[[rule]]
action = "deny"
tool = "**"
args."*" = "**/.ssh/**"
[[rule]]
action = "prompt"
tool = "mcp__rec__t"
args.path = "/etc/**"
[[rule]]
action = "allow"
tool = "**"
"""
TOOLS = (
    "mcp__rec__t",
    "mcp__rec__t",
    "mcp__rec__t",
    "update_notes",
    "recall",
    "mcp__rec__no",
    "no",
)
NAMES = ("path", "folder", "message", "notes", "x", "\\u0070ath")
OUTCOME = ("outcome", "method", "tool", "rule", "policy", "arguments_sha256", "shape", "note")
TICKET = re.compile(rb"allow \S+ --data-dir \S+'")
Outcome = tuple[int, bytes]


def call(rng: Random, version: str) -> bytes:
    """Return some call of a client, right or wrong."""
    is_odd = rng.random() < 0.3
    names = rng.sample(NAMES, rng.randint(0, 4))
    members = [f'"{name}":{rng.choice(VALUES)}' for name in names]
    if is_odd and rng.random() < 0.5:
        members.append(f'"odd":{rng.choice(ODD_VALUES)}')
    rng.shuffle(members)
    arguments = f"{{{' , '.join(members)}}}"
    if is_odd and rng.random() < 0.3:
        arguments = rng.choice(("[1]", '"text"', "7", "null"))
    params = [f'"name":"{rng.choice(TOOLS)}"', f'"arguments" : {arguments}']
    if version == MODERN:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        }
        params.append(f'"_meta":{json.dumps(meta)}')
    rng.shuffle(params)
    top = ['"jsonrpc":"2.0"', f'"id":{rng.choice(("7", chr(34) + "a" + chr(34)))}']
    top += ['"method":"tools/call"', f'"params":{{{",".join(params)}}}']
    if is_odd and rng.random() < 0.3:
        top.append(rng.choice(('"id":8', '"more":1', '"method":1')))
    rng.shuffle(top)
    raw = f"{{{','.join(top)}}}".encode()
    return (
        rng.choice((raw + b"x", raw[:-2], b"[" + raw + b"]"))
        if is_odd and rng.random() < 0.2
        else raw
    )


def posted(connection: HTTPConnection, path: str, body: bytes, version: str) -> Outcome:
    headers = {"content-type": "application/json", "accept": "application/json"}
    if version == MODERN:
        tool = re.search(rb'"name":"([^"]*)"', body)
        assert tool is not None
        headers |= {"mcp-method": "tools/call", "mcp-name": tool[1].decode()}
    connection.request("POST", path, body, {**headers, "mcp-protocol-version": version})
    response = connection.getresponse()
    return response.status, TICKET.sub(b"allow", response.read())


def outcomes(folder: Path, over: str, calls: list[bytes], version: str) -> tuple[Any, ...]:
    """Return what the client and the server got, and what was recorded."""
    folder.mkdir()
    file = folder / "calls"
    file.touch()
    with (
        recording(file, over) as server,
        world(folder / "w", {"rec": server}, policy=POLICY) as gateway,
    ):
        assert "mcp__rec__t" in gateway.tools()
        with gateway.over_http() as url:
            parts = urlsplit(url)
            connection = HTTPConnection(str(parts.hostname), parts.port, timeout=60)
            answers = [posted(connection, parts.path, body, version) for body in calls]
            connection.close()
        records = [{name: each.get(name) for name in OUTCOME} for each in gateway.records()]
    return answers, file.read_bytes().splitlines(), records


@pytest.mark.parametrize("version", [LEGACY, pytest.param(MODERN, marks=pytest.mark.slow)])
@pytest.mark.parametrize("over", ["stdio", "http"])
def test_a_call_that_a_helper_reads_has_the_same_outcome(
    over: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(f"{over} {version}")
    calls = [call(rng, version) for _ in range(120)]
    read = 0
    really = ScreeningProcesses.call

    def counted(self: ScreeningProcesses, *what: Any) -> Any:
        nonlocal read
        reply = really(self, *what)
        read += reply is not None
        return reply

    monkeypatch.setattr(ScreeningProcesses, "call", counted)
    monkeypatch.setattr("nacre.faces.http.laptop_server.LARGE_RESULT_BYTES", 1 << 60)
    here = outcomes(tmp_path / "here", over, calls, version)
    assert read == 0
    monkeypatch.setattr("nacre.faces.http.laptop_server.LARGE_RESULT_BYTES", 1)
    there = outcomes(tmp_path / "there", over, calls, version)

    for answer_here, answer_there, sent in zip(here[0], there[0], calls, strict=True):
        assert answer_there == answer_here, sent
    assert there[1:] == here[1:]
    assert len(here[1]) > 20
    assert read > 100

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
from nacre.core.limits import LARGE_RESULT_BYTES, MAX_BODY_BYTES
from nacre.faces.http.laptop_server import _is_long_to_read
from nacre.protocol import strict_json
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
tool = "mcp__rec__t"
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
    "mcp__mine__count",
    "call_tool",
    "call_reading_tool",
    "no",
)
OWN = """
from typing import Any

from nacre import Tool, ToolServer, tool

server = ToolServer("mine", "1")


async def counted(arguments: dict[str, Any]) -> str:
    return repr(sorted(arguments.items()))


server.register_tool(Tool("count", "Count.", {"type": "object"}, counted))
"""
OTHERS = (
    b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"x":[1,{"y":"\\u00e9"}]}}',
    b'{"jsonrpc":"2.0","id":"3","method":"tools/list","params":{}}',
    b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[1]}',
    b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":7,"arguments":{}}}',
    b'{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"nacre://being/soul"}}',
    b'{"jsonrpc":"2.0","id":3,"result":{"x":1}}',
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"no","arguments":{"a":1}}}',
    b'{"id":3,"method":"ping"}',
    b'[{"jsonrpc":"2.0","id":3,"method":"ping"}]',
    b'"text"',
    b"null",
    b" 7 ",
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
    tool = rng.choice(TOOLS)
    if tool.startswith("call_"):
        inner = rng.choice(("mcp__rec__t", "mcp__mine__count", "no"))
        arguments = f'{{"name":"{inner}","arguments":{arguments}}}'
    if is_odd and rng.random() < 0.3:
        arguments = rng.choice(("[1]", '"text"', "7", "null"))
    params = [f'"name":"{tool}"', f'"arguments" : {arguments}']
    if version == MODERN:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        }
        params.append(f'"_meta":{json.dumps(meta)}')
        if is_odd and rng.random() < 0.3:
            params.append('"inputResponses":{"q":{"action":"accept","content":{}}}')
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
    (folder / "own.py").write_text(OWN)
    file = folder / "calls"
    file.touch()
    with (
        recording(file, over) as server,
        world(
            folder / "w",
            {"rec": server},
            policy=POLICY,
            tool_servers=(f"{folder}/own.py:server",),
        ) as gateway,
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
    calls = [call(rng, version) for _ in range(130)]
    if version == LEGACY:
        calls += OTHERS
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
    monkeypatch.setattr("nacre.firewall.enforce.large_results.LARGE_RESULT_BYTES", 1)
    there = outcomes(tmp_path / "there", over, calls, version)

    for answer_here, answer_there, sent in zip(here[0], there[0], calls, strict=True):
        assert answer_there == answer_here, sent
    assert there[1:] == here[1:]
    assert len(here[1]) > 12
    assert read > 100


def test_the_server_itself_parses_nothing_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "calls"
    file.touch()
    (tmp_path / "own.py").write_text(OWN)
    rows = [{"id": number, "name": "a name", "on": True} for number in range(7000)]
    text = "x" * MAX_BODY_BYTES
    calls = {
        "mcp__rec__t": {"rows": rows, "text": text},
        "mcp__mine__count": {"rows": rows},
        "recall": {"user_message": "What do I like?", "rows": rows},
        "call_tool": {"name": "mcp__rec__t", "arguments": {"rows": rows}},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    bodies = [
        json.dumps({**message, "params": {"name": tool, "arguments": arguments}}).encode()
        for tool, arguments in calls.items()
    ]
    listing = {**message, "method": "tools/list", "params": {"text": text}}
    bodies.append(json.dumps(listing).encode())
    parsed: list[int] = []
    really = strict_json.parse

    def noted(raw: bytes | bytearray, *more: Any) -> Any:
        parsed.append(len(raw))
        return really(raw, *more)

    with (
        recording(file, "stdio") as server,
        world(
            tmp_path / "w",
            {"rec": server},
            policy=POLICY,
            tool_servers=(f"{tmp_path}/own.py:server",),
        ) as gateway,
    ):
        gateway.tools()
        monkeypatch.setattr(strict_json, "parse", noted)
        with gateway.over_http() as url:
            parts = urlsplit(url)
            connection = HTTPConnection(str(parts.hostname), parts.port, timeout=60)
            answers = [posted(connection, parts.path, body, LEGACY) for body in bodies]
            connection.close()

    assert [status for status, _ in answers] == [200, 200, 200, 200, 413]
    assert [b'"isError":true' in body for _, body in answers[:4]] == [False, False, True, False]
    refusal = json.loads(answers[4][1])
    assert refusal["id"] == 1
    assert "the message is larger than" in refusal["error"]["message"]
    received = [json.loads(line)["params"]["arguments"] for line in file.read_bytes().splitlines()]
    assert received == [calls["mcp__rec__t"], {"rows": rows}]
    assert parsed
    assert max(parsed) < LARGE_RESULT_BYTES


def test_images_and_files_stay_in_one_process() -> None:
    pictures = bytearray(b'{"images":["%b","%b"]}' % (b"iVBO" * 2_000_000, b"iVBO" * 2_000_000))

    assert not _is_long_to_read(pictures)
    assert not _is_long_to_read(b"{}" * 1000)
    assert _is_long_to_read(b"{}" * 200_000)
    assert _is_long_to_read(bytearray(b"[1,2,3]" * 2_000_000))
    assert _is_long_to_read(bytearray(rb"\n lines" * 2_000_000))

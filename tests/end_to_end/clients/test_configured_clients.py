"""Clients that are set up with exactly what the first start prints."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

ROOT = Path(__file__).parents[3]
TOKYO = {"timezone": "Asia/Tokyo"}


@dataclass(frozen=True, slots=True)
class Printed:
    """The configurations that the first start printed, by client."""

    claude_desktop: dict[str, Any]
    cursor: dict[str, Any]
    vs_code: dict[str, Any]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Printed]:
    home = tmp_path_factory.mktemp("home")
    process = subprocess.Popen(
        [sys.executable, "-m", "nacre.cli", "serve", "--port", "0", "--data-dir", home / "data"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "shared")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stdout is not None
    try:
        # The first line of the log comes when the socket listens, after all that is printed.
        process.stderr.readline()
        os.set_blocking(process.stdout.fileno(), False)
        text = process.stdout.read()
        found = re.findall(
            r"^(Claude Desktop|Cursor|VS Code) .*:\n\n(( .*\n)+)", text, re.MULTILINE
        )
        configurations = {name: json.loads(block) for name, block, _ in found}
        yield Printed(
            configurations["Claude Desktop"]["mcpServers"]["nacre"],
            configurations["Cursor"]["mcpServers"]["nacre"],
            configurations["VS Code"]["servers"]["nacre"],
        )
    finally:
        process.terminate()
        process.communicate(timeout=60)


async def tell_the_time(client: Client) -> str:
    answer = await client.call_tool("get_current_time", TOKYO)
    assert not answer.is_error
    assert answer.structured_content is not None
    return str(answer.structured_content["timezone"])


@pytest.mark.requirement("003.client.brt-config")
@pytest.mark.parametrize("client_name", ["cursor", "vs_code"])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_with_the_printed_url_and_header_connects(
    printed: Printed, client_name: str, mode: Any
) -> None:
    configuration = getattr(printed, client_name)

    async def main() -> str:
        async with (
            httpx2.AsyncClient(headers=configuration["headers"]) as http,
            Client(
                streamable_http_client(configuration["url"], http_client=http), mode=mode
            ) as client,
        ):
            return await tell_the_time(client)

    assert re.fullmatch(r"Bearer brt_\w+", configuration["headers"]["Authorization"])
    assert asyncio.run(main()) == "Asia/Tokyo"


@pytest.mark.requirement("000.client.stdio-config")
@pytest.mark.requirement("000.stdio.local-trust")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_with_the_printed_command_needs_no_token(printed: Printed, mode: Any) -> None:
    async def main() -> str:
        parameters = StdioServerParameters(**printed.claude_desktop)
        async with Client(parameters, mode=mode) as client:
            noted = await client.call_tool("update_notes", {"notes": ["written without a token"]})
            assert not noted.is_error
            return await tell_the_time(client)

    assert asyncio.run(main()) == "Asia/Tokyo"


@pytest.mark.requirement("000.stdio.per-client")
def test_clients_of_one_folder_have_a_process_each(printed: Printed) -> None:
    async def main() -> list[str]:
        parameters = StdioServerParameters(**printed.claude_desktop)
        async with Client(parameters) as one, Client(parameters) as other:
            return [await tell_the_time(one), await tell_the_time(other)]

    assert asyncio.run(main()) == ["Asia/Tokyo", "Asia/Tokyo"]


@pytest.mark.requirement("000.stdio.only")
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are listed on Linux")
def test_a_stdio_server_opens_no_socket(printed: Printed) -> None:
    command = [printed.claude_desktop["command"], *printed.claude_desktop["args"]]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        call = {"name": "get_current_time", "arguments": TOKYO}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        print(json.dumps(request), file=process.stdin, flush=True)
        answer = json.loads(process.stdout.readline())
        files = [file.readlink() for file in Path(f"/proc/{process.pid}/fd").iterdir()]
        process.stdin.close()

    assert answer["result"]["structuredContent"]["timezone"] == "Asia/Tokyo"
    assert [str(file) for file in files if str(file).startswith("socket:")] == []

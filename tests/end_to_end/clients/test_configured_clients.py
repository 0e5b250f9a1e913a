"""Clients that are set up with what the first start prints, or with `nacre connect`."""

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
class Configured:
    """What the first start prints, and the entry that `nacre connect` writes."""

    url: str
    token: str
    claude_desktop: dict[str, Any]


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Configured]:
    home = tmp_path_factory.mktemp("home")
    nacre = [sys.executable, "-m", "nacre.cli"]
    place = ["--data-dir", str(home / "data")]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "shared"), "HOME": str(home)}
    environment.pop("XDG_CONFIG_HOME", None)
    process = subprocess.Popen(
        [*nacre, "serve", "--port", "0", "--log", *place],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stdout is not None
    try:
        # The first event of the log comes when the socket listens, after all that is printed.
        while not process.stderr.readline().startswith("{"):
            pass
        os.set_blocking(process.stdout.fileno(), False)
        shown = process.stdout.read()
        url = re.search(r"^URL: +(\S+)$", shown, re.MULTILINE)
        token = re.search(r"^Token: +(\S+)$", shown, re.MULTILINE)
        assert url is not None
        assert token is not None
        subprocess.run(
            [*nacre, "connect", "claude-desktop", *place],
            env=environment,
            check=True,
            capture_output=True,
        )
        file = home / ".config" / "Claude" / "claude_desktop_config.json"
        servers = json.loads(file.read_text())["mcpServers"]
        yield Configured(url[1], token[1], servers["nacre"])
    finally:
        process.terminate()
        process.communicate(timeout=60)


async def tell_the_time(client: Client) -> str:
    answer = await client.call_tool("get_current_time", TOKYO)
    assert not answer.is_error
    assert answer.structured_content is not None
    return str(answer.structured_content["timezone"])


@pytest.mark.requirement("003.client.brt-config")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_with_the_printed_url_and_header_connects(
    configured: Configured, mode: Any
) -> None:
    headers = {"Authorization": f"Bearer {configured.token}"}

    async def main() -> str:
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(configured.url, http_client=http), mode=mode) as client,
        ):
            return await tell_the_time(client)

    assert re.fullmatch(r"brt_\w+", configured.token)
    assert asyncio.run(main()) == "Asia/Tokyo"


@pytest.mark.requirement("000.client.stdio-config")
@pytest.mark.requirement("000.stdio.local-trust")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_with_the_command_needs_no_token(configured: Configured, mode: Any) -> None:
    async def main() -> str:
        parameters = StdioServerParameters(**configured.claude_desktop)
        async with Client(parameters, mode=mode) as client:
            noted = await client.call_tool("update_notes", {"notes": ["written without a token"]})
            assert not noted.is_error
            return await tell_the_time(client)

    assert asyncio.run(main()) == "Asia/Tokyo"


@pytest.mark.requirement("000.stdio.per-client")
def test_clients_of_one_folder_have_a_process_each(configured: Configured) -> None:
    async def main() -> list[str]:
        parameters = StdioServerParameters(**configured.claude_desktop)
        async with Client(parameters) as one, Client(parameters) as other:
            return [await tell_the_time(one), await tell_the_time(other)]

    assert asyncio.run(main()) == ["Asia/Tokyo", "Asia/Tokyo"]


@pytest.mark.requirement("000.stdio.only")
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are listed on Linux")
def test_a_stdio_server_opens_no_socket(configured: Configured) -> None:
    command = [configured.claude_desktop["command"], *configured.claude_desktop["args"]]
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

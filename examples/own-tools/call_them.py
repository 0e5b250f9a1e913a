"""Serve both for a moment, and call them over HTTP with the official client."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from httpx2 import AsyncClient
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

HERE = Path(__file__).parent


async def talk(url: str, token: str) -> None:
    headers = {"authorization": f"Bearer {token}"}
    async with (
        AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        for tool in (await client.list_tools()).tools:
            if tool.name.startswith("mcp__"):
                print(f"{tool.name}: {tool.description}")
        counted = await client.call_tool("mcp__my-tools__word-count", {"text": "grain by grain"})
        shouted = await client.call_tool("mcp__one-file__shout", {"text": "pearls"})
        print(f"word-count: {counted.content[0].text}")
        print(f"shout: {shouted.content[0].text}")


def main() -> None:
    outside = os.environ  # noqa: TID251 - a program of its own
    with tempfile.TemporaryDirectory() as home:
        environment = {
            **outside,
            "NACRE_HOME": home,
            "NACRE_POLICY": str(HERE / "policy.toml"),
            # An installed package needs no setting; this one stands in for it.
            "PYTHONPATH": os.pathsep.join([str(HERE / "src"), outside.get("PYTHONPATH", "")]),
            "NACRE_TOOL_SERVERS": f"my_tools:server,{HERE / 'one_file.py'}:server",
        }
        server = subprocess.Popen(
            [sys.executable, "-m", "nacre.cli", "serve", "--port", "0"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert server.stdout is not None
        output = ""
        while not (url := re.search(r"(http://\S+/mcp/?\S*)", output)) or "brt_" not in output:
            line = server.stdout.readline()
            assert line, output
            output += line
        token = re.search(r"brt_[A-Za-z0-9_-]+", output)
        assert token is not None
        try:
            asyncio.run(talk(url[1].rstrip('",'), token[0]))
        finally:
            server.terminate()
            server.communicate()


if __name__ == "__main__":
    main()

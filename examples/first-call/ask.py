"""Connect to a Being with the official MCP client and ask it the time: ask.py URL TOKEN."""

import asyncio
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def ask(url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        print(f"client: connected to {client.server_info.name}, MCP {client.protocol_version}")

        listed = await client.list_tools()
        for tool in listed.tools:
            print(f"server: I have {tool.name}. {tool.description}")

        print("client: get_current_time, timezone Asia/Tokyo")
        answer = await client.call_tool("get_current_time", {"timezone": "Asia/Tokyo"})
        print(f"server: {answer.content[0].text}")

        print("client: get_current_time, timezone Mars/Olympus")
        answer = await client.call_tool("get_current_time", {"timezone": "Mars/Olympus"})
        print(f"server: {answer.content[0].text}")


if __name__ == "__main__":
    asyncio.run(ask(sys.argv[1], sys.argv[2]))

"""Tell a Being something, and ask it later, with the official MCP client: ask.py URL TOKEN."""

import asyncio
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

SCENE = {
    "action": "Ann adopted a grey cat called Miso",
    "actors": ["Ann"],
    "when": ["2026-11-18"],
    "feeling": "She was happy all evening.",
}
QUESTION = "What is the name of Ann's pet?"


async def ask(url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        print(f"client: connected to {client.server_info.name}, MCP {client.protocol_version}")
        listed = await client.list_tools()
        print(f"server: I have {', '.join(sorted(tool.name for tool in listed.tools))}")

        print(f"client: update_notes, {SCENE['action']}")
        answer = await client.call_tool("update_notes", {"scenes": [SCENE]})
        print(f"server: {'noted' if not answer.is_error else answer.content[0].text}")

        print(f"client: recall, {QUESTION}")
        answer = await client.call_tool("recall", {"user_message": QUESTION})
        print(f"server: {answer.content[0].text}")

        print("client: get_current_time, timezone Mars/Olympus")
        answer = await client.call_tool("get_current_time", {"timezone": "Mars/Olympus"})
        print(f"server: {answer.content[0].text}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: ask.py URL TOKEN, both as the first start of the server printed them")
    try:
        asyncio.run(ask(sys.argv[1], sys.argv[2]))
    except ExceptionGroup as group:  # of the client's tasks; the reason is the innermost one
        error: Exception = group
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        sys.exit(f"error: {error}")

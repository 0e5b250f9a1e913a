"""The official Python client's OAuth flow, either generation, told line by line.

oauth_python.py URL [ROUNDS [TOOL]]: prints `OPEN url` when a browser is needed and reads back
where the answer went; prints `READY` before each further round and waits for a line; at the end
one JSON object of what it saw.
"""
# Two major versions share this file; only one is installed where it is type-checked.
# mypy: ignore-errors

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlsplit

import mcp
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata


class Memory:
    """Tokens of one run."""

    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def say(text):
    print(text, flush=True)


async def hear():
    return (await asyncio.to_thread(sys.stdin.readline)).strip()


async def open_browser(url):
    await say(f"OPEN {url}")


async def callback():
    query = {k: v[0] for k, v in parse_qs(urlsplit(await hear()).query).items()}
    if MODERN:
        from mcp.shared.auth import AuthorizationCodeResult

        return AuthorizationCodeResult(
            code=query["code"], state=query.get("state"), iss=query.get("iss")
        )
    return query["code"], query.get("state")


TOOL = sys.argv[3] if len(sys.argv) > 3 else "get_current_time"
ARGUMENTS = {"notes": ["Pearls grow from the inside"]} if TOOL == "update_notes" else {}
MODERN = hasattr(mcp, "Client")


def provider(url, memory):
    metadata = OAuthClientMetadata(
        client_name="Python client",
        redirect_uris=["http://127.0.0.1:3030/callback"],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
    )
    return OAuthClientProvider(
        server_url=url,
        client_metadata=metadata,
        storage=memory,
        redirect_handler=open_browser,
        callback_handler=callback,
    )


async def modern(url, auth, rounds):
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    seen = []
    async with httpx2.AsyncClient(auth=auth) as http:
        for number in range(rounds):
            if number:
                await say("READY")
                await hear()
            async with Client(streamable_http_client(url, http_client=http)) as client:
                seen.append(sorted(tool.name for tool in (await client.list_tools()).tools))
                await client.call_tool(TOOL, ARGUMENTS)
    return seen


async def first(url, auth, rounds):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    seen = []
    for number in range(rounds):
        if number:
            await say("READY")
            await hear()
        async with (
            streamablehttp_client(url, auth=auth) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            seen.append(sorted(tool.name for tool in (await session.list_tools()).tools))
            await session.call_tool(TOOL, ARGUMENTS)
    return seen


async def main(url, rounds):
    memory = Memory()
    talk = modern if MODERN else first
    seen = await talk(url, provider(url, memory), rounds)
    await say(json.dumps({"tools": seen, "scope": memory.tokens.scope}))


asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1))

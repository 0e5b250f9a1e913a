"""The first generation's Python client (mcp 1.x) cancels calls, run with that client's Python.

v1_cancelling.py URL notification|hang-up TOOL

Prints when the call runs; ends once the client has done its part.
"""
# The names are those of another major version than the one that is type-checked here.
# mypy: ignore-errors

import asyncio
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification


async def main(url, way, tool):
    async with (
        streamablehttp_client(url) as (reads, writes, _),
        ClientSession(reads, writes) as session,
    ):
        await session.initialize()
        begun = asyncio.Event()

        async def progressed(_progress, _total, _message):
            begun.set()

        request_id = session._request_id  # of the next request
        call = asyncio.create_task(session.call_tool(tool, {}, progress_callback=progressed))
        await begun.wait()
        if way == "notification":
            params = CancelledNotificationParams(requestId=request_id, reason="enough")
            await session.send_notification(
                ClientNotification(
                    CancelledNotification(method="notifications/cancelled", params=params)
                )
            )
            # The session goes on.
            assert (await session.list_tools()).tools
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        if way == "hang-up":
            import os

            os._exit(0)  # all connections end, and nothing else is said


asyncio.run(main(*sys.argv[1:]))

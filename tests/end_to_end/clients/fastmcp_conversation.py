"""Tasks by FastMCP's client: `python -m tests.end_to_end.clients.fastmcp_conversation URL`.

It runs in the client's own environment, where nothing of Nacre is installed.
"""

import asyncio
import json
import sys
from typing import Any

from fastmcp import Client
from fastmcp_tasks.client import call_tool_task

ANSWERS = {"confirm": True, "name": "Alice"}


async def answer(message: str, kind: Any, params: Any, context: Any) -> Any:
    """Fill in a form as a person would."""
    fields = getattr(kind, "__annotations__", None) or {}
    return {name: ANSWERS[name] for name in fields}


async def converse(url: str) -> dict[str, Any]:
    async with Client(url, elicitation_handler=answer) as client:

        async def said(tool: str, **arguments: Any) -> str:
            done = await client.call_tool(tool, arguments, raise_on_error=False)
            return str(done.content[0].text)

        try:
            await client.call_tool("protocol_error_job", {})
            refused = "no error"
        except Exception as error:  # noqa: BLE001 - whatever it raises, its text counts
            refused = str(error)
        task = await call_tool_task(client, "slow_compute", {"seconds": 60})
        working = (await task.status()).status
        await task.cancel()
        return {
            "at once": await said("greet", name="Ann"),
            "slow": await said("slow_compute", seconds=0.2, label="x"),
            "failed": await said("failing_job"),
            "refused": refused,
            "asked": await said("confirm_delete", filename="a.txt"),
            "asked twice at once": await said("multi_input"),
            "asked before": await said("test_tool_with_task"),
            "given up": [working, (await task.status()).status],
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(converse(sys.argv[1]))))

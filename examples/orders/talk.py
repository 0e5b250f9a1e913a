"""Two orders in one session, the first with an image and a PDF, by the official Python client."""

import asyncio
import base64
import os
from pathlib import Path

from mcp import Client, StdioServerParameters

HERE = Path(__file__).parent
SERVER = StdioServerParameters(
    command=".venv/bin/nacre",
    args=["mcp-server", "--only-order", "--name", "Pearl", "--data-dir", "pearl"],
    env=dict(os.environ),  # noqa: TID251 - the model's settings are there
)


def sent(name: str, mime_type: str) -> dict[str, str]:
    """Return a file as an order takes it."""
    data = base64.b64encode((HERE / name).read_bytes()).decode()
    return {"data": data, "mimeType": mime_type, "filename": name}


async def order(client: Client, message: str, **media: list[dict[str, str]]) -> None:
    """Give an order, and print both sides."""
    along = [item["filename"] for items in media.values() for item in items]
    print(f"> {message}" + (f"  [{', '.join(along)}]" if along else ""))
    arguments = {"message": message, "sessionKey": "at-the-beach", **media}
    answer = await client.call_tool("order_pearl", arguments)
    print("\n".join(block.text for block in answer.content if block.type == "text"))


async def main() -> None:
    """Talk."""
    async with Client(SERVER) as client:
        [tool] = (await client.list_tools()).tools
        print(f"The server has one tool: {tool.name}")
        await order(
            client,
            "What did I find, and when can I go back on Sunday?",
            images=[sent("shell.png", "image/png")],
            files=[sent("tides.pdf", "application/pdf")],
        )
        await order(client, "When was that again?")


asyncio.run(main())

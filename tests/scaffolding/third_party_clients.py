"""A conversation with somebody's server as the official Python clients see it."""

import json
import os
import subprocess
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from infra.tools import programs
from tests.scaffolding.third_party import ROOT, Step


async def converse(client: Any, steps: Sequence[Step]) -> list[Any]:
    """Make the requests one after another with an open `mcp.Client` and return what it saw."""
    from mcp import MCPError

    seen: list[Any] = []
    for step in steps:
        progress: list[Any] = []

        async def watch(
            done: float, total: float | None, said: str | None, kept: list[Any] = progress
        ) -> None:
            kept.append([done, total, said])

        try:
            result = await _REQUESTS[step.method](client, step.params, watch)
        except MCPError as error:
            seen.append({"code": error.error.code, "message": error.error.message})
            continue
        shown = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        seen.append({"result": shown, "progress": progress})
    return seen


def callbacks() -> dict[str, Any]:
    """Return what a client answers to servers that ask: sampling, elicitation and roots."""
    from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent
    from pydantic import FileUrl

    async def complete(context: Any, params: Any) -> CreateMessageResult:
        del context
        asked = "".join(each.content.text for each in params.messages)
        said = TextContent(type="text", text=f"asked: {asked[:80]}")
        return CreateMessageResult(role="assistant", content=said, model="test")

    async def fill_in(context: Any, params: Any) -> ElicitResult:
        del context
        names = sorted(params.requested_schema["properties"])
        return ElicitResult(action="accept", content={"name": "Ann", "check": len(names) > 3})

    async def roots(context: Any) -> ListRootsResult:
        del context
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///project"), name="project")])

    return {
        "sampling_callback": complete,
        "elicitation_callback": fill_in,
        "list_roots_callback": roots,
    }


def seen_over_stdio(
    command: Sequence[str], environment: Mapping[str, str], steps: Sequence[Step], *, mode: str
) -> list[Any]:
    """Return what the 2.x client sees of a server that it starts; `mode` is `auto` or `legacy`."""
    import asyncio

    from mcp import Client, StdioServerParameters, stdio_client

    async def main() -> list[Any]:
        parameters = StdioServerParameters(
            command=command[0], args=list(command[1:]), env=dict(environment)
        )
        kind: Any = mode
        with Path(os.devnull).open("w") as log:
            async with Client(
                stdio_client(parameters, errlog=log), mode=kind, **callbacks()
            ) as client:
                return [_opened(client), *await converse(client, steps)]

    return asyncio.run(main())


def seen_over_http(
    url: str, steps: Sequence[Step], *, mode: str, transport: str = "http"
) -> list[Any]:
    """Return what the 2.x client sees of a server at a URL; `transport` is `http` or `sse`."""
    import asyncio

    from mcp import Client
    from mcp.client.sse import sse_client

    async def main() -> list[Any]:
        where: Any = sse_client(url) if transport == "sse" else url
        kind: Any = mode
        async with Client(where, mode=kind, **callbacks()) as client:
            return [_opened(client), *await converse(client, steps)]

    return asyncio.run(main())


def seen_by_first_generation(request: Mapping[str, Any]) -> list[Any]:
    """Return what the 1.x client sees; `request` has `steps`, and `command` and `env` or `url`."""
    done = subprocess.run(
        [programs("client-v1") / "python", ROOT / "tests" / "scaffolding" / "third_party_v1.py"],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen: list[Any] = json.loads(done.stdout)
    return seen


def _opened(client: Any) -> dict[str, Any]:
    info, capabilities = client.server_info, client.server_capabilities
    return {
        "version": client.protocol_version,
        "server": None if info is None else info.model_dump(mode="json"),
        "capabilities": capabilities.model_dump(mode="json", exclude_none=True),
        "instructions": client.instructions,
    }


def _completed(client: Any, params: Mapping[str, Any]) -> Awaitable[Any]:
    from mcp_types import PromptReference

    ref = PromptReference(type="ref/prompt", name=params["ref"]["name"])
    answer: Awaitable[Any] = client.complete(ref, params["argument"])
    return answer


def _ping(client: Any) -> Awaitable[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the newest generation has none
        answer: Awaitable[Any] = client.send_ping()
    return answer


_REQUESTS: Mapping[str, Callable[[Any, Mapping[str, Any], Any], Awaitable[Any]]] = {
    "ping": lambda client, params, watch: _ping(client),
    "tools/list": lambda client, params, watch: client.list_tools(),
    "resources/list": lambda client, params, watch: client.list_resources(),
    "resources/templates/list": lambda client, params, watch: client.list_resource_templates(),
    "prompts/list": lambda client, params, watch: client.list_prompts(),
    "tools/call": lambda client, params, watch: client.call_tool(
        params["name"], params.get("arguments"), progress_callback=watch
    ),
    "resources/read": lambda client, params, watch: client.read_resource(params["uri"]),
    "prompts/get": lambda client, params, watch: client.get_prompt(
        params["name"], params.get("arguments")
    ),
    "completion/complete": lambda client, params, watch: _completed(client, params),
}

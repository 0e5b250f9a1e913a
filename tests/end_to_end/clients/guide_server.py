"""A conversation with a server as a page of the guide sets it up, by one of two ways."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nacre.firewall.analysis.lint import lint
from nacre.firewall.policies.loader import load_policy
from nacre.gateway.catalogue.store import StoredCatalogue
from tests.firewall.proxy.programs import NACRE, environment
from tests.scaffolding.gateway_world import world
from tests.scaffolding.server_pages import ServerPage

WAYS = ("gateway", "wrap")


@dataclass
class Client:
    """The official client; it answers what it is asked about calls with `decision`."""

    session: Any
    prefix: str
    folder: Path
    decision: str = "allow once"
    asked: list[str] = field(default_factory=list)
    progress: list[float] = field(default_factory=list)

    async def tools(self) -> dict[str, Any]:
        """Return the server's tools by its own names."""
        listed = (await self.session.list_tools()).tools
        return {
            tool.name.removeprefix(self.prefix): tool
            for tool in listed
            if tool.name.startswith(self.prefix)
        }

    async def result(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result, or the error of the protocol."""
        from mcp import MCPError

        async def watch(done: float, total: float | None, message: str | None) -> None:
            del total, message
            self.progress.append(done)

        try:
            result = await self.session.call_tool(
                self.prefix + tool, arguments, progress_callback=watch
            )
        except MCPError as error:
            return {"code": error.error.code, "message": error.error.message}
        shown: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        return shown

    async def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool and return the text of its result or error, which begins with `!` then."""
        result = await self.result(tool, **arguments)
        if "code" in result:
            return f"! {result['code']}: {result['message']}"
        text = "".join(block.get("text", "") for block in result["content"])
        return f"! {text}" if result.get("isError") else text

    async def call_after_a_loss(self, tool: str, **arguments: Any) -> str:
        """Call a tool of a server that was killed, once more if the call was on its way by then."""
        said = await self.call(tool, **arguments)
        return await self.call(tool, **arguments) if "was lost while" in said else said

    async def read(self, uri: str) -> str:
        """Read a resource and return its text or error."""
        from mcp import MCPError

        try:
            result = await self.session.read_resource(uri)
        except MCPError as error:
            return f"! {error.error.code}: {error.error.message}"
        return "".join(getattr(each, "text", "") for each in result.contents)


Talk = Callable[[Client], Awaitable[None]]


def talk(
    way: str, page: ServerPage, entry: dict[str, Any], folder: Path, say: Talk, **secrets: str
) -> list[dict[str, Any]]:
    """Hold a conversation with a page's server, and return what was recorded of it."""
    with ExitStack() as stack:
        if way == "gateway":
            gateway = stack.enter_context(
                world(folder / "nacre", {page.server: entry}, policy=page.policy)
            )
            for name, value in secrets.items():
                gateway.laptop.ports.secrets.set(name, value)
            url = stack.enter_context(gateway.over_http())
            asyncio.run(_converse(url, f"mcp__{page.server}__", folder, say, "auto"))
            listed = StoredCatalogue(lambda: gateway.laptop.data).load()[page.server].offered
            if listed is not None:  # beside what the server really lists, nothing looks wrong
                policy = load_policy(page.policy, source="policy.toml")
                findings = lint(policy, {page.server: listed.tools})
                assert [finding.text for finding in findings] == []
            return gateway.records()
        from mcp import StdioServerParameters, stdio_client

        command, variables = wrapped(page, entry, folder)
        parameters = StdioServerParameters(
            command=command[0], args=command[1:], env={**environment(), **variables, **secrets}
        )
        log = stack.enter_context((folder / "stderr").open("w"))
        asyncio.run(_converse(stdio_client(parameters, errlog=log), "", folder, say, "legacy"))
        files = sorted((folder / "nacre" / "audit").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def wrapped(
    page: ServerPage, entry: dict[str, Any], folder: Path
) -> tuple[list[str], dict[str, str]]:
    """Let `nacre wrap` put the policy before the server in Cursor's file; return the new entry."""
    file = folder / ".cursor" / "mcp.json"
    file.parent.mkdir()
    known = {key: entry[key] for key in ("command", "args", "env") if key in entry}
    file.write_text(json.dumps({"mcpServers": {page.server: known}}))
    (folder / "policy.toml").write_text(page.policy)
    options = ["--policy", str(folder / "policy.toml")]
    if "base" in entry:
        options += ["--base", entry["base"]]
    own = {"HOME": str(folder), "NACRE_HOME": str(folder / "nacre")}
    subprocess.run(
        [*NACRE, "wrap", page.server, *options], env={**environment(), **own}, check=True
    )
    made = json.loads(file.read_text())["mcpServers"][page.server]
    return [made["command"], *made["args"]], {**own, **made.get("env", {})}


async def _converse(where: Any, prefix: str, folder: Path, say: Talk, mode: Any) -> None:
    import mcp
    from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent
    from pydantic import FileUrl

    client = Client(None, prefix, folder)

    async def decide(context: Any, params: Any) -> ElicitResult:
        del context
        client.asked.append(params.message)
        fields = params.requested_schema["properties"]
        if "decision" in fields:
            return ElicitResult(action="accept", content={"decision": client.decision})
        return ElicitResult(action="accept", content={"name": "Ann"})

    async def complete(context: Any, params: Any) -> CreateMessageResult:
        del context
        client.asked.append("sampling")
        text = TextContent(type="text", text=f"{len(params.messages)} message")
        return CreateMessageResult(role="assistant", content=text, model="test")

    async def roots(context: Any) -> ListRootsResult:
        del context
        client.asked.append("roots")
        return ListRootsResult(roots=[Root(uri=FileUrl(f"file://{folder}"), name="home")])

    async with mcp.Client(
        where,
        mode=mode,
        elicitation_callback=decide,
        sampling_callback=complete,
        list_roots_callback=roots,
    ) as session:
        client.session = session
        # Kept from the client's task groups, which would wrap it.
        failure: Exception | None = None
        try:
            await say(client)
        except Exception as error:  # noqa: BLE001 - raised below
            failure = error
    if failure is not None:
        raise failure


def kill_programs(program: str) -> int:
    """Kill the servers below this process whose arguments name `program`; return how many."""
    victims = [
        pid
        for pid in _below(os.getpid())
        if "proxy" not in (command := _command(pid)) and any(program in each for each in command)
    ]
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    return len(victims)


def _below(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            yield child
            yield from _below(child)


def _command(pid: int) -> Sequence[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:  # it has ended
        return ()

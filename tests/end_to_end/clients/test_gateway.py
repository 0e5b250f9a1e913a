"""Other people's servers behind /mcp: every client sees what it sees of them without."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from infra.local_cloud import free_port
from tests.end_to_end.clients.far_servers import serving
from tests.scaffolding.gateway_world import World, world
from tests.scaffolding.third_party import SERVERS, Step, ThirdParty, differences
from tests.scaffolding.third_party_clients import (
    seen_by_first_generation,
    seen_over_http,
    seen_over_stdio,
)

pytestmark = pytest.mark.slow

CLIENTS = ("mcp 2 auto", "mcp 2 legacy", "mcp 1")
LISTS = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}
# What a connection says of itself, or how long a list may be kept.
OF_THE_CONNECTION = ("ttlMs", "cacheScope", "resultType", "_meta", "nextCursor")


def behind(name: str, step: Step) -> Step:
    """Return a request as it is made of the gateway."""
    prefix = f"mcp__{name}__"
    if step.method in ("tools/call", "prompts/get"):
        return replace(step, params={**step.params, "name": prefix + step.params["name"]})
    if step.method == "completion/complete":
        ref = {**step.params["ref"], "name": prefix + step.params["ref"]["name"]}
        return replace(step, params={**step.params, "ref": ref})
    return step


def plain(name: str, step: Step, seen: Any) -> Any:
    """Return what was seen without what is the gateway's own, or the connection's."""
    if step.method in LISTS and seen.get("code") == -32601:
        # It has none of these, but behind the gateway others have.
        return {"progress": [], "result": {LISTS[step.method][0]: []}}
    if "result" not in seen:
        return {**seen, "message": seen["message"].replace(f"mcp__{name}__", "")}
    result = {key: value for key, value in seen["result"].items() if key not in OF_THE_CONNECTION}
    if step.method in LISTS:
        key, called = LISTS[step.method]
        result[key] = [
            {**each, called: each[called].removeprefix(f"mcp__{name}__")}
            for each in result[key]
            if not is_own(each[called], called)
        ]
    return {**seen, "result": result}


def is_own(value: str, called: str) -> bool:
    """Tell whether it is the gateway's own; direct lists hold nothing of it."""
    return value in OWN_NAMES if called == "name" else value.startswith("nacre://")


OWN_NAMES: set[str] = set()
# The gateway itself knows what there is, and answers pings, which the newest generation has not.
SAID_BY_THE_GATEWAY = {
    "ping",
    "tools/call no-such-tool",
    "tools/call no_such_tool",
    "resources/read demo://no/such",
}


def seen(client: str, how: Mapping[str, Any], steps: Sequence[Step]) -> list[Any]:
    """Return what a client sees; of its opening nothing is compared."""
    if client == "mcp 1":
        return seen_by_first_generation({**how, "steps": [asdict(step) for step in steps]})[1:]
    mode = client.rpartition(" ")[2]
    if "url" in how:
        transport = how.get("transport", "http")
        return seen_over_http(how["url"], steps, mode=mode, transport=transport)[1:]
    return seen_over_stdio(how["command"], how["env"], steps, mode=mode)[1:]


def own_names(gateway: World) -> set[str]:
    """Return the names of the gateway's own tools and prompts."""
    listed = [
        each["name"]
        for kind in ("tools", "prompts")
        for each in gateway.ask(f"{kind}/list")["result"][kind]
    ]
    return {name for name in listed if not name.startswith("mcp__")}


def runs(
    server: ThirdParty, client: str, folder: Path, transport: str = "stdio"
) -> tuple[list[Step], list[tuple[Path, list[Any]]]]:
    """Ask a server directly and behind the gateway, and return what was seen of it."""
    found = []
    steps: list[Step] = []
    OWN_NAMES.clear()  # of a direct list, nothing is left out
    port = free_port()  # the same for both runs, because servers show their environment
    for via in ("direct", "behind"):
        here = folder / via
        here.mkdir()
        with ExitStack() as stack:
            if transport == "stdio":
                server.prepare(here)
                how: dict[str, Any] = {
                    "command": server.command(here),
                    "env": server.environment(here),
                }
                entry: dict[str, Any] = {
                    "command": how["command"][0],
                    "args": how["command"][1:],
                    "env": how["env"],
                }
            else:
                url = stack.enter_context(serving(server, transport, here, port))
                how = {"url": url, "transport": transport}
                entry = {"type": transport, "url": url}
            steps = [*server.steps(here)]
            asked = steps
            if via == "behind":
                gateway = stack.enter_context(world(folder / "gateway", {server.name: entry}))
                OWN_NAMES.update(own_names(gateway))
                how = {"url": stack.enter_context(gateway.over_http())}
                asked = [behind(server.name, step) for step in steps]
            answers = seen(client, how, asked)
        kept = [plain(server.name, *pair) for pair in zip(steps, answers, strict=True)]
        found.append((here, kept))
    return steps, found


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_behind_the_gateway_is_what_it_is_without(
    name: str, client: str, tmp_path: Path
) -> None:
    steps, found = runs(SERVERS[name], client, tmp_path)

    changed = {each.partition(":\n")[0] for each in differences(SERVERS[name], steps, *found)}
    assert len(steps) > 6
    assert changed <= SAID_BY_THE_GATEWAY, differences(SERVERS[name], steps, *found)


@pytest.mark.parametrize("client", CLIENTS[1:])
@pytest.mark.parametrize("transport", ["http", "sse"])
def test_a_server_that_is_reached_by_a_url_is_what_it_is_without(
    transport: str, client: str, tmp_path: Path
) -> None:
    everything = SERVERS["everything"]
    steps, found = runs(everything, client, tmp_path, transport)

    changed = {each.partition(":\n")[0] for each in differences(everything, steps, *found)}
    assert len(steps) > 6
    assert changed <= SAID_BY_THE_GATEWAY, differences(everything, steps, *found)

"""What the gateway adds to a call of a warm HTTP server: the promise is at most 1 ms."""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from nacre.core.clock import system_clock
from nacre.gateway.catalogue.health import failed
from nacre.gateway.catalogue.store import Entry, StoredCatalogue
from nacre.gateway.servers.config import server_from
from nacre.ports.other_programs.upstream import Offered
from tests.benchmarks.processes import null_server, served_by
from tests.scaffolding.gateway_world import EVERYTHING_GOES, World, world

pytestmark = pytest.mark.benchmark

ROUNDS = 300
SERVE = """
import sys
from pathlib import Path

from tests.scaffolding.gateway_world import EVERYTHING_GOES, World, world

with world(Path(sys.argv[1]), {"null": {"url": f"http://127.0.0.1:{sys.argv[2]}/mcp"}}) as gateway:
    assert gateway.tools() == ["mcp__null__echo"]
    with gateway.over_http() as url:
        print(url, flush=True)
        sys.stdin.read()
"""


async def raw(port: int, path: str, tool: str, version: str) -> float:
    """Return the median of a call over a connection that stays open, in microseconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": {"n": 1}},
    }
    body = json.dumps(call).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        f"accept: application/json\r\nmcp-protocol-version: {version}\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    taken = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        size = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        said = await reader.readexactly(size)
        taken.append(time.perf_counter() - begun)
        assert b'"hi"' in said, said
    writer.close()
    return median(taken[50:]) * 1e6


async def official(url: str, tool: str) -> float:
    """Return the median of a call by the official client, in microseconds."""
    from mcp import Client

    taken = []
    async with Client(url, mode="auto") as client:
        await client.list_tools()
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            result = await client.call_tool(tool, {"n": 1})
            taken.append(time.perf_counter() - begun)
            assert not result.is_error, result
    return median(taken[50:]) * 1e6


def shown(what: str, direct: float, through: float) -> float:
    added = through - direct
    print(f"{what:<10} direct {direct:6.0f} µs  through {through:6.0f} µs  added {added:6.0f} µs")
    return added


Measure = Callable[[], Awaitable[float]]


def least(*measures: Measure) -> list[float]:
    """Measure each of these some times, by turns, and return the least: others work here too."""
    rounds = [[asyncio.run(_of(measure)) for measure in measures] for _ in range(5)]
    return [min(found) for found in zip(*rounds, strict=True)]


async def _of(measure: Measure) -> float:
    return await measure()


def test_a_call_through_the_gateway_adds_at_most_a_millisecond(tmp_path: Path) -> None:
    with (
        null_server() as port,
        served_by(SERVE, str(tmp_path / "w"), str(port)) as (_, url),
    ):
        own = int(url.rpartition(":")[2].partition("/")[0])
        direct, through = least(
            lambda: raw(port, "/mcp", "echo", "2025-11-25"),
            lambda: raw(own, "/mcp", "mcp__null__echo", "2025-11-25"),
        )
        client_direct, client_through = least(
            lambda: official(f"http://127.0.0.1:{port}/mcp", "echo"),
            lambda: official(url, "mcp__null__echo"),
        )
    added = shown("raw", direct, through)
    shown("official", client_direct, client_through)

    assert added <= 1000


SERVERS, TOOLS, LISTS = 30, 500, 200


def listed(gateway: World) -> set[str]:
    """Ask for every page of the list, and return the names in it of other servers' tools."""
    pages: list[bytes] = []
    cursor: str | None = None
    while cursor is not None or not pages:
        pages.append(gateway.answer("tools/list", {"cursor": cursor} if cursor else {}))
        end = re.search(rb'"nextCursor":"([^"]+)"', pages[-1])
        cursor = end[1].decode() if end is not None else None
    return {name.decode() for page in pages for name in re.findall(rb'"(mcp__[^"]+)"', page)}


@pytest.mark.parametrize("profile", ["", "every", "half"])
def test_a_list_of_many_servers_takes_little_processor_time(tmp_path: Path, profile: str) -> None:
    """Everything is known: also one that is down delays nothing."""
    configs = {f"s{number:02}": {"command": "/no/such/program"} for number in range(SERVERS)}
    schema = {
        "type": "object",
        "properties": {
            name: {"type": "string", "description": f"The {name} of what is wanted"}
            for name in ("path", "query", "limit", "format")
        },
    }
    profiles = "".join(
        f'[profile.{name}]\nservers = {json.dumps(servers)}\ntools = ["t*", "other*"]\n'
        for name, servers in (("every", list(configs)), ("half", list(configs)[: SERVERS // 2]))
    )
    policy = EVERYTHING_GOES + profiles
    with world(tmp_path / "w", configs, policy=policy, tools="all") as laptop:
        gateway = replace(laptop, principal=replace(laptop.principal, profile=profile))
        catalogue = StoredCatalogue(lambda: gateway.laptop.data)
        now = system_clock().timestamp()
        entries = {}
        for number, (name, entry) in enumerate(configs.items()):
            count = TOOLS // SERVERS + (number < TOOLS % SERVERS)
            tools = tuple(
                {"name": f"t{tool}", "description": "Finds something. " * 8, "inputSchema": schema}
                for tool in range(count)
            )
            config = server_from(name, entry)
            entries[name] = Entry(config.digest, now, Offered(tools=tools))
        entries["s00"] = failed(entries["s00"], server_from("s00", configs["s00"]), "is down", now)
        catalogue.update(lambda _: entries)
        begun = time.process_time()
        names = listed(gateway)
        cold = (time.process_time() - begun) * 1000
        taken = []
        for _ in range(LISTS):
            begun = time.process_time()
            listed(gateway)
            taken.append(time.process_time() - begun)
        warm = median(taken) * 1000

    where = f"the profile {profile}" if profile else "no profile"
    print(f"{where}: {len(names)} tools, all pages: first {cold:.1f} ms, then {warm:.2f} ms")
    assert len(names) == (TOOLS if profile != "half" else 255)
    assert warm <= 10

"""Mixed traffic from the official Python client, several at once, of both generations."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from nacre.core.limits import MAX_SEARCH_MEMORIES
from tests.end_to_end.load import traffic
from tests.end_to_end.load.measuring import Timings

Mode = Literal["auto", "legacy"]
MODES: tuple[Mode, ...] = ("auto", "legacy")
LLM_KEY = "sk-load"
_PATIENCE_SECONDS = 60
_FEW = 3


@dataclass(frozen=True, slots=True)
class Target:
    """A server under load: where it takes MCP and questions to the policy, and who asks."""

    mcp_url: str
    policy_url: str
    token: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @asynccontextmanager
    async def http(self) -> AsyncIterator[httpx2.AsyncClient]:
        """Open the connections of one client."""
        headers = {
            **self.headers,
            "authorization": f"Bearer {self.token}",
            "x-llm-api-key": LLM_KEY,
        }
        async with httpx2.AsyncClient(headers=headers, timeout=_PATIENCE_SECONDS) as http:
            yield http

    @asynccontextmanager
    async def client(self, mode: Mode) -> AsyncIterator["Caller"]:
        """Connect one official client."""
        async with (
            self.http() as http,
            Client(streamable_http_client(self.mcp_url, http_client=http), mode=mode) as client,
        ):
            yield Caller(client, http, self.policy_url)


@dataclass(frozen=True, slots=True)
class Caller:
    """One connected client."""

    client: Client
    http: httpx2.AsyncClient
    policy_url: str

    async def make(self, call: traffic.Call) -> str:
        """Make a call and return what it said; raises RuntimeError where it was refused."""
        if call.kind == traffic.POLICY:
            answer = await self.http.post(self.policy_url, json=call.arguments)
            if answer.status_code != 200:
                raise RuntimeError(f"{answer.status_code} {answer.text[:200]}")
            return answer.text
        result: Any = await self.client.call_tool(call.kind, call.arguments)
        said = "\n".join(block.text for block in result.content)
        if result.is_error:
            raise RuntimeError(said[:200])
        return said


@dataclass
class Run:
    """What came of a run."""

    timings: Timings = field(default_factory=Timings)
    acknowledged: list[str] = field(default_factory=list)
    lasted: float = 0.0
    numbers: int = 1_000_000  # of its first call; each call has its own


async def drive(
    target: Target, run: Run, *, seconds: float, clients: int, most: int = 10**8
) -> None:
    """Send the mix from so many clients until the time is over, or so many calls were made.

    Each client waits for its answers.
    """
    numbers = iter(range(run.numbers, run.numbers + most))
    began = time.monotonic()

    async def one(number: int) -> None:
        rng = Random(run.numbers + number)
        async with target.client(MODES[number % len(MODES)]) as caller:
            for each in numbers:
                if time.monotonic() >= began + seconds:
                    break
                await timed(caller, traffic.mixed(rng, each), run)

    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(one(number))
    run.lasted += time.monotonic() - began


async def timed(caller: Caller, call: traffic.Call, run: Run) -> None:
    """Make a call and note what came of it."""
    began = time.perf_counter()
    try:
        await caller.make(call)
    except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on and tells
        run.timings.failed(call.kind, f"{type(error).__name__}: {error}")
        return
    run.timings.took(call.kind, time.perf_counter() - began)
    if call.writes:
        run.acknowledged.append(call.writes)


async def lost(target: Target, marks: Sequence[str], *, clients: int) -> list[str]:
    """Return which marks a search does not find, each asked for by its own word.

    What is not among the first few is asked for once more, among as many as a search shows.
    """
    left, missing = list(marks), []

    async def one(number: int) -> None:
        async with target.client(MODES[number % len(MODES)]) as caller:
            while left:
                mark = left.pop()
                for limit in (_FEW, MAX_SEARCH_MEMORIES):
                    asked = {"query": mark, "limit": limit}
                    if mark in await caller.make(traffic.Call("search_memory", asked)):
                        break
                else:
                    missing.append(mark)

    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(one(number))
    return missing

"""Places of calls whose session is over: nobody waits for them, so other calls get them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.firewall.limits.call_limits import CallLimits
from tests.adapters.conftest import StillClock
from tests.firewall.guarding import ALLOW, Scene, request
from tests.firewall.proxy.http.test_streams import lines_of, next_data
from tests.firewall.proxy.http_world import Received, World, answer_of, answer_to, echo, run

CALL = {"name": "t", "arguments": {}}
ONE = '[[limit]]\ntool = "t"\nconcurrency = 1\n'


@pytest.fixture
def scene(clock: StillClock) -> Iterator[Scene]:
    database = SqliteDatabase(":memory:")
    limits = CallLimits(SqliteTable(database, now=clock), clock)
    yield Scene(ALLOW + ONE, lines=False, limits=limits)
    database.close()


async def is_full(world: World, session: str) -> bool:
    """Make a call in a session that answers it, and tell whether it found no place."""
    reply = await world.post(request(7, "tools/call", CALL), mcp_session_id=session)
    return "at a time" in reply.text


async def resumable(received: Received) -> None:
    """Answer all but the calls of session s0, whose streams end early and could be resumed."""
    if received.method == "DELETE":
        await received.say(200, kind="")
    elif received.headers.get("mcp-session-id") != "s0":
        await echo(received)
    else:
        await received.begin()
        await received.chunk(b"id: e1\nretry: 5\ndata: \n\n")
        await received.end()


async def delete(world: World) -> None:
    ended = await world.client.delete(world.url, headers={"mcp-session-id": "s0"})
    assert ended.status_code == 200


async def crowd_out(world: World) -> None:
    for number in range(1, 4):
        await world.post(request(1, "ping"), mcp_session_id=f"s{number}")


@pytest.mark.parametrize("end", [delete, crowd_out])
def test_a_forgotten_session_gives_the_places_of_its_open_calls_back(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, end: Callable[[World], Awaitable[None]]
) -> None:
    monkeypatch.setattr("nacre.firewall.proxy.http.proxy_sessions.PROXY_CONVERSATIONS", 3)

    async def scenario(world: World) -> None:
        await world.post(request(1, "tools/call", CALL), mcp_session_id="s0")
        assert await is_full(world, "s1")  # its answer may still be asked for
        await end(world)
        assert not await is_full(world, "s1")

    run(scenario, play=resumable, scene=scene)


def test_a_call_without_a_session_gives_its_place_back_with_its_stream(scene: Scene) -> None:
    async def play(received: Received) -> None:
        if received.json["id"] == 1:
            await received.begin()
            await received.chunk(b"id: e1\nretry: 5\ndata: \n\n")
            await received.end()
        else:
            await echo(received)

    async def scenario(world: World) -> None:
        await world.post(request(1, "tools/call", CALL))
        assert not await is_full(world, "s1")

    run(scenario, play=play, scene=scene)


@pytest.mark.security
@pytest.mark.parametrize("end", [delete, crowd_out])
def test_a_call_that_still_runs_keeps_its_place_when_its_session_is_forgotten(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, end: Callable[[World], Awaitable[None]]
) -> None:
    monkeypatch.setattr("nacre.firewall.proxy.http.proxy_sessions.PROXY_CONVERSATIONS", 3)
    done = asyncio.Event()

    async def play(received: Received) -> None:
        if received.method == "POST" and received.headers.get("mcp-session-id") == "s0":
            await done.wait()
        await (resumable if received.method == "DELETE" else echo)(received)

    async def scenario(world: World) -> None:
        call = world.post(request(1, "tools/call", CALL), mcp_session_id="s0")
        running = asyncio.ensure_future(call)
        await world.until(lambda: bool(world.remote.received))
        await end(world)
        assert await is_full(world, "s1")
        done.set()
        assert "done" in (await running).text
        assert not await is_full(world, "s1")

    run(scenario, play=play, scene=scene)


def test_a_stream_of_the_older_transport_ends_with_the_places_of_its_calls(scene: Scene) -> None:
    streams: list[Received] = []

    async def play(received: Received) -> None:
        if received.method == "GET":
            streams.append(received)
            await received.begin()
            await received.event("/message", name="endpoint")
            await asyncio.sleep(60)
        elif received.target == "/sse":
            await received.result(answer_of(received.json))
        else:
            await received.say(202, b"Accepted", kind="text/plain")
            if received.json["id"] == 2:
                await streams[-1].event(answer_to(received.json, answer_of(received.json)))

    async def scenario(world: World) -> None:
        async with world.client.stream("GET", world.url) as reply:
            to = world.url.removesuffix("/sse") + str(await next_data(await lines_of(reply)))
            await world.client.post(to, json=request(1, "tools/call", CALL))
            assert await is_full(world, "s1")
        await world.until(lambda: streams[0].is_gone)
        assert not await is_full(world, "s1")

    run(scenario, play=play, path="/sse", scene=scene)

"""Own tools that block although they are async functions."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from nacre.gateway.own_loops import OwnLoops
from nacre.protocol.context import Context, Silence
from tests.gateway_world import world

BLOCKS = '''
import asyncio, threading, time
from nacre import ToolServer, tool

server = ToolServer("own", "1")
release = threading.Event()


@server.register_tool
@tool
async def blocks() -> str:
    """Block the loop."""
    (__import__("pathlib").Path(__file__).parent / "begun").touch()
    release.wait(60)
    return "at last"


@server.register_tool
@tool
async def quick() -> str:
    """Answer at once, and let the other one go on."""
    release.set()
    return threading.current_thread().name
'''


class Line(Silence):
    """A client whose messages must come in the loop that it lives in."""

    can_ask = True

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.heard: list[str] = []

    def notify(self, method: str, params: dict[str, Any]) -> None:
        assert asyncio.get_running_loop() is self.loop
        self.heard.append(method)

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert asyncio.get_running_loop() is self.loop
        return {"action": "decline"}


Work = Callable[[Context], Awaitable[Any]]


def both(*works: Work, loops: OwnLoops | None = None) -> list[Any]:
    """Run the calls at once, and return what came of each."""

    async def main() -> list[Any]:
        own = loops or OwnLoops(seconds=0.05)
        context = Context(channel=Line(), capabilities={"elicitation": {}}, progress_token=1)
        calls = [own.run(work, context) for work in works]
        return list(await asyncio.gather(*calls, return_exceptions=True))

    return asyncio.run(main())


def test_a_tool_that_blocks_does_not_stop_a_later_one() -> None:
    release = threading.Event()

    async def blocks(_context: Context) -> bool:
        return release.wait(60)

    async def frees(_context: Context) -> str:
        release.set()
        return "quick"

    assert both(blocks, frees) == [True, "quick"]


def test_the_callers_loop_goes_on_meanwhile() -> None:
    release = threading.Event()

    async def blocks(_context: Context) -> bool:
        return release.wait(60)

    async def main() -> bool:
        call = asyncio.create_task(OwnLoops().run(blocks, Context()))
        for _ in range(20):
            await asyncio.sleep(0.001)  # would not come back from a loop that is blocked
        release.set()
        return await call

    assert asyncio.run(main())


def test_tools_that_wait_share_one_loop() -> None:
    async def where(_context: Context) -> Any:
        await asyncio.sleep(0.01)
        return asyncio.get_running_loop()

    first, second = both(where, where)

    assert first is second


def test_a_tool_reports_and_asks_in_its_clients_loop() -> None:
    async def talks(context: Context) -> Any:
        context.progress(1)
        asked = {"method": "elicitation/create", "params": {}}
        return (await context.ask({"key": asked}))["key"]

    assert both(talks) == [{"action": "decline"}]


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3)])
def test_what_a_tool_raises_reaches_its_caller(error: BaseException) -> None:
    async def fails(_context: Context) -> None:
        raise error

    async def main() -> None:
        own = OwnLoops()
        with pytest.raises(type(error)):
            await own.run(fails, Context())
        assert await own.run(_lives, Context())

    asyncio.run(main())


async def _lives(_context: Context) -> bool:
    return True


def test_a_call_that_is_cancelled_stops_where_it_waits() -> None:
    begun, ended = threading.Event(), threading.Event()

    async def waits(_context: Context) -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def main() -> None:
        call = asyncio.create_task(OwnLoops().run(waits, Context()))
        await asyncio.to_thread(begun.wait, 60)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(main())

    assert ended.wait(60)


def test_a_loop_that_was_left_ends_with_its_last_call() -> None:
    release = threading.Event()
    threads: list[threading.Thread] = []

    async def blocks(_context: Context) -> bool:
        threads.append(threading.current_thread())
        return release.wait(60)

    async def frees(_context: Context) -> None:
        release.set()

    both(blocks, frees)
    threads[0].join(60)

    assert not threads[0].is_alive()


def test_no_more_loops_than_allowed_are_made() -> None:
    release = threading.Event()
    names: set[int] = set()

    async def blocks(_context: Context) -> bool:
        names.add(threading.get_ident())
        return release.wait(60)

    async def main() -> list[bool]:
        own = OwnLoops(seconds=0.02, most=2)
        calls = [asyncio.create_task(own.run(blocks, Context())) for _ in range(4)]
        while len(names) < 2:
            await asyncio.sleep(0.01)
        release.set()
        return await asyncio.gather(*calls)

    assert asyncio.run(main()) == [True] * 4
    assert len(names) == 2


def test_a_server_goes_on_while_an_own_tool_blocks(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(BLOCKS)
    place = f"{tmp_path / 'own.py'}:server"
    with world(tmp_path / "w", tool_servers=(place,)) as gateway, gateway.over_http() as url:

        def post(method: str, **params: Any) -> Any:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            answer = httpx2.post(url, json=body, timeout=60)
            return answer.json()["result"]

        with ThreadPoolExecutor(1) as pool:
            blocked = pool.submit(post, "tools/call", name="mcp__own__blocks", arguments={})
            while not (tmp_path / "begun").exists():
                time.sleep(0.01)
            now = post("tools/call", name="get_current_time", arguments={})
            tools = [tool["name"] for tool in post("tools/list")["tools"]]
            quick = post("tools/call", name="mcp__own__quick", arguments={})

            assert blocked.result()["content"][0]["text"] == "at last"

    assert "isError" not in now
    assert "mcp__own__quick" in tools
    assert quick["content"][0]["text"] == "own-tools"

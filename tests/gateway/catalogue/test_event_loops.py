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

from nacre.gateway.catalogue.event_loops import OwnLoops
from nacre.gateway.catalogue.own_code_errors import OwnCodeError
from nacre.protocol.context import Context, Silence
from tests.scaffolding.gateway_world import world

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

    first, second = both(where, where, loops=OwnLoops(seconds=60))

    assert first is second


def test_a_tool_reports_and_asks_in_its_clients_loop() -> None:
    async def talks(context: Context) -> Any:
        context.progress(1)
        asked = {"method": "elicitation/create", "params": {}}
        return (await context.ask({"key": asked}))["key"]

    assert both(talks) == [{"action": "decline"}]


class Unusual(BaseException):
    """As a library may have that no handler of ordinary errors is to catch."""


ENDS: list[type[BaseException]] = [SystemExit, KeyboardInterrupt, GeneratorExit, Unusual]


@pytest.mark.parametrize("error", [ValueError, *ENDS, asyncio.CancelledError])
def test_what_a_tool_raises_reaches_its_caller_as_an_error(error: type[BaseException]) -> None:
    async def fails(_context: Context) -> None:
        raise error

    async def main() -> None:
        own = OwnLoops()
        with pytest.raises(ValueError if error is ValueError else OwnCodeError):
            await own.run(fails, Context())
        assert await own.run(_lives, Context())

    asyncio.run(main())


@pytest.mark.parametrize("error", ENDS)
def test_what_a_task_of_a_tool_raises_leaves_the_loop_to_others(
    error: type[BaseException],
) -> None:
    async def inner() -> None:
        raise error

    async def fails(_context: Context) -> None:
        await asyncio.create_task(inner())

    async def main() -> None:
        own = OwnLoops(most=1)
        calls = [asyncio.create_task(own.run(work, Context())) for work in (_waits, fails, _lives)]
        assert isinstance(
            (await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 60))[1],
            OwnCodeError,
        )
        assert [call.result() for call in (calls[0], calls[2])] == [True, True]

    asyncio.run(main())


async def _waits(_context: Context) -> bool:
    await asyncio.sleep(0.01)
    return True


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


def test_a_loop_with_nothing_to_do_ends_beside_another() -> None:
    release = threading.Event()
    threads: list[threading.Thread] = []

    async def blocks(_context: Context) -> bool:
        threads.append(threading.current_thread())
        return release.wait(60)

    async def frees(_context: Context) -> None:
        threads.append(threading.current_thread())
        release.set()

    both(blocks, frees, loops=OwnLoops(seconds=0.05, idle=0.01))
    deadline = time.monotonic() + 60
    while all(thread.is_alive() for thread in threads) and time.monotonic() < deadline:
        threads[0].join(0.01)

    assert sorted(thread.is_alive() for thread in threads) == [False, True]


def test_many_that_block_at_once_hold_up_no_other() -> None:
    release = threading.Event()
    begun: set[int] = set()

    async def blocks(_context: Context) -> bool:
        begun.add(threading.get_ident())
        return release.wait(60)

    async def other(_context: Context) -> int:
        return len(begun)

    async def main() -> None:
        own = OwnLoops(seconds=0.05, most=30)
        calls = [asyncio.create_task(own.run(blocks, Context())) for _ in range(20)]
        while not begun:
            await asyncio.sleep(0.001)
        assert await own.run(other, Context()) < 30  # it comes back while they still block
        assert not any(call.done() for call in calls)
        release.set()
        assert await asyncio.gather(*calls) == [True] * 20

    asyncio.run(main())
    assert len(begun) > 1


def test_a_call_that_is_cancelled_before_it_begins_never_runs() -> None:
    release, begun, ran = threading.Event(), threading.Event(), threading.Event()

    async def blocks(_context: Context) -> bool:
        begun.set()
        return release.wait(60)

    async def late(_context: Context) -> None:
        ran.set()

    async def main() -> None:
        own = OwnLoops(most=1)
        first = asyncio.create_task(own.run(blocks, Context()))
        await asyncio.to_thread(begun.wait, 60)
        second = asyncio.create_task(own.run(late, Context()))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        release.set()
        assert await first
        assert await own.run(_lives, Context())

    asyncio.run(main())
    assert not ran.is_set()


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


ENDING = """
import asyncio
from nacre import ToolServer, tool

server = ToolServer("own", "1")


class Unusual(BaseException):
    pass


KINDS = {
    kind.__name__: kind
    for kind in (
        SystemExit, KeyboardInterrupt, GeneratorExit, Unusual, asyncio.CancelledError, ValueError
    )
}


@server.register_tool
@tool
async def ends(kind: str) -> str:
    raise KINDS[kind]


@server.register_tool
@tool(blocking=True)
async def ends_its_thread(kind: str) -> str:
    raise KINDS[kind]


@server.register_tool
@tool
async def lives() -> str:
    return "alive"


@server.register_tool
@tool
async def has_no_json_form() -> str:
    return "\\ud800"


@server.resource("own://{kind}")
async def read(kind: str) -> str:
    raise KINDS[kind]
"""


def test_no_exception_of_an_own_tool_ends_the_server(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(ENDING)
    place = f"{tmp_path / 'own.py'}:server"
    with world(tmp_path / "w", tool_servers=(place,)) as gateway, gateway.over_http() as url:

        def post(method: str, **params: Any) -> Any:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return httpx2.post(url, json=body, timeout=60).json()

        def call(tool: str, **arguments: Any) -> Any:
            return post("tools/call", name=f"mcp__own__{tool}", arguments=arguments)["result"]

        raised: list[type[BaseException]] = [ValueError, asyncio.CancelledError, *ENDS]
        for kind in [error.__name__ for error in raised]:
            for tool in ("ends", "ends-its-thread"):
                failed = call(tool, kind=kind)
                assert failed["isError"], (tool, kind)
                assert f"tool 'mcp__own__{tool}' failed" in failed["content"][0]["text"]
            template = post("resources/templates/list")["result"]["resourceTemplates"][0]
            uri = template["uriTemplate"].replace("{kind}", kind)
            assert "error" in post("resources/read", uri=uri), kind
        assert call("has-no-json-form")["isError"]
        assert call("lives")["content"][0]["text"] == "alive"

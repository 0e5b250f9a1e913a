"""What an order costs beside the model: a message, memory, a session, one tool call, one answer.

The model is on the loopback and answers at once. What the same two requests cost without an order
around them, put by the same SDK, is taken off; so is nothing else. The thread's CPU time counts, as
on a shared machine nothing else says much; the wall clock, with every wait for the disk, is shown.
"""

import asyncio
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from nacre.core.coroutines import step
from nacre.ports.chat import Chat
from nacre.protocol.context import Context
from nacre.protocol.principal import FULL, Principal
from nacre.wiring.features.orders import chats
from nacre.wiring.laptop import first_being, open_laptop
from nacre.wiring.settings import Secret, Settings
from tests.benchmarks.table import show
from tests.scaffolding.model_server import (
    Question,
    Response,
    calling,
    model_server,
    saying,
    tool_call,
)

pytestmark = pytest.mark.benchmark

OVERHEAD_MS = 15.0
LONG_TO_SHORT = 1.5
_ORDERS = 40


def _reply(question: Question) -> Response:
    if question.body["messages"][-1]["role"] == "tool":
        return saying("It is noon, and the shell is blue.")(question)
    return calling(tool_call("get_current_time"))(question)


def test_an_order_costs_little_beside_its_model(tmp_path: Path) -> None:
    with model_server() as model:
        model.reply = _reply
        settings = Settings(
            str(tmp_path), llm_base_url=model.url, llm_model="m", llm_api_key=Secret("k")
        )
        laptop = open_laptop(tmp_path / "data", settings)
        being = first_being(laptop)
        assert being is not None
        principal = Principal("bench", being.being_id, FULL)
        order = laptop.application.surface.get_tool("order_being")
        assert order is not None

        def took(message: str, session: str | None) -> Taken:
            arguments = {"message": message, **({"sessionKey": session} if session else {})}
            watch = Watch()
            result = step(order.call(arguments, Context(principal=principal)))
            taken = watch.taken()
            assert result.to_dict()["isError"] is False
            return taken

        for number in range(5):
            took(f"warm up number {number} with the blue shell", None)
        alone = [took(f"what time is it at shell {n}", None) for n in range(_ORDERS)]
        turns = [took(f"what time is it at shell {n}, please", "s") for n in range(4 * _ORDERS)]
        opened = chats(settings)
        bare = [asyncio.run(_bare(opened, model.questions[-2:])) for _ in range(_ORDERS)]
        laptop.close()

    ways = {
        "two requests to the model alone": bare,
        "an order that stands alone": alone,
        "turns 10 to 50 of a session": turns[10 : 10 + _ORDERS],
        f"turns {3 * _ORDERS} to {4 * _ORDERS}": turns[-_ORDERS:],
    }
    cpu = {name: statistics.median(each.cpu for each in taken) for name, taken in ways.items()}
    wall = {name: statistics.median(each.wall for each in taken) for name, taken in ways.items()}
    base, first, short, long = cpu.values()
    rows = [(n, f"{cpu[n]:.1f}", f"{cpu[n] - base:.1f}", f"{wall[n]:.1f}") for n in ways]
    show("Orders, ms", ("Order", "CPU", "beside the model", "wall clock"), rows)
    assert first - base <= OVERHEAD_MS
    assert long - base <= OVERHEAD_MS
    assert long <= LONG_TO_SHORT * short


class Taken(NamedTuple):
    """What something took, in milliseconds."""

    cpu: float
    wall: float


class Watch:
    """Measures this thread."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.thread_time(), time.perf_counter()

    def taken(self) -> Taken:
        """Return what was taken so far."""
        cpu, wall = time.thread_time() - self._cpu, time.perf_counter() - self._wall
        return Taken(cpu * 1000, wall * 1000)


async def _bare(opened: Callable[[str], Chat], questions: list[Question]) -> Taken:
    """Put the requests of one order to the model, with nothing around them."""
    chat = opened("k")
    watch = Watch()
    for question in questions:
        await chat.complete(
            question.body["messages"],
            question.body["tools"],
            may_call=True,
            max_tokens=4096,
            seconds=10,
        )
    taken = watch.taken()
    await chat.close()
    return taken

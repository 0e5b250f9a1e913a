"""An answer is given even if it cannot be stored, and a task has one answer."""

from collections.abc import Mapping
from threading import Event, Timer
from typing import Any

import pytest

from nacre.being.language_model.daily_budget import Spending
from nacre.being.orders.sessions.store import SessionStore
from nacre.core.errors import InvalidInputError, LeaseLostError, UnavailableError
from nacre.core.limits import MAX_CHAT_BYTES
from nacre.core.origins import external
from nacre.sdk.decorator import tool
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import a_node
from tests.being.orders.conftest import World
from tests.scaffolding.model_server import calling, saying, slow, tool_call


def down(*_: Any, **__: Any) -> Any:
    raise UnavailableError("no store now")


class Died(BaseException):
    """The worker's process is killed."""


class Run:
    """A task's attempts, with what they keep."""

    id = "5e0c7a52-9c1f-4a1e-8a34-0f6b3f1d2c11"
    attempt = 1

    def __init__(self) -> None:
        self.notes: Mapping[str, Any] = {}
        self.fault: Exception | None = None

    def keep(self, notes: Mapping[str, Any]) -> None:
        if self.fault is not None:
            raise self.fault
        self.notes = notes

    def makes(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        return True

    def go_on_later(self) -> Any:
        raise NotImplementedError

    async def wait_for(self, requests: Mapping[str, Any]) -> Any:
        raise NotImplementedError


def attempt(world: World, run: Run, message: str = "Remember the blue shell") -> dict[str, Any]:
    context = world.context()
    context.task = run
    return world.call({"message": message, "sessionKey": "s"}, context)


def text_of(result: Mapping[str, Any]) -> str:
    return str(result["content"][0]["text"])


def history(world: World) -> list[str]:
    hits = world.mind.mind.memory.history.search(world.being_id, limit=20)
    return [f"{message.role}: {message.content}" for message in reversed(hits.messages)]


def test_an_answer_is_given_though_its_session_cannot_be_kept(
    laptop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(SessionStore, "add", down)
        broken.setattr(SessionStore, "end", down)
        text = laptop.text("hello there", sessionKey="s")

    assert text == (
        "Very well.\n\n(The session could not be kept: its next order does not know of this one.)"
    )


def test_an_answer_is_given_though_its_cost_cannot_be_settled(
    laptop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Spending, "settle", down)
    laptop.model.script(calling(tool_call("get_current_time")), saying("Ten."))

    assert laptop.text("What time is it?") == "Ten."
    assert laptop.model_access.spending.of_today(laptop.being_id).questions == 0


def test_a_store_that_fails_for_a_while_does_not_end_the_order(
    laptop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.being.orders.order.deadline.ORDER_HEARTBEAT_SECONDS", 0.0)
    monkeypatch.setattr(SessionStore, "renew", down)

    ready = Event()
    Timer(0.3, ready.set).start()
    laptop.model.script(slow(ready, "At last."))

    assert laptop.text("hello there", sessionKey="s") == "At last."


def test_an_answer_of_any_length_lands_in_the_history(laptop: World) -> None:
    @tool(name="mcp__shop__list")
    async def goods() -> str:
        return "shell " * 60_000

    laptop.mind.server.register_tool(goods)
    laptop.model.script(calling(tool_call("mcp__shop__list")), saying("That is all."))

    assert len(laptop.text("What is there?")) > MAX_CHAT_BYTES
    message, answer = history(laptop)
    assert message == "user: What is there?"
    assert answer.startswith("assistant: shell shell")
    assert len(answer.encode()) <= MAX_CHAT_BYTES + len("assistant: ")


@pytest.mark.parametrize("dies_in", ["history", "session", "end"])
def test_a_worker_that_dies_with_the_answer_leaves_it_to_the_next(
    laptop: World, clock: StillClock, monkeypatch: pytest.MonkeyPatch, dies_in: str
) -> None:
    def die(*_: Any, **__: Any) -> Any:
        raise Died

    place = {
        "history": "nacre.being.memory.store.scenes.Scenes.record",
        "session": "nacre.being.orders.sessions.store.SessionStore.add",
        "end": "nacre.being.orders.sessions.store.SessionStore.end",
    }[dies_in]
    laptop.model.script(saying("It is blue."), saying("Another answer."))
    run = Run()
    with monkeypatch.context() as dying:
        dying.setattr(place, die)
        with pytest.raises(Died):
            attempt(laptop, run)
    clock.move(3600)  # nobody holds the session any more

    assert text_of(attempt(laptop, run)) == "It is blue."

    assert len(laptop.model.questions) == 1
    assert history(laptop) == ["user: Remember the blue shell", "assistant: It is blue."]
    [head] = laptop.sessions.heads(laptop.being_id)
    assert head.turns == 1


def test_an_attempt_that_lost_its_task_leaves_nothing(laptop: World) -> None:
    run = Run()
    run.fault = LeaseLostError("another worker has it")

    assert attempt(laptop, run)["isError"] is True

    assert history(laptop) == []
    assert laptop.sessions.heads(laptop.being_id) == []


def test_a_reply_too_long_for_another_attempt_is_given_all_the_same(laptop: World) -> None:
    run = Run()
    run.fault = InvalidInputError("too long")

    assert text_of(attempt(laptop, run)) == "Very well."
    assert len(history(laptop)) == 2


def test_an_answer_after_results_of_a_server_carries_its_origin(world: World) -> None:
    world.mind.ledger.everybody = {external("web")}

    world.text("Remember what the web says about the blue shell")

    [scene] = world.mind.mind.memory.scenes.page(world.being_id).scenes
    assert (scene.trust, scene.origins) == ("external", ("agent", "external:web"))
    hits = world.mind.mind.memory.history.search(world.being_id, limit=20)
    assert {message.role: message.origins for message in hits.messages} == {
        "user": (),
        "assistant": ("agent", "external:web"),
    }


def test_what_an_order_recalls_counts_as_received(world: World) -> None:
    reported: dict[str, Any] = {"trust": "external", "origins": ("agent", "external:web")}
    world.mind.remember(a_node(1, action="Ann lost the blue shell", **reported))

    world.text("Where is the blue shell that Ann lost?")

    assert {str(origin) for _, origin in world.mind.ledger.noted} == {"external:web"}
    [scene] = world.mind.mind.memory.scenes.page(world.being_id).scenes
    assert scene.origins == ("agent", "external:web")


def test_without_the_ledger_the_answer_is_given_and_nothing_is_stored(world: World) -> None:
    world.mind.ledger.is_down = True

    assert world.text("Remember the blue shell") == "Very well."

    assert history(world) == []
    assert world.mind.mind.memory.scenes.page(world.being_id).scenes == ()

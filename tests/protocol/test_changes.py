"""What changed between two looks, told once and to those who asked."""

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from nacre import ToolServer, tool
from nacre.core.errors import (
    InvalidParamsError,
    NacreError,
    RateLimitedError,
    UnauthorizedError,
    UnavailableError,
)
from nacre.core.limits import FOLLOWED_RESOURCES, SUBSCRIPTIONS_OF_TOKEN
from nacre.protocol.changes import Changes, Seen, Wanted, honoured
from nacre.protocol.principal import FULL, Principal

ANN = Principal("tok_1", "b1", FULL)
BOB = Principal("tok_2", "b2", FULL)
BOARD = "notes://board"


@tool
async def late() -> str:
    """Come later."""
    return "late"


def small_server() -> ToolServer:
    server = ToolServer("notes", "1")

    @server.resource(BOARD)
    async def board() -> str:
        """The board."""
        return "pearl"

    return server


def wanted(**asked: Any) -> Wanted:
    return Wanted.of({"notifications": asked})


class Told(list[tuple[str, Mapping[str, Any]]]):
    """What a client was told."""

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        self.append((method, params))


def test_a_change_is_told_once_and_only_to_those_who_asked() -> None:
    server, tools, prompts = small_server(), Told(), Told()
    changes = Changes(server, seconds=3600)
    of_tools = changes.baseline(ANN, wanted(toolsListChanged=True))
    of_prompts = changes.baseline(BOB, wanted(promptsListChanged=True))
    with (
        changes.watching(ANN, of_tools, tools.tell),
        changes.watching(BOB, of_prompts, prompts.tell),
    ):
        server.register_tool(late)
        changes.look()
        changes.look()

    assert (tools, prompts) == ([("notifications/tools/list_changed", {})], [])


def test_a_followed_resource_is_told_of_by_its_uri() -> None:
    server, told = small_server(), Told()
    changes = Changes(server, seconds=3600)
    seen = changes.baseline(ANN, wanted(resourceSubscriptions=[BOARD, "notes://none"]))
    with changes.watching(ANN, seen, told.tell):
        server.resource_updated(BOARD)
        server.resource_updated("notes://none")
        changes.look()

    assert honoured(seen) == {"resourceSubscriptions": [BOARD]}
    assert told == [("notifications/resources/updated", {"uri": BOARD})]


def test_what_a_client_without_a_stream_misses_is_kept_for_it() -> None:
    server = small_server()
    changes = Changes(server, seconds=3600)
    seen = Seen(lists={"tools": server.tools()})
    changes.remember(ANN, seen)
    server.register_tool(late)
    changes.look()
    changes.close()

    assert list(seen.pending) == [("notifications/tools/list_changed", "")]


def test_a_token_has_so_many_subscriptions_and_others_are_free() -> None:
    from contextlib import ExitStack

    changes = Changes(small_server(), seconds=3600)
    with ExitStack() as stack:
        for _ in range(SUBSCRIPTIONS_OF_TOKEN):
            stack.enter_context(changes.watching(ANN, Seen(), Told().tell))
        with pytest.raises(RateLimitedError):
            stack.enter_context(changes.watching(ANN, Seen(), Told().tell))
        stack.enter_context(changes.watching(BOB, Seen(), Told().tell))
    with changes.watching(ANN, Seen(), Told().tell):
        pass


def test_a_subscription_follows_so_many_resources() -> None:
    changes, seen = Changes(small_server()), Seen()
    seen.versions = {f"notes://{number}": 0 for number in range(FOLLOWED_RESOURCES)}

    with pytest.raises(InvalidParamsError, match=str(FOLLOWED_RESOURCES)):
        changes.follow(ANN, seen, BOARD)


def test_closing_ends_every_subscription_and_takes_no_other() -> None:
    changes = Changes(small_server(), seconds=3600)
    ended: list[NacreError | None] = []
    with changes.watching(ANN, Seen(), Told().tell, ended.append):
        changes.close()
    assert ended == [None]
    with pytest.raises(UnavailableError), changes.watching(ANN, Seen(), Told().tell):
        pass


class Admission:
    """Admits a caller until its token ends."""

    def __init__(self) -> None:
        self.ended: NacreError | None = None
        self.checks = 0

    def readmit(self) -> None:
        self.checks += 1
        if self.ended is not None:
            raise self.ended


@pytest.mark.parametrize(
    "reason",
    [UnauthorizedError("it was revoked", presented=True), UnavailableError("the store is down")],
)
def test_a_client_that_is_not_admitted_any_more_hears_of_no_change(reason: NacreError) -> None:
    server, told, admission = small_server(), Told(), Admission()
    ended: list[NacreError | None] = []
    changes = Changes(server, seconds=3600)
    seen = changes.baseline(ANN, wanted(toolsListChanged=True))
    with changes.watching(ANN, seen, told.tell, ended.append, admission.readmit):
        admission.ended = reason
        server.register_tool(late)
        changes.look()

    assert (told, ended) == ([], [reason])


def test_a_silent_subscription_ends_soon_after_its_token() -> None:
    ended: list[NacreError | None] = []
    admission = Admission()
    changes = Changes(small_server(), seconds=3600, admission_seconds=0)
    with changes.watching(ANN, Seen(), Told().tell, ended.append, admission.readmit):
        changes.look()
        assert ended == []
        admission.ended = reason = UnauthorizedError("it has expired", presented=True)
        changes.look()

    assert ended[0] is reason


def test_a_silent_subscription_costs_no_lookup_at_each_look() -> None:
    admission = Admission()
    changes = Changes(small_server(), seconds=3600)
    with changes.watching(ANN, Seen(), Told().tell, readmit=admission.readmit):
        for _ in range(3):
            changes.look()

    assert admission.checks == 0


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"notifications": []},
        {"notifications": {"toolsListChanged": 1}},
        {"notifications": {"resourceSubscriptions": [1]}},
        {"notifications": {"resourceSubscriptions": [f"notes://{n}" for n in range(65)]}},
    ],
)
def test_what_is_asked_must_have_its_form(asked: dict[str, Any]) -> None:
    with pytest.raises(InvalidParamsError):
        Wanted.of(asked)


def test_what_a_tool_has_changed_is_told_once_it_has_run() -> None:
    server, told, looked = small_server(), Told(), threading.Event()
    changes = Changes(server, seconds=3600)

    def tell(method: str, params: Mapping[str, Any]) -> None:
        told.tell(method, params)
        looked.set()

    with changes.watching(ANN, changes.baseline(ANN, wanted(toolsListChanged=True)), tell):
        server.register_tool(late)
        changes.soon()
        assert looked.wait(60)

    assert told == [("notifications/tools/list_changed", {})]

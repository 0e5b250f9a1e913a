"""The approval matrix over every channel: the same call once, and nothing else.

By a form in the stateless era (laptop and Lambda, where each message meets a new process), by
`elicitation/create` on the laptop's two transports, and by the command.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.application import Application
from nacre.cli.policy.approvals import waiting
from nacre.firewall.approvals.service import Approvals, Denial, Desk, Grant
from nacre.firewall.audit.entry import Record
from nacre.firewall.enforce.judge import Judge
from nacre.firewall.entry.entry_judge import EntryJudge
from nacre.firewall.entry.guarded_surface import GuardedSurface
from nacre.firewall.entry.visible_lists import VisibleLists
from nacre.firewall.policies.live_policy import FixedPolicy
from nacre.firewall.policies.loader import load_policy
from nacre.ports.items.table import Table
from nacre.protocol.dispatch.request_state import RequestStates, SigningKeys
from nacre.sdk import decorator
from nacre.sdk.tool_server import ToolServer
from tests.adapters.conftest import StillClock
from tests.firewall.approving import MINUTES, NO, ONCE
from tests.protocol.wires import WIRES, Wire
from tests.scaffolding.aws_stack import Stack

RULE = '[[rule]]\naction = "prompt"\ntool = "remove"\ndescription = "Ask first"\n'
HELD = f"{RULE}[settings]\nwait_seconds = 60\n"
ASK = f"{RULE}[settings]\nwait_seconds = 0\n"
META = "io.modelcontextprotocol/"
KEYS = SigningKeys(b"k" * 32)
Result = dict[str, Any]


@dataclass
class World:
    """A server with one tool that needs approval, over one store."""

    table: Table
    clock: StillClock
    text: str = ASK
    ran: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def application(self) -> Application:
        """Return what one process serves."""
        server = ToolServer("nacre", "1")

        @decorator.tool
        async def remove(path: str) -> str:
            """Remove a file."""
            self.ran.append(path)
            return "removed"

        server.register_tool(remove)
        policy = load_policy(self.text, source="p.toml")
        approvals = Approvals(
            self.table,
            lambda: policy.settings,
            clock=self.clock,
            rng=Random(next(self.numbers)),
        )
        judge = Judge(FixedPolicy(policy), self, lambda _: None, "nacre", approver=approvals)
        entry = EntryJudge(lambda _: judge)
        surface = GuardedSurface(
            server, lambda: entry, lambda: VisibleLists(lambda _: judge.policy())
        )
        return Application(surface, RequestStates(lambda: KEYS, self.clock))

    def record(self, entry: Record) -> str:
        """Keep no audit; its own suite does."""
        return f"a/{next(self.numbers)}"

    @property
    def desk(self) -> Desk:
        return Desk(self.table, clock=self.clock)


@pytest.fixture
def laptop(clock: StillClock) -> Iterator[World]:
    database = SqliteDatabase(":memory:")
    yield World(SqliteTable(database, now=clock), clock)
    database.close()


@pytest.fixture
def lambda_(stack: Stack, clock: StillClock) -> Iterator[World]:
    yield World(DynamoTable(stack.dynamodb, stack.ids["DataTable"], now=clock), clock)
    stack.clear("DataTable")


# ------------------------------------------------------------------ the stateless era


class Modern:
    """A client of the stateless era; each message meets a new process."""

    def __init__(self, world: World, wire: str) -> None:
        self.world = world
        self.wire = wire
        self.elicits = True

    def send(self, path: str = "/a", **more: Any) -> Result:
        capabilities: Result = {"elicitation": {}} if self.elicits else {}
        meta = {
            f"{META}protocolVersion": "2026-07-28",
            f"{META}clientInfo": {"name": "test", "version": "1"},
            f"{META}clientCapabilities": capabilities,
        }
        params = {"name": "remove", "arguments": {"path": path}, "_meta": meta, **more}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        with WIRES[self.wire](self.world.application()) as wire:
            *_, last = wire.say(message)
        return last

    def asked(self, path: str = "/a") -> tuple[str, Result]:
        """Make a call that has to be asked about; return the question's name and the result."""
        result = self.send(path)["result"]
        assert result["resultType"] == "input_required"
        [name] = result["inputRequests"]
        return name, result

    def answer(self, question: tuple[str, Result], reply: Result, path: str = "/a") -> Result:
        name, result = question
        state = result["requestState"]
        return self.send(path, inputResponses={name: reply}, requestState=state)


@pytest.fixture(params=["http", "stdio", "http-api"])
def modern(request: pytest.FixtureRequest) -> Modern:
    """Forms on both transports of the laptop, and on Lambda."""
    place = "lambda_" if request.param == "http-api" else "laptop"
    return Modern(request.getfixturevalue(place), request.param)


def is_denied(message: Result) -> bool:
    """Whether the call was refused, as a result or as an error."""
    return "error" in message or message["result"].get("isError") is True


def test_a_form_lets_the_same_call_run_once(modern: Modern) -> None:
    question = modern.asked()
    result = modern.answer(question, ONCE)
    replayed = modern.answer(question, ONCE)
    again = modern.send()

    assert result["result"]["content"][0]["text"] == "removed"
    assert modern.world.ran == ["/a"]
    for later in (replayed, again):
        assert later["result"]["resultType"] == "input_required"
        assert question[0] not in later["result"]["inputRequests"]


def test_a_form_answers_no_call_with_other_arguments(modern: Modern) -> None:
    first = modern.asked("/a")
    second = modern.asked("/b")

    assert is_denied(modern.answer(first, ONCE, path="/b"))
    moved = (first[0], second[1])
    assert modern.answer(moved, ONCE, path="/b")["result"]["resultType"] == "input_required"
    assert modern.world.ran == []


def test_a_form_answers_nothing_under_another_policy(modern: Modern) -> None:
    question = modern.asked()
    modern.world.text = ASK.replace("Ask first", "Ask")

    later = modern.answer(question, ONCE)

    assert later["result"]["resultType"] == "input_required"
    assert modern.world.ran == []


def test_a_form_that_is_answered_late_is_a_no(modern: Modern) -> None:
    modern.world.text = ASK + "approval_seconds = 120\n"
    question = modern.asked()
    modern.world.clock.move(121)

    later = modern.answer(question, ONCE)

    assert later["result"]["resultType"] == "input_required"
    assert modern.world.ran == []


def test_a_no_in_a_form_is_a_no(modern: Modern) -> None:
    question = modern.asked()

    assert is_denied(modern.answer(question, NO))
    assert is_denied(modern.send())
    assert modern.world.ran == []


def test_minutes_in_a_form_last_so_long(modern: Modern) -> None:
    modern.answer(modern.asked(), MINUTES)
    modern.send()
    modern.world.clock.move(601)
    later = modern.send()

    assert modern.world.ran == ["/a", "/a"]
    assert later["result"]["resultType"] == "input_required"


def test_an_answer_that_was_never_asked_for_counts_for_nothing(modern: Modern) -> None:
    modern.send(inputResponses={"approval-x": ONCE, "approval": ONCE})

    assert modern.world.ran == []


def test_the_command_is_as_good_as_the_form(modern: Modern) -> None:
    modern.asked()
    [ticket] = modern.world.desk.all()
    modern.world.desk.decide(ticket.ticket, Grant(), by="ann")

    modern.send()
    modern.send()

    assert modern.world.ran == ["/a"]


@pytest.mark.parametrize("elicits", [True, False])
def test_an_operator_decides_and_the_client_only_tries_again(
    modern: Modern, *, elicits: bool
) -> None:
    modern.world.text = ASK + 'approver = "operator"\n'
    modern.elicits = elicits
    denied = modern.send()
    [ticket] = modern.world.desk.all()
    modern.world.desk.decide(ticket.ticket, Grant(), by="ann")
    result = modern.send()
    again = modern.send()

    assert is_denied(denied)
    assert f"nacre approvals allow {ticket.ticket}" in denied["result"]["content"][0]["text"]
    assert (is_denied(result), is_denied(again)) == (False, True)
    assert modern.world.ran == ["/a"]


def test_an_operators_no_is_a_no(modern: Modern) -> None:
    modern.elicits = False
    modern.send()
    [ticket] = modern.world.desk.all()
    modern.world.desk.decide(ticket.ticket, Denial(), by="ann")

    assert is_denied(modern.send())
    assert modern.world.ran == []


def test_an_operators_yes_ends(modern: Modern) -> None:
    modern.elicits = False
    modern.send()
    [ticket] = modern.world.desk.all()
    modern.world.desk.decide(ticket.ticket, Grant(), by="ann")
    modern.world.clock.move(601)

    assert is_denied(modern.send())
    assert modern.world.ran == []


def test_who_is_asked_too_often_is_asked_no_more(modern: Modern) -> None:
    for number in range(10):
        modern.asked(f"/{number}")

    flooded = modern.send("/10")

    assert is_denied(flooded)
    assert "within 60 seconds" in flooded["result"]["content"][0]["text"]


# ------------------------------------------------------------------ the initialize era


class Legacy:
    """A client that is asked while its call runs."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.asked: list[Result] = []

    def greet(self, *, elicits: bool = True) -> None:
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}} if elicits else {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        list(self._wire.say({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}))
        list(self._wire.say({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def call(self, said: Result | Callable[[], Result] | None = None, path: str = "/a") -> Result:
        params = {"name": "remove", "arguments": {"path": path}}
        message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        answer: Result | None = None
        for incoming in self._wire.say(message):
            if incoming.get("method") == "elicitation/create":
                self.asked.append(incoming["params"])
                result = said() if callable(said) else said
                reply = {"jsonrpc": "2.0", "id": incoming["id"], "result": result}
                list(self._wire.say(reply))
            elif incoming.get("id") == 7:
                answer = incoming
        assert answer is not None
        return answer


@contextmanager
def legacy(world: World, wire: str, *, elicits: bool = True) -> Iterator[Legacy]:
    with WIRES[wire](world.application()) as opened:
        client = Legacy(opened)
        client.greet(elicits=elicits)
        yield client


@pytest.mark.parametrize("wire", ["http", "stdio"])
def test_a_live_form_lets_the_same_call_run_once(laptop: World, wire: str) -> None:
    with legacy(laptop, wire) as client:
        first = client.call(ONCE)
        refused = client.call(NO)
        elsewhere = client.call(ONCE, path="/b")

    assert not is_denied(first)
    assert is_denied(refused)
    assert not is_denied(elsewhere)
    assert laptop.ran == ["/a", "/b"]
    assert len(client.asked) == 3
    assert 'path: "/b"' in client.asked[2]["message"]


@pytest.mark.parametrize("wire", ["http", "stdio"])
def test_a_live_form_that_is_answered_late_is_a_no(laptop: World, wire: str) -> None:
    def late() -> Result:
        laptop.clock.move(601)
        return ONCE

    with legacy(laptop, wire) as client:
        refused = client.call(late)

    assert is_denied(refused)
    assert laptop.ran == []


@pytest.mark.parametrize("wire", ["http", "stdio"])
def test_minutes_in_a_live_form_last_so_long(laptop: World, wire: str) -> None:
    with legacy(laptop, wire) as client:
        client.call(MINUTES)
        client.call(NO)
        laptop.clock.move(601)
        client.call(ONCE)

    assert laptop.ran == ["/a"] * 3
    assert len(client.asked) == 2


@pytest.mark.parametrize("wire", ["http", "stdio", "http-api"])
def test_where_no_form_can_be_shown_the_command_decides(
    request: pytest.FixtureRequest, wire: str
) -> None:
    world: World = request.getfixturevalue("lambda_" if wire == "http-api" else "laptop")
    # Lambda asks no client of that era, whatever it says of itself.
    with legacy(world, wire, elicits=wire == "http-api") as client:
        denied = client.call()
        [ticket] = world.desk.all()
        world.desk.decide(ticket.ticket, Grant(), by="ann")
        allowed, again = client.call(), client.call()

    assert client.asked == []
    assert f"nacre approvals allow {ticket.ticket}" in denied["result"]["content"][0]["text"]
    assert [is_denied(result) for result in (denied, allowed, again)] == [True, False, True]
    assert world.ran == ["/a"]


@pytest.mark.parametrize("wire", ["http", "stdio"])
@pytest.mark.parametrize("era", ["stateless", "initialize"])
@pytest.mark.parametrize(("said", "ran"), [(Grant(), ["/a"]), (Denial(), [])], ids=["yes", "no"])
def test_a_call_is_held_until_the_command_decides(
    laptop: World, wire: str, era: str, said: Grant | Denial, ran: list[str]
) -> None:
    laptop.text = HELD
    decided = threading.Thread(target=decide_soon, args=(laptop, said))
    decided.start()

    if era == "stateless":
        client = Modern(laptop, wire)
        client.elicits = False
        answer = client.send()
    else:
        with legacy(laptop, wire, elicits=False) as older:
            answer = older.call()

    decided.join()
    assert is_denied(answer) == (not ran)
    assert laptop.ran == ran


def decide_soon(world: World, said: Grant | Denial) -> None:
    """Answer the first question as soon as it is there."""
    ticket = next(waiting(world.desk, lambda: time.sleep(0.01)))
    world.desk.decide(ticket.ticket, said, by="ann")


def test_a_held_call_that_nobody_decides_names_a_ticket_that_works(laptop: World) -> None:
    laptop.text = HELD.replace("60", "1")
    with legacy(laptop, "http", elicits=False) as client:
        denied = client.call()
        [ticket] = laptop.desk.all()
        laptop.desk.decide(ticket.ticket, Grant(), by="ann")
        allowed, again = client.call(), client.call()

    assert f"nacre approvals allow {ticket.ticket}" in denied["result"]["content"][0]["text"]
    assert [is_denied(result) for result in (denied, allowed, again)] == [True, False, True]
    assert laptop.ran == ["/a"]


def test_of_calls_at_once_one_is_run(laptop: World) -> None:
    client = Modern(laptop, "http-api")
    client.elicits = False
    client.send()
    [ticket] = laptop.desk.all()
    laptop.desk.decide(ticket.ticket, Grant(), by="ann")
    gate = threading.Barrier(6)

    def run() -> None:
        gate.wait()
        client.send()

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert laptop.ran == ["/a"]

"""`nacre approvals`, on the laptop and on a stack."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import boto3
import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.cli.policy.approvals import waiting
from nacre.core.clock import system_clock
from nacre.firewall.approvals.approver import ApprovalRequest, Granted, Refused, Waiting
from nacre.firewall.approvals.service import Approvals, Desk
from nacre.firewall.rules.sections import Settings
from nacre.ports.items.table import Table
from nacre.wiring.data_folder import DATABASE
from tests.cli.conftest import Nacre, Typed
from tests.firewall.approving import wish
from tests.scaffolding.aws_stack import REGION
from tests.wiring.deployed import deployed, outputs_of


class World:
    """A place, the options that name it, and what a server there has."""

    def __init__(self, options: list[str], table: Table) -> None:
        self.options = options
        self.table = table

    def approvals(self, session: str | None = None) -> Approvals:
        return Approvals(self.table, Settings, clock=system_clock, rng=Random(3), session=session)

    def wait(self, request: ApprovalRequest | None = None, session: str | None = None) -> str:
        """Make a call wait, and return its ticket."""
        asked = self.approvals(session).ask(request or wish(), can_elicit=False)
        assert isinstance(asked, Waiting)
        return asked.ticket


@pytest.fixture(params=["laptop", "stack"])
def world(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    nacre: Nacre,
    folder: Path,
) -> Iterator[World]:
    if request.param == "laptop":
        nacre("owner", "list")  # makes the folder
        database = SqliteDatabase(folder / DATABASE)
        yield World([], SqliteTable(database))
        database.close()
        return
    with deployed(monkeypatch) as stack:
        session = boto3.Session(region_name=REGION)
        outputs = outputs_of(stack)
        table = DynamoTable(session.client("dynamodb"), outputs["DataTableName"])
        yield World(["--stack", stack], table)


def test_what_waits_is_listed(nacre: Nacre, world: World) -> None:
    ticket = world.wait()

    listed = nacre("approvals", "list", *world.options)
    [facts] = nacre("approvals", "list", "--json", *world.options).json()

    assert listed.out.startswith(f"{ticket}  open until ")
    assert "tool remove of files, for tok_1" in listed.out
    assert 'path: "/tmp/a"' in listed.out
    assert (facts["ticket"], facts["state"], facts["rule"]) == (ticket, "open", 2)


def test_nothing_waits_at_first(nacre: Nacre, world: World) -> None:
    listed = nacre("approvals", "list", *world.options)

    assert (listed.out, listed.err) == ("", "No call waits for approval.\n")


@pytest.mark.parametrize(
    ("options", "session", "uses"),
    [([], None, 1), (["--minutes", "30"], None, 3), (["--session"], "s1", 3)],
    ids=["once", "minutes", "session"],
)
def test_a_call_is_allowed(
    nacre: Nacre, world: World, options: list[str], session: str | None, uses: int
) -> None:
    ticket = world.wait(session=session)

    allowed = nacre("approvals", "allow", ticket, *options, *world.options)
    asked = [world.approvals(session).ask(wish(), can_elicit=False) for _ in range(3)]

    assert allowed.code == 0
    assert allowed.err.startswith(f"Allowed {ticket} (")
    assert sum(isinstance(each, Granted) for each in asked) == uses


def test_any_call_of_a_tool_is_allowed(nacre: Nacre, world: World) -> None:
    ticket = world.wait(wish(rule="rule 2"))
    allowed = nacre("approvals", "allow", ticket, "--tool", "--minutes", "5", *world.options)
    other = wish(rule="rule 2", arguments={"path": "/tmp/b"})

    assert allowed.err.startswith(f"Allowed {ticket} (tool), until ")
    assert isinstance(world.approvals().ask(other, can_elicit=False), Granted)
    listed = nacre("approvals", "list", *world.options).out
    assert "granted (tool) until" in listed
    assert "any arguments" in listed


def test_a_tool_that_no_rule_asks_about_is_not_allowed_as_a_whole(
    nacre: Nacre, world: World
) -> None:
    refused = nacre("approvals", "allow", world.wait(), "--tool", *world.options)

    assert refused.code == 2
    assert "only this call can be allowed" in refused.err


def test_a_call_is_denied(nacre: Nacre, world: World) -> None:
    ticket = world.wait()

    denied = nacre("approvals", "deny", ticket, "--json", *world.options).json()

    assert denied["state"] == "denied"
    assert isinstance(world.approvals().look(wish(), ticket), Refused)


@pytest.mark.parametrize("verb", ["allow", "deny"])
def test_a_ticket_that_is_unknown_is_said(nacre: Nacre, world: World, verb: str) -> None:
    refused = nacre("approvals", verb, "0000-none", *world.options)

    assert refused.code == 3
    assert refused.err.endswith("hint: see 'nacre approvals list'\n")


def test_an_answer_counts_once(nacre: Nacre, world: World) -> None:
    ticket = world.wait()
    nacre("approvals", "allow", ticket, *world.options)

    assert nacre("approvals", "allow", ticket, *world.options).code == 5


@pytest.mark.parametrize(
    "options",
    [
        ["--minutes", "0"],
        ["--minutes", "5000"],
        ["--session", "--minutes", "5"],
        ["--session", "--tool"],
    ],
)
def test_answers_that_make_no_sense_are_refused(
    nacre: Nacre, world: World, options: list[str]
) -> None:
    assert nacre("approvals", "allow", world.wait(), *options, *world.options).code == 2


def test_a_watcher_sees_each_call_once(world: World) -> None:
    desk = Desk(world.table, clock=system_clock)
    pauses: list[str] = []

    def pause() -> None:
        pauses.append(world.wait(wish(arguments={"n": len(pauses)})))

    seen = waiting(desk, pause)

    assert [next(seen).ticket for _ in range(3)] == pauses[:3]


def test_without_a_terminal_a_watcher_writes_lines(
    nacre: Nacre, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = world.wait()

    def stop(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nacre.cli.policy.approvals.time.sleep", stop)
    watched = nacre("approvals", "watch", *world.options)

    facts: dict[str, Any] = json.loads(watched.out)
    assert (watched.code, facts["ticket"]) == (130, ticket)


@pytest.mark.parametrize(
    ("answer", "state"),
    [("y", "granted"), ("Y", "granted"), ("o", "granted"), ("n", "denied"), ("d", "denied")],
)
def test_a_watcher_takes_yes_and_no(
    nacre: Nacre,
    world: World,
    typed: Typed,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    state: str,
) -> None:
    ticket = world.wait()

    def stop(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nacre.cli.policy.approvals.time.sleep", stop)
    typed(f"{answer}\n")
    nacre("approvals", "watch", *world.options)

    [facts] = nacre("approvals", "list", "--json", *world.options).json()
    assert (facts["ticket"], facts["state"]) == (ticket, state)

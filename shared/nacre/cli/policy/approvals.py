"""The command `nacre approvals`: list, allow, deny and watch waiting calls."""

import getpass
import json
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import click

from nacre.cli.being_options import Place, being_options
from nacre.cli.display import iso_time, json_option, show_json
from nacre.core.clock import system_clock
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.core.limits import APPROVAL_MINUTES, MAX_APPROVAL_MINUTES
from nacre.firewall.approvals.form import printable
from nacre.firewall.approvals.service import Denial, Desk, Grant
from nacre.firewall.approvals.store import Ticket

_POLL_SECONDS = 1.0


@click.group()
def approvals() -> None:
    """List the calls that wait for approval, and allow or deny them.

    A rule with the action 'prompt' makes a call wait. Each approval is valid for one caller,
    server, tool, set of arguments and policy, or with --tool for any arguments.
    """


@approvals.command("list")
@json_option
@being_options
def list_approvals(*, as_json: bool, place: Place) -> None:
    """List the waiting calls, and the approvals that are still valid."""
    tickets = _desk(place).all()
    if as_json:
        show_json([_facts(ticket) for ticket in tickets])
        return
    if not tickets:
        click.echo("No call waits for approval.", err=True)
    for ticket in tickets:
        _show(ticket)


@approvals.command()
@click.argument("ticket")
@click.option(
    "--minutes",
    type=click.IntRange(1, MAX_APPROVAL_MINUTES),
    help="Allow the same call for this time, instead of once.",
)
@click.option(
    "--session", is_flag=True, help="Allow the same call until the session that asked ends."
)
@click.option(
    "--tool",
    is_flag=True,
    help="Allow any call of the same tool by this caller, for ten minutes or for --minutes. It ends"
    " when content of another server comes in.",
)
@json_option
@being_options
def allow(
    ticket: str,
    minutes: int | None,
    *,
    session: bool,
    tool: bool,
    as_json: bool,
    place: Place,
) -> None:
    """Allow the call TICKET, once by default. The client then has to repeat it."""
    if session and (minutes or tool):
        other = "--tool" if tool else "--minutes"
        raise InvalidInputError(f"--session and {other} exclude each other; give only one")
    if session:
        grant = Grant("session")
    elif tool:
        grant = Grant("tool", minutes or APPROVAL_MINUTES)
    else:
        grant = Grant("minutes", minutes) if minutes else Grant()
    _decide(place, ticket, grant, as_json=as_json)


@approvals.command()
@click.argument("ticket")
@json_option
@being_options
def deny(ticket: str, *, as_json: bool, place: Place) -> None:
    """Deny the call TICKET, or end its approval."""
    _decide(place, ticket, Denial(), as_json=as_json)


@approvals.command()
@json_option
@being_options
def watch(*, as_json: bool, place: Place) -> None:
    """Show new waiting calls, and ask for your decision.

    Without a terminal, or with --json, print one line of JSON for each call and do
    not ask. It runs until you interrupt it.
    """
    desk = _desk(place)
    asks = sys.stdin.isatty() and not as_json
    for ticket in waiting(desk, lambda: time.sleep(_POLL_SECONDS)):
        if not asks:
            click.echo(_line(ticket))
            continue
        _show(ticket)
        decision = _ask()
        if decision is not None:
            _answer(desk, ticket, decision)


def waiting(desk: Desk, pause: Callable[[], None]) -> Iterator[Ticket]:
    """Yield each waiting ticket once, with a `pause` between two checks."""
    yielded: set[str] = set()
    while True:
        open_tickets = [ticket for ticket in desk.all() if ticket.state == "open"]
        for ticket in open_tickets:
            if ticket.ticket not in yielded:
                yield ticket
        yielded = {ticket.ticket for ticket in open_tickets}
        pause()


def _desk(place: Place) -> Desk:
    return Desk(place.open().data, clock=system_clock)


def _decide(place: Place, ticket: str, decision: Grant | Denial, *, as_json: bool) -> None:
    decided = _desk(place).decide(ticket, decision, by=getpass.getuser())
    if as_json:
        show_json(_facts(decided))
        return
    _show_decision(decided)


def _answer(desk: Desk, ticket: Ticket, decision: Grant | Denial) -> None:
    try:
        _show_decision(desk.decide(ticket.ticket, decision, by=getpass.getuser()))
    except (ConflictError, NotFoundError, InvalidInputError) as error:
        click.echo(str(error), err=True)


def _ask() -> Grant | Denial | None:
    choices: dict[str, Grant | Denial] = {
        "o": Grant(),
        "y": Grant(),
        "m": Grant("minutes"),
        "s": Grant("session"),
        "t": Grant("tool"),
        "d": Denial(),
        "n": Denial(),
    }
    choice = click.prompt(
        "Allow once [y], for ten [m]inutes, for this [s]ession, any call of this [t]ool for ten"
        " minutes, deny [n], or [l]ater",
        type=click.Choice([*choices, "l"], case_sensitive=False),
        default="l",
        show_choices=False,
        err=True,
    )
    return choices.get(choice)


def _show_decision(ticket: Ticket) -> None:
    if ticket.state == "denied":
        click.echo(f"Denied {ticket.ticket}.", err=True)
        return
    click.echo(
        f"Allowed {ticket.ticket} ({ticket.lasting}), until {iso_time(_time(ticket.until))}.",
        err=True,
    )


def _show(ticket: Ticket) -> None:
    state = ticket.state if ticket.lasting is None else f"{ticket.state} ({ticket.lasting})"
    until = iso_time(_time(ticket.until))
    click.echo(f"{ticket.ticket}  {state} until {until}: {printable(ticket.text)}")
    name = f"{ticket.kind} {printable(ticket.name)} of {printable(ticket.server)}"
    click.echo(f"    {name}, for {printable(ticket.principal)}")
    is_whole = ticket.state == "granted" and ticket.lasting == "tool"
    click.echo(f"    {'any arguments' if is_whole else ticket.arguments}")


def _line(ticket: Ticket) -> str:
    return json.dumps(_facts(ticket))


def _facts(ticket: Ticket) -> dict[str, Any]:
    return {
        "ticket": ticket.ticket,
        "state": ticket.state,
        "lasting": ticket.lasting,
        "asked": iso_time(_time(ticket.asked)),
        "until": iso_time(_time(ticket.until)),
        "principal": ticket.principal,
        "server": ticket.server,
        "kind": ticket.kind,
        "name": ticket.name,
        "arguments": ticket.arguments,
        "rule": ticket.rule,
        "text": ticket.text,
        "by": ticket.by,
    }


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)

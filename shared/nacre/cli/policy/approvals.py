"""Approval commands: list, allow, deny and watch."""

import getpass
import json
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import click

from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, moment, show_json
from nacre.core.clock import system_clock
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.core.limits import MAX_APPROVAL_MINUTES
from nacre.firewall.approvals.form import printable
from nacre.firewall.approvals.service import Denial, Desk, Grant
from nacre.firewall.approvals.store import Ticket

_GLANCE_SECONDS = 1.0


@click.group()
def approvals() -> None:
    """See and decide which calls wait for your word.

    A rule with the action 'prompt' makes a call wait. Each approval counts for one caller,
    server, tool, set of arguments and policy.
    """


@approvals.command("list")
@json_option
@placed
def list_approvals(*, as_json: bool, place: Place) -> None:
    """List the calls that wait, and what was granted and still counts."""
    found = _desk(place).all()
    if as_json:
        show_json([_facts(each) for each in found])
    elif not found:
        click.echo("Nothing waits for your word.", err=True)
    for each in found if not as_json else ():
        _show(each)


@approvals.command()
@click.argument("ticket")
@click.option(
    "--minutes",
    type=click.IntRange(1, MAX_APPROVAL_MINUTES),
    help="Allow the same call for so long, instead of once.",
)
@click.option(
    "--session", is_flag=True, help="Allow the same call until the session that asked ends."
)
@json_option
@placed
def allow(ticket: str, minutes: int | None, *, session: bool, as_json: bool, place: Place) -> None:
    """Allow the call TICKET, once unless you say more; then it has to be made again."""
    if session and minutes:
        raise InvalidInputError("--session and --minutes are two answers; give one of them")
    grant = Grant("session") if session else Grant("minutes", minutes) if minutes else Grant()
    _decide(place, ticket, grant, as_json=as_json)


@approvals.command()
@click.argument("ticket")
@json_option
@placed
def deny(ticket: str, *, as_json: bool, place: Place) -> None:
    """Deny the call TICKET, or end what it was granted."""
    _decide(place, ticket, Denial(), as_json=as_json)


@approvals.command()
@json_option
@placed
def watch(*, as_json: bool, place: Place) -> None:
    """Show each call as it begins to wait, and ask for your word, until interrupted.

    Without a terminal, or with --json, it shows one line of JSON for each call and asks nothing.
    """
    desk = _desk(place)
    asks = sys.stdin.isatty() and not as_json
    for ticket in waiting(desk, lambda: time.sleep(_GLANCE_SECONDS)):
        if not asks:
            click.echo(_line(ticket))
            continue
        _show(ticket)
        said = _asked()
        if said is not None:
            _answer(desk, ticket, said)


def waiting(desk: Desk, pause: Callable[[], None]) -> Iterator[Ticket]:
    """Yield each ticket once, as soon as it waits; `pause` between two looks."""
    seen: set[str] = set()
    while True:
        now_open = [each for each in desk.all() if each.state == "open"]
        for ticket in now_open:
            if ticket.ticket not in seen:
                yield ticket
        seen = {ticket.ticket for ticket in now_open}
        pause()


def _desk(place: Place) -> Desk:
    return Desk(place.open().data, clock=system_clock)


def _decide(place: Place, ticket: str, said: Grant | Denial, *, as_json: bool) -> None:
    decided = _desk(place).decide(ticket, said, by=getpass.getuser())
    if as_json:
        show_json(_facts(decided))
        return
    _tell(decided)


def _answer(desk: Desk, ticket: Ticket, said: Grant | Denial) -> None:
    try:
        _tell(desk.decide(ticket.ticket, said, by=getpass.getuser()))
    except (ConflictError, NotFoundError, InvalidInputError) as error:
        click.echo(str(error), err=True)


def _asked() -> Grant | Denial | None:
    choices: dict[str, Grant | Denial] = {
        "o": Grant(),
        "y": Grant(),
        "m": Grant("minutes"),
        "s": Grant("session"),
        "d": Denial(),
        "n": Denial(),
    }
    said = click.prompt(
        "Allow once [y], for ten [m]inutes, for this [s]ession, deny [n], or [l]eave it",
        type=click.Choice([*choices, "l"], case_sensitive=False),
        default="l",
        show_choices=False,
        err=True,
    )
    return choices.get(said)


def _tell(ticket: Ticket) -> None:
    if ticket.state == "denied":
        click.echo(f"Denied {ticket.ticket}.", err=True)
        return
    click.echo(
        f"Allowed {ticket.ticket} ({ticket.lasting}), until {moment(_at(ticket.until))}.", err=True
    )


def _show(ticket: Ticket) -> None:
    state = ticket.state if ticket.lasting is None else f"{ticket.state} ({ticket.lasting})"
    until = moment(_at(ticket.until))
    click.echo(f"{ticket.ticket}  {state} until {until}: {printable(ticket.text)}")
    name = f"{ticket.kind} {printable(ticket.name)} of {printable(ticket.server)}"
    click.echo(f"    {name}, for {printable(ticket.principal)}")
    click.echo(f"    {ticket.arguments}")


def _line(ticket: Ticket) -> str:
    return json.dumps(_facts(ticket))


def _facts(ticket: Ticket) -> dict[str, Any]:
    return {
        "ticket": ticket.ticket,
        "state": ticket.state,
        "lasting": ticket.lasting,
        "asked": moment(_at(ticket.asked)),
        "until": moment(_at(ticket.until)),
        "principal": ticket.principal,
        "server": ticket.server,
        "kind": ticket.kind,
        "name": ticket.name,
        "arguments": ticket.arguments,
        "rule": ticket.rule,
        "text": ticket.text,
        "by": ticket.by,
    }


def _at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)

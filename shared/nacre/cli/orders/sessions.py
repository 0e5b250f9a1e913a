"""The command `nacre sessions`: the conversations that orders have left, to see and to forget."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import click

from nacre.being.orders.sessions.store import SessionHead, SessionStore
from nacre.cli.being_options import Place, placed
from nacre.cli.display import harmless, json_option, show_json, show_table
from nacre.core.clock import system_clock
from nacre.core.errors import InvalidInputError
from nacre.jobs.lease import Leases
from nacre.wiring.home import Home

Function = TypeVar("Function", bound=Callable[..., Any])
_SHOWN = 12  # characters of an id: no two sessions of a Being will share them

_store = click.option(
    "--store",
    type=click.Choice(["file", "stack"]),
    help="Where they are kept: file is this machine, stack needs --stack. [default: as --stack]",
)


@click.group(invoke_without_command=True)
@_store
@json_option
@placed
@click.pass_context
def sessions(context: click.Context, store: str | None, *, as_json: bool, place: Place) -> None:
    """List, show and delete the sessions that orders have left.

    Without a command they are listed.
    """
    _check(store, place)
    if context.invoked_subcommand is None:
        _list(place, as_json=as_json)


@sessions.command("list")
@_store
@json_option
@placed
def list_sessions(store: str | None, *, as_json: bool, place: Place) -> None:
    """List the sessions, the latest first."""
    _check(store, place)
    _list(place, as_json=as_json)


@sessions.command()
@click.argument("session_id", metavar="ID")
@_store
@json_option
@placed
def show(session_id: str, store: str | None, *, as_json: bool, place: Place) -> None:
    """Show what the session ID still holds: its latest turns, and lines about those before."""
    _check(store, place)
    home = place.open()
    kept, being_id = _kept(home), place.choose(home).being_id
    head = kept.find(being_id, session_id)
    session = kept.load(being_id, head.session_id)
    if as_json:
        turns = [asdict(turn) for turn in session.turns]
        show_json({**asdict(head), "summary": list(session.summary), "latest": turns})
        return
    click.echo(f"Session: {head.session_id}")
    click.echo(f"Caller:  {head.caller}")
    click.echo(f"Turns:   {head.turns}, {len(session.turns)} of them whole")
    click.echo(f"Used:    {head.created_at} to {head.updated_at}")
    for line in session.summary:
        click.echo(harmless(line))
    for turn in session.turns:
        along = f" [{', '.join(turn.files)}]" if turn.files else ""
        said = f"> {_quoted(turn.message)}\n\n{turn.answer}"
        click.echo(harmless(f"\n{turn.at}{along}\n{said}"))


@sessions.command()
@click.argument("session_id", metavar="ID", required=False)
@click.option("--all", "every", is_flag=True, help="Delete every session of the Being.")
@_store
@placed
def delete(session_id: str | None, store: str | None, *, every: bool, place: Place) -> None:
    """Forget the session ID, so that its key begins a new one.

    What was said in it stays in the history; see 'nacre forget messages'.
    """
    if every is (session_id is not None):
        raise InvalidInputError("give the ID of one session, or --all")
    _check(store, place)
    home = place.open()
    kept, being = _kept(home), place.choose(home)
    heads = kept.heads(being.being_id) if every else [kept.find(being.being_id, session_id or "")]
    for head in heads:
        kept.delete(being.being_id, head.session_id)
    count = len(heads)
    click.echo(f"Deleted {count} session{'' if count == 1 else 's'} of {being.name}.", err=True)


def _list(place: Place, *, as_json: bool) -> None:
    home = place.open()
    being = place.choose(home)
    heads = _kept(home).heads(being.being_id)
    if as_json:
        show_json([asdict(head) for head in heads])
    elif heads:
        head_line = ("SESSION", "CALLER", "TURNS", "BYTES", "LAST USED", "CREATED")
        show_table(head_line, [_row(head) for head in heads])
    else:
        click.echo(f"{being.name} has no session; one begins with a sessionKey.", err=True)


def _row(head: SessionHead) -> tuple[str, ...]:
    return (
        head.session_id[:_SHOWN],
        head.caller,
        str(head.turns),
        str(head.bytes),
        head.updated_at,
        head.created_at,
    )


def _kept(home: Home) -> SessionStore:
    leases = Leases(home.data, now=system_clock, holders=home.holders)
    return SessionStore(home.data, leases, clock=system_clock)


def _check(store: str | None, place: Place) -> None:
    if store == "file" and place.stack:
        raise InvalidInputError("--store file is this machine, and --stack names another place")
    if store == "stack" and not place.stack:
        raise InvalidInputError("--store stack needs --stack NAME")


def _quoted(text: str) -> str:
    return text.replace("\n", "\n> ")

"""The command `nacre sessions`: list, show and delete the conversations of orders."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from nacre.being.memory.text.memory_text import counted
from nacre.being.orders.sessions.store import SessionHead, SessionStore
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json, show_list, without_controls
from nacre.core.clock import system_clock
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import asdict
from nacre.wiring.compose import Home

Function = TypeVar("Function", bound=Callable[..., Any])
_SHOWN = 12  # characters of an id, enough to be unique for a Being

_store = click.option(
    "--store",
    type=click.Choice(["file", "stack"]),
    help="Where they are stored: file is this machine, stack needs --stack. [default: by --stack]",
)


@click.group(invoke_without_command=True)
@_store
@json_option
@being_options
@click.pass_context
def sessions(context: click.Context, store: str | None, *, as_json: bool, place: Place) -> None:
    """List, show and delete the sessions of orders.

    Without a command, list them.
    """
    _check(store, place)
    if context.invoked_subcommand is None:
        _list(place, as_json=as_json)


@sessions.command("list")
@_store
@json_option
@being_options
def list_sessions(store: str | None, *, as_json: bool, place: Place) -> None:
    """List the sessions, the newest first."""
    _check(store, place)
    _list(place, as_json=as_json)


@sessions.command()
@click.argument("session_id", metavar="ID")
@_store
@json_option
@being_options
def show(session_id: str, store: str | None, *, as_json: bool, place: Place) -> None:
    """Show the latest turns of the session ID, and a summary of the earlier ones."""
    _check(store, place)
    home = place.open()
    stored, being_id = _sessions(home), place.choose(home).being_id
    head = stored.find(being_id, session_id)
    session = stored.load(being_id, head.session_id)
    if as_json:
        turns = [asdict(turn) for turn in session.turns]
        show_json({**asdict(head), "summary": list(session.summary), "latest": turns})
        return
    click.echo(f"Session: {head.session_id}")
    click.echo(f"Caller:  {head.caller}")
    click.echo(f"Turns:   {head.turns}, {len(session.turns)} of them complete")
    click.echo(f"Used:    {head.created_at} to {head.updated_at}")
    for line in session.summary:
        click.echo(without_controls(line))
    for turn in session.turns:
        files = f" [{', '.join(turn.files)}]" if turn.files else ""
        text = f"> {_quoted(turn.message)}\n\n{turn.answer}"
        click.echo(without_controls(f"\n{turn.at}{files}\n{text}"))


@sessions.command()
@click.argument("session_id", metavar="ID", required=False)
@click.option("--all", "every", is_flag=True, help="Delete every session of the Being.")
@_store
@being_options
def delete(session_id: str | None, store: str | None, *, every: bool, place: Place) -> None:
    """Delete the session ID, so that its key begins a new one.

    Its messages stay in the history; see 'nacre forget messages'.
    """
    if every is (session_id is not None):
        raise InvalidInputError("give the ID of one session, or --all")
    _check(store, place)
    home = place.open()
    stored, being = _sessions(home), place.choose(home)
    heads = stored.heads(being.being_id)
    if not every:
        heads = [stored.find(being.being_id, session_id or "")]
    for head in heads:
        stored.delete(being.being_id, head.session_id)
    click.echo(f"Deleted {counted(len(heads), 'session')} of {being.name}.", err=True)


def _list(place: Place, *, as_json: bool) -> None:
    home, being = place.open_being()
    heads = _sessions(home).heads(being.being_id)
    columns = ("SESSION", "CALLER", "TURNS", "BYTES", "LAST USED", "CREATED")
    empty = f"{being.name} has no session; an order with a sessionKey begins one."
    show_list(
        [asdict(head) for head in heads], columns, map(_row, heads), as_json=as_json, empty=empty
    )


def _row(head: SessionHead) -> tuple[str, ...]:
    return (
        head.session_id[:_SHOWN],
        head.caller,
        str(head.turns),
        str(head.bytes),
        head.updated_at,
        head.created_at,
    )


def _sessions(home: Home) -> SessionStore:
    return SessionStore(home.data, home.leases, clock=system_clock)


def _check(store: str | None, place: Place) -> None:
    if store == "file" and place.stack:
        raise InvalidInputError("--store file is this machine, and --stack names another place")
    if store == "stack" and not place.stack:
        raise InvalidInputError("--store stack needs --stack NAME")


def _quoted(text: str) -> str:
    return text.replace("\n", "\n> ")

"""The command `nacre forget`: erase memories, entries, messages or a whole Being."""

import sys
from collections.abc import Callable
from functools import partial
from random import SystemRandom
from typing import Any, TypeVar

import click

from nacre.access.beings import Being
from nacre.being.memory.erase.erase_being import Stores, erase_being
from nacre.being.memory.erase.eraser import Eraser
from nacre.being.memory.erase.receipt import Erased
from nacre.being.memory.model.fields import checked_date
from nacre.being.memory.store.letters import Letters
from nacre.being.memory.store.partitions import delete_all
from nacre.being.memory.store.targets import NOTES, TARGETS
from nacre.being.memory.text.memory_text import counted
from nacre.being.orders.sessions.store import SessionStore
from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, show_json
from nacre.cli.exit_codes import FAILURE, OK, REFUSED
from nacre.cli.progress import telling
from nacre.core.clock import system_clock
from nacre.core.errors import InvalidInputError
from nacre.firewall.approvals.service import Desk
from nacre.firewall.policies.stored_policy import partition
from nacre.jobs.lease import Leases
from nacre.ports.residue import Trace
from nacre.wiring.home import Home

Function = TypeVar("Function", bound=Callable[..., Any])

_SHOWN = 20  # traces that are named
_SHORTEST = 12  # characters: a shorter text is found in others that have nothing to do with it

_OPTIONS = (
    click.option("--yes", is_flag=True, help="Do not ask."),
    click.option(
        "--verify",
        is_flag=True,
        help="Then look through every table for what was erased, and print how much is left.",
    ),
    json_option,
    placed,
)


def _options(command: Function) -> Function:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group()
def forget() -> None:
    """Erase memories, messages or a whole Being.

    What was erased is in no table, no index and no page of the store's files afterwards. Exports
    that were made before, and backups, are yours to delete.
    """


@forget.command()
@click.argument("node_id", metavar="ID")
@_options
def node(node_id: str, **options: Any) -> int:
    """Erase the memory ID, its scenes, and what it was merged from.

    Merges that it went into are taken back: their other sources stay.
    """
    return _forget(
        f"the memory {node_id}",
        lambda _home, eraser, being: eraser.memories.node(being, node_id),
        **options,
    )


@forget.command()
@click.argument("scene_id", metavar="ID")
@_options
def scene(scene_id: str, **options: Any) -> int:
    """Erase the scene ID; a memory that was made of nothing else goes with it."""
    return _forget(
        f"the scene {scene_id}",
        lambda _home, eraser, being: eraser.memories.scene(being, scene_id),
        **options,
    )


@forget.command()
@click.argument("note_id", metavar="ID")
@_options
def note(note_id: str, **options: Any) -> int:
    """Erase the note ID."""

    def erase(_home: Home, eraser: Eraser, being_id: str) -> Erased:
        return eraser.words.entry(being_id, NOTES, note_id)

    return _forget(f"the note {note_id}", erase, **options)


@forget.command()
@click.argument("target", type=click.Choice(sorted(TARGETS)))
@click.argument("key")
@_options
def entry(target: str, key: str, **options: Any) -> int:
    """Erase the entry KEY of a target of update_memory, with its old versions.

    A name and a personality have to be there: of these the old versions are erased.
    """

    def erase(_home: Home, eraser: Eraser, being_id: str) -> Erased:
        return eraser.words.entry(being_id, TARGETS[target], key)

    return _forget(f"{key!r} of {target}", erase, **options)


@forget.command()
@click.option("--from", "date_from", metavar="DATE", required=True, help="First day, in UTC.")
@click.option("--to", "date_to", metavar="DATE", required=True, help="Last day, in UTC.")
@_options
def messages(date_from: str, date_to: str, **options: Any) -> int:
    """Erase the messages of some days; both are included.

    Scenes that were made of them stay, and are named. Sessions of orders in which something was
    said on these days are forgotten whole.
    """

    def erase(home: Home, eraser: Eraser, being_id: str) -> Erased:
        low, high = checked_date(date_from, "--from"), checked_date(date_to, "--to")
        leases = Leases(home.data, now=system_clock, holders=home.holders)
        SessionStore(home.data, leases, clock=system_clock).delete_between(being_id, low, high)
        return eraser.words.messages(being_id, date_from, date_to)

    return _forget(f"the messages from {date_from} to {date_to}", erase, **options)


@forget.command("being")
@click.argument("name")
@_options
def forget_being(name: str, *, place: Place, **options: Any) -> int:
    """Erase the Being NAME with all that it keeps, and end its tokens.

    Letters that it sent leave the inboxes of its partners too. A command that broke off goes on
    when it is given again.
    """
    return _forget(
        f"the Being {name} and all that it keeps",
        None,
        place=Place(name, place.stack, place.data_dir, place.owner),
        **options,
    )


def _forget(
    what: str,
    erase: Callable[[Home, Eraser, str], Erased] | None,
    *,
    yes: bool,
    verify: bool,
    as_json: bool,
    place: Place,
) -> int:
    """Erase something of a Being, or the Being itself, and tell what became of it."""
    home = place.open()
    being = place.choose(home)
    if not yes:
        whose = "" if erase is None else f" of {being.name}"
        if not _agreed(f"Erase {what}{whose} for good?"):
            click.echo("Nothing was erased.", err=True)
            return REFUSED
    eraser = _eraser(home)
    if erase is None:
        with eraser.undisturbed(being.being_id):
            _erase_rules(home, being)
            erased = erase_being(being, _stores(home), telling("memories"))
        home.residue().settle()
    else:
        act = partial(erase, home, eraser, being.being_id)
        erased = eraser.erase(being.being_id, act, telling("memories indexed"))
    left = _left(home, being, erased) if verify else None
    if as_json:
        show_json(_facts(being, erased, left))
    else:
        _tell(being, erased, left)
    return FAILURE if left else OK


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise InvalidInputError("no terminal to confirm at; give --yes")
    return click.confirm(question, err=True)


def _eraser(home: Home) -> Eraser:
    leases = Leases(home.data, now=system_clock, holders=home.holders, wake=home.wake)
    return Eraser(
        home.data, leases, home.index, home.residue, clock=system_clock, rng=SystemRandom()
    )


def _erase_rules(home: Home, being: Being) -> None:
    """Erase the Being's own policies, and what waits for approval or was approved for it."""
    delete_all(home.data, partition(being.being_id))
    callers = {record.token_id for record in home.tokens.of_being(being.being_id)}
    Desk(home.data, clock=system_clock).forget(callers)


def _stores(home: Home) -> Stores:
    return Stores(
        table=home.data,
        beings=home.beings,
        tokens=home.tokens,
        index=home.index(),
        blobs=home.blobs(),
        residue=home.residue(),
        letters=Letters(home.data, home.beings, clock=system_clock, rng=SystemRandom()),
    )


def _left(home: Home, being: Being, erased: Erased) -> list[Trace]:
    """Return what is left; what another Being keeps, such as a copy, is its own."""
    found = home.residue().find(_needles(erased))
    return [trace for trace in found if trace.being_id in (None, being.being_id)]


def _needles(erased: Erased) -> list[str]:
    return [*erased.ids, *(text for text in erased.texts if len(text) >= _SHORTEST)]


def _facts(being: Being, erased: Erased, left: list[Trace] | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "being": being.name,
        "being_id": being.being_id,
        "erased": dict(erased.counts),
        "ids": list(erased.ids),
        "made_of_it": list(erased.made_of_it),
    }
    if left is not None:
        facts |= {"traces": len(left), "places": [trace.place for trace in left[:_SHOWN]]}
    return facts


def _plural(kind: str) -> str:
    if kind.endswith("s"):  # the name of a target, such as preferences
        return kind
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def _tell(being: Being, erased: Erased, left: list[Trace] | None) -> None:
    counts = ", ".join(counted(count, kind, _plural(kind)) for kind, count in erased.counts.items())
    click.echo(f"Erased of {being.name}: {counts or 'nothing'}.", err=True)
    for each in erased.made_of_it:
        click.echo(f"made of these messages, and kept: scene {each}", err=True)
    if left is None:
        return
    click.echo(len(left))
    for trace in left[:_SHOWN]:
        click.echo(f"left in {trace.place}", err=True)

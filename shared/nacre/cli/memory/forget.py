"""The command `nacre forget`: erase memories, entries, messages or a whole Being."""

from collections.abc import Callable
from functools import partial
from random import SystemRandom
from typing import Any

import click

from nacre.access.beings import Being
from nacre.being.memory.erase.erase_being import Stores, erase_being
from nacre.being.memory.erase.eraser import Eraser
from nacre.being.memory.erase.receipt import EraseReceipt
from nacre.being.memory.model.fields import checked_date
from nacre.being.memory.store.letters import Letters
from nacre.being.memory.store.partitions import delete_all
from nacre.being.memory.store.targets import NOTES, TARGETS
from nacre.being.memory.text.memory_text import counted
from nacre.being.orders.sessions.store import SessionStore
from nacre.cli.being_options import Place, being_options, combined
from nacre.cli.confirmation import is_confirmed
from nacre.cli.display import json_option, show_json
from nacre.cli.exit_codes import FAILURE, OK, REFUSED
from nacre.cli.memory.mirror_folder import mirrored_folders
from nacre.cli.progress import progress_lines
from nacre.core.clock import system_clock
from nacre.firewall.approvals.service import Desk
from nacre.firewall.policies.stored_policy import partition
from nacre.ports.operation.residue import Trace
from nacre.wiring.compose import Home

_SHOWN = 20  # traces that are listed
_SHORTEST = 12  # characters; a shorter text may be in unrelated texts

_options = combined(
    click.option("--yes", is_flag=True, help="Do not ask."),
    click.option(
        "--verify",
        is_flag=True,
        help="Then search every table for the erased data, and print the number of traces.",
    ),
    json_option,
    being_options,
)


@click.group()
def forget() -> None:
    """Erase memories, messages or a whole Being.

    Erased data is removed from every table, index and page of the store's files. Earlier exports
    and backups are not changed; delete them yourself.
    """


@forget.command()
@click.argument("node_id", metavar="ID")
@_options
def node(node_id: str, **options: Any) -> int:
    """Erase the memory ID with its scenes and sources.

    Its sources are the memories that it was merged from. Later merges that contain it are undone:
    their other sources stay.
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
    """Erase the scene ID.

    A memory that was made from this scene alone is erased too.
    """
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

    def erase(_home: Home, eraser: Eraser, being_id: str) -> EraseReceipt:
        return eraser.texts.entry(being_id, NOTES, note_id)

    return _forget(f"the note {note_id}", erase, **options)


@forget.command()
@click.argument("target", type=click.Choice(sorted(TARGETS)))
@click.argument("key")
@_options
def entry(target: str, key: str, **options: Any) -> int:
    """Erase the entry KEY of a target, with its old versions.

    Targets are those of update_memory. A Being must have a name and a personality: of these, only
    the old versions are erased.
    """

    def erase(_home: Home, eraser: Eraser, being_id: str) -> EraseReceipt:
        return eraser.texts.entry(being_id, TARGETS[target], key)

    return _forget(f"{key!r} of {target}", erase, **options)


@forget.command()
@click.option("--from", "date_from", metavar="DATE", required=True, help="First day, in UTC.")
@click.option("--to", "date_to", metavar="DATE", required=True, help="Last day, in UTC.")
@_options
def messages(date_from: str, date_to: str, **options: Any) -> int:
    """Erase the messages of a range of days, both included.

    Scenes that were made from them stay, and are listed. Sessions of orders with messages of these
    days are deleted completely.
    """

    def erase(home: Home, eraser: Eraser, being_id: str) -> EraseReceipt:
        low, high = checked_date(date_from, "--from"), checked_date(date_to, "--to")
        SessionStore(home.data, home.leases, clock=system_clock).delete_between(being_id, low, high)
        return eraser.texts.messages(being_id, date_from, date_to)

    return _forget(f"the messages from {date_from} to {date_to}", erase, **options)


@forget.command("being")
@click.argument("name")
@_options
def forget_being(name: str, *, place: Place, **options: Any) -> int:
    """Erase the Being NAME, and revoke its tokens.

    The letters that it sent are removed from the inboxes of other Beings too. If the command was
    interrupted, run it again to finish.
    """
    return _forget(
        f"the Being {name} and everything that it keeps",
        None,
        place=Place(name, place.stack, place.data_dir, place.owner),
        **options,
    )


def _forget(
    target: str,
    erase: Callable[[Home, Eraser, str], EraseReceipt] | None,
    *,
    yes: bool,
    verify: bool,
    as_json: bool,
    place: Place,
) -> int:
    """Erase a part of a Being, or the Being itself, and show the result."""
    home, being = place.open_being()
    if not yes:
        whose = "" if erase is None else f" of {being.name}"
        if not is_confirmed(f"Permanently erase {target}{whose}?"):
            click.echo("Nothing was erased.", err=True)
            return REFUSED
    eraser = home.eraser
    if erase is None:
        with eraser.without_patrols(being.being_id):
            _erase_rules(home, being)
            erased = erase_being(being, _stores(home), progress_lines("memories"))
        home.ports.residue.settle()
    else:
        act = partial(erase, home, eraser, being.being_id)
        erased = eraser.erase(being.being_id, act, progress_lines("memories indexed"))
    traces = _traces(home, being, erased) if verify else None
    mirrors = mirrored_folders(place.folder(), being.being_id)
    if as_json:
        show_json({**_facts(being, erased, traces), "mirrors": mirrors})
    else:
        _show(being, erased, traces)
        for folder in mirrors:
            way = "delete it" if erase is None else "'nacre mirror' updates its pages"
            click.echo(f"A mirror of {being.name} is in {folder}: {way}.", err=True)
    return FAILURE if traces else OK


def _erase_rules(home: Home, being: Being) -> None:
    """Erase the Being's own policies and its approvals, pending and granted."""
    delete_all(home.data, partition(being.being_id))
    callers = {record.token_id for record in home.tokens.of_being(being.being_id)}
    Desk(home.data, clock=system_clock).forget(callers)


def _stores(home: Home) -> Stores:
    return Stores(
        table=home.data,
        beings=home.beings,
        tokens=home.tokens,
        index=home.index_work,
        blobs=home.ports.blobs,
        residue=home.ports.residue,
        letters=Letters(home.data, home.beings, clock=system_clock, rng=SystemRandom()),
    )


def _traces(home: Home, being: Being, erased: EraseReceipt) -> list[Trace]:
    """Return the remaining traces, not counting those that belong to other Beings."""
    needles = [*erased.ids, *(text for text in erased.texts if len(text) >= _SHORTEST)]
    traces = home.ports.residue.find(needles)
    return [trace for trace in traces if trace.being_id in (None, being.being_id)]


def _facts(being: Being, erased: EraseReceipt, traces: list[Trace] | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "being": being.name,
        "being_id": being.being_id,
        "erased": dict(erased.counts),
        "ids": list(erased.ids),
        "made_of_it": list(erased.derived_scenes),
    }
    if traces is not None:
        facts |= {"traces": len(traces), "places": [trace.place for trace in traces[:_SHOWN]]}
    return facts


def _plural(kind: str) -> str:
    if kind.endswith("s"):  # the name of a target, such as preferences
        return kind
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def _show(being: Being, erased: EraseReceipt, traces: list[Trace] | None) -> None:
    counts = ", ".join(counted(count, kind, _plural(kind)) for kind, count in erased.counts.items())
    click.echo(f"Erased of {being.name}: {counts or 'nothing'}.", err=True)
    for scene_id in erased.derived_scenes:
        click.echo(f"kept, though made from these messages: scene {scene_id}", err=True)
    if traces is None:
        return
    click.echo(len(traces))
    for trace in traces[:_SHOWN]:
        click.echo(f"left in {trace.place}", err=True)

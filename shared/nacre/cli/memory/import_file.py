"""The command `nacre import`: an export, or the memory of another program, into a Being."""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from random import SystemRandom
from shutil import copyfileobj
from typing import Any, BinaryIO

import click

from nacre.access.beings import Being
from nacre.being.memory.transfer.deferred_index import MarkingIndex
from nacre.being.memory.transfer.export_file import ExportFile, Summary
from nacre.being.memory.transfer.exporter import Exports
from nacre.being.memory.transfer.foreign_records import NotUnderstood, as_scenes
from nacre.being.memory.transfer.importer import Imported, Imports, Origin
from nacre.being.memory.transfer.portable_records import KINDS, Record
from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, show_json, show_table
from nacre.cli.exit_codes import FAILURE, OK
from nacre.cli.memory.foreign_files import FORMATS, read_foreign
from nacre.cli.progress import telling
from nacre.core.clock import system_clock
from nacre.core.errors import ConflictError, InvalidInputError
from nacre.wiring.home import Home

_NACRE = "nacre"
_NAMED = 3  # places that are named for each reason


@dataclass(slots=True)
class _Strange:
    """What was not understood of a file: how often, for which reason, and where first."""

    counts: Counter[str] = field(default_factory=Counter)
    where: dict[str, list[str]] = field(default_factory=dict)

    def add(self, found: NotUnderstood) -> None:
        self.counts[found.reason] += 1
        places = self.where.setdefault(found.reason, [])
        if len(places) < _NAMED:
            places.append(found.where)


@dataclass(frozen=True, slots=True)
class _Load:
    """What is to be imported: records that can be read again, and where they come from."""

    records: Callable[[], Iterator[Record]]
    summary: Summary | None = None
    strange: _Strange = field(default_factory=_Strange)
    instead: Callable[[Record], list[Record]] = lambda _: []  # for what finds no room

    @property
    def origin(self) -> Origin | None:
        """Return the Being that it comes from; None for another program's."""
        summary = self.summary
        return None if summary is None else Origin(summary.being_id, summary.clock)


@click.command("import")
@click.argument("file", metavar="FILE")
@click.option("--into", metavar="NAME", help="The Being to import into. [default: the only one]")
@click.option("--create", metavar="NAME", help="Make a Being of this name and import into it.")
@click.option(
    "--format",
    "format_",
    type=click.Choice([_NACRE, *FORMATS]),
    default=_NACRE,
    show_default=True,
    help="Which program wrote the file.",
)
@click.option("--dry-run", is_flag=True, help="Say what would come of it, and write nothing.")
@json_option
@placed
def import_file(
    file: str,
    *,
    into: str | None,
    create: str | None,
    format_: str,
    dry_run: bool,
    as_json: bool,
    place: Place,
) -> int:
    """Take FILE into a Being.

    It is an export of Nacre or, with --format, the memory of another program; - is standard
    input. What is there already stays, so that the same file again changes nothing and an import
    that broke off goes on. A file that is cut off or was altered is refused before anything is
    written.
    """
    if into and create:
        raise click.UsageError("--into and --create name two Beings; give one of them")
    home = place.open()
    with _load(file, format_) as load:
        being = _being(home, place, into, create, load, is_dry=dry_run)
        outcome, state = _taken(home, being, load, is_dry=dry_run)
    name = create or (being.name if being else "")
    if as_json:
        show_json(_facts(name, being, outcome, load, state, is_dry=dry_run))
    else:
        _tell(name, outcome, load, state, is_dry=dry_run)
    return FAILURE if state is False else OK


def _taken(
    home: Home, being: Being | None, load: _Load, *, is_dry: bool
) -> tuple[Imported, bool | None]:
    """Return what became of the import, and whether the state is now that of the export."""
    if being is None:  # a dry run of what would make one
        return Imported(new=Counter(record.kind for record in load.records())), None
    being_id = being.being_id
    imports = Imports(home.data, MarkingIndex(home.data, clock=system_clock, rng=SystemRandom()))
    was_empty = imports.is_empty(being_id)
    if load.summary is not None:
        imports.check_room(being_id, load.records())
    outcome = imports.run(
        being_id,
        load.records(),
        origin=load.origin,
        is_dry=is_dry,
        instead=load.instead,
        progress=telling("records"),
    )
    if is_dry:
        return outcome, None
    if outcome.new:
        home.index().run(being_id, "repair", telling("memories indexed"))
    if load.summary is None:
        return outcome, None
    is_same = Exports(home.data).state_hash(being_id) == load.summary.state
    return outcome, is_same if is_same or was_empty else None


def _being(
    home: Home, place: Place, into: str | None, create: str | None, load: _Load, *, is_dry: bool
) -> Being | None:
    """Return the Being to import into; None where a dry run would make it."""
    if create is None:
        if into is not None:
            return home.beings.choose(into, owner=place.owner_name)
        return place.choose(home)
    there = home.beings.named(create, owner=place.owner_name)
    summary = load.summary
    if there is not None:
        if summary is not None and there.being_id == summary.being_id:
            return there  # an import that broke off
        raise ConflictError(
            f"{place.owner_name} already has a Being named {there.name!r}; choose another name,"
            " or give --into to import into that one"
        )
    if is_dry:
        return None
    if summary is None:
        return home.beings.create(create, owner=place.owner_name)
    # With its own id everything that follows from the id goes on as before.
    is_free = home.beings.get(summary.being_id) is None
    return home.beings.create(
        create,
        owner=place.owner_name,
        being_id=summary.being_id if is_free else None,
        created=datetime.fromisoformat(summary.created),
    )


@contextmanager
def _load(file: str, format_: str) -> Iterator[_Load]:
    if format_ != _NACRE:
        strange, today = _Strange(), system_clock()
        yield _Load(
            lambda: _understood(format_, file, strange),
            strange=strange,
            instead=partial(as_scenes, program=format_, today=today),
        )
        return
    with _opened(file) as content:
        export = ExportFile(content)
        try:
            summary = export.check(telling("records checked"))
        except InvalidInputError as error:
            raise InvalidInputError(f"{file}: {error}") from error
        yield _Load(export.records, summary)


def _understood(format_: str, file: str, strange: _Strange) -> Iterator[Record]:
    for found in read_foreign(format_, file, today=system_clock()):
        if isinstance(found, NotUnderstood):
            strange.add(found)
        else:
            yield found


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        with tempfile.TemporaryFile() as spool:  # it is read twice
            copyfileobj(sys.stdin.buffer, spool)
            spool.seek(0)
            yield spool
        return
    try:
        content = Path(file).open("rb")  # noqa: SIM115  # closed below
    except OSError as error:
        raise InvalidInputError(f"{file}: cannot be read ({error.strerror})") from error
    with content:
        yield content


def _facts(
    name: str,
    being: Being | None,
    outcome: Imported,
    load: _Load,
    is_same: bool | None,
    *,
    is_dry: bool,
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "being": name,
        "being_id": being.being_id if being else None,
        "dry_run": is_dry,
        "new": dict(outcome.new),
        "same": dict(outcome.same),
        "kept": dict(outcome.kept),
        "kept_keys": outcome.kept_keys,
        "no_room": dict(outcome.no_room),
        "as_scenes": dict(outcome.instead),
        "not_understood": [
            {"reason": reason, "count": count, "where": load.strange.where[reason]}
            for reason, count in load.strange.counts.most_common()
        ],
    }
    if load.summary is not None:
        facts |= {"from": load.summary.name, "state": load.summary.state, "same_state": is_same}
    return facts


def _tell(name: str, outcome: Imported, load: _Load, is_same: bool | None, *, is_dry: bool) -> None:
    parts = (outcome.new, outcome.same, outcome.kept, outcome.no_room)
    rows = [
        (kind, *(str(part[kind]) for part in parts))
        for kind in KINDS
        if any(part[kind] for part in parts)
    ]
    show_table(("KIND", "NEW", "THERE ALREADY", "KEPT AS IT IS", "NO ROOM"), rows)
    for kind, count in outcome.instead.items():
        click.echo(f"no room, so kept as scenes: {count} of kind {kind}")
    for each in outcome.kept_keys:
        click.echo(f"kept as it is: {each}")
    for reason, count in load.strange.counts.most_common():
        click.echo(f"not understood: {count}: {reason} ({', '.join(load.strange.where[reason])})")
    if is_dry:
        click.echo(f"Nothing was written; without --dry-run this comes into {name}.", err=True)
        return
    click.echo(f"Imported into {name}.", err=True)
    if is_same is True:
        click.echo("Its state is now that of the export.", err=True)
    elif is_same is False:
        click.echo("error: its state is not that of the export", err=True)

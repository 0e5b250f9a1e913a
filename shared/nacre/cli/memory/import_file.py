"""The command `nacre import`: an export, or what another program has stored, into a Being."""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from random import SystemRandom
from shutil import copyfileobj
from typing import Any, BinaryIO

import click

from nacre.access.beings import Being
from nacre.being.memory.transfer.deferred_index import DeferredIndex
from nacre.being.memory.transfer.export_file import NOT_AN_EXPORT, ExportFile, Summary
from nacre.being.memory.transfer.exporter import Exporter
from nacre.being.memory.transfer.foreign_records import SkippedPart, scenes_instead
from nacre.being.memory.transfer.importer import Importer, ImportResult, Origin
from nacre.being.memory.transfer.portable_records import KINDS, Record
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json, show_table
from nacre.cli.exit_codes import FAILURE, OK
from nacre.cli.hooks.capture_settings import CaptureSettings, read_settings
from nacre.cli.memory.foreign_files import FORMATS, read_foreign
from nacre.cli.memory.import_transcripts import import_conversations
from nacre.cli.memory.skipped_parts import SkippedParts
from nacre.cli.memory.transcript_files import FORMATS as TRANSCRIPT_FORMATS
from nacre.cli.memory.transcript_files import reason_unrecognized, recognized_format
from nacre.cli.progress import progress_lines
from nacre.core.clock import system_clock
from nacre.core.errors import ConflictError, InvalidInputError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.wiring.compose import Home

_NACRE = "nacre"


@dataclass(frozen=True, slots=True)
class _Source:
    """The records to import, which can be read more than once, and where they come from."""

    records: Callable[[], Iterator[Record]]
    summary: Summary | None = None
    skipped: SkippedParts = field(default_factory=SkippedParts)
    instead: Callable[[Record], list[Record]] = lambda _: []  # for records without room

    @property
    def origin(self) -> Origin | None:
        """The Being that the records come from, or None for another program."""
        summary = self.summary
        return None if summary is None else Origin(summary.being_id, summary.clock)


@click.command("import")
@click.argument("file", metavar="[PATH]", required=False)
@click.option("--into", metavar="NAME", help="The Being to import into. [default: the only one]")
@click.option("--create", metavar="NAME", help="Create a Being of this name, and import into it.")
@click.option(
    "--format",
    "format_",
    type=click.Choice([_NACRE, *FORMATS, *TRANSCRIPT_FORMATS]),
    help="The program that wrote it. [default: recognized by its content]",
)
@click.option(
    "--find",
    "is_search",
    is_flag=True,
    help="Find the conversations that other programs have stored on this machine.",
)
@click.option("--yes", is_flag=True, help="With --find: import them without asking.")
@click.option(
    "--learn",
    is_flag=True,
    help="Let patrols look for facts in imported conversations, as in new ones.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be imported, and write nothing.")
@json_option
@being_options
def import_file(
    file: str | None,
    *,
    into: str | None,
    create: str | None,
    format_: str | None,
    is_search: bool,
    yes: bool,
    learn: bool,
    dry_run: bool,
    as_json: bool,
    place: Place,
) -> int:
    """Import an export, conversations or a memory of another program into a Being.

    PATH is a file, a folder or a zip archive; - is an export of Nacre on standard input. Existing
    data stays, so importing the same again changes nothing, and an interrupted import can be
    finished by running it again. A truncated or altered export is refused before anything is
    written.

    Conversations go into the history of the Being, without the secrets in them. With --find they
    are listed first, and imported if you agree.
    """
    if into and create:
        raise click.UsageError("--into and --create name two Beings; give only one")
    if is_search == (file is not None):
        raise click.UsageError("give either a PATH or --find")
    home = place.open()
    if file is None or (format_ := format_ or _recognized(file)) in TRANSCRIPT_FORMATS:
        choose = partial(_being, home, place, into, create)
        return import_conversations(
            home,
            choose,
            file,
            format_,
            yes=yes,
            learn=learn,
            is_dry=dry_run,
            as_json=as_json,
            settings=_capture_settings(place),
        )
    with _open_source(file, format_ or _NACRE) as source:
        being = _being(home, place, into, create, source.summary, is_dry=dry_run)
        outcome, state = _import(home, being, source, is_dry=dry_run)
    name = create or (being.name if being else "")
    if as_json:
        show_json(_facts(name, being, outcome, source, state, is_dry=dry_run))
    else:
        _show(name, outcome, source, state, is_dry=dry_run)
    return FAILURE if state is False else OK


def _import(
    home: Home, being: Being | None, source: _Source, *, is_dry: bool
) -> tuple[ImportResult, bool | None]:
    """Import the records; return the result, and whether the state now equals the export's."""
    if being is None:  # a dry run that would create one
        return ImportResult(new=Counter(record.kind for record in source.records())), None
    being_id = being.being_id
    imports = Importer(home.data, DeferredIndex(home.data, clock=system_clock, rng=SystemRandom()))
    was_empty = imports.is_empty(being_id)
    if source.summary is not None:
        imports.check_room(being_id, source.records())
    outcome = imports.run(
        being_id,
        source.records(),
        origin=source.origin,
        is_dry=is_dry,
        instead=source.instead,
        progress=progress_lines("records"),
    )
    if is_dry:
        return outcome, None
    if outcome.new:
        home.index_work.run(being_id, "repair", progress_lines("memories indexed"))
    if source.summary is None:
        return outcome, None
    is_same = Exporter(home.data).state_hash(being_id) == source.summary.state
    return outcome, is_same if is_same or was_empty else None


def _being(
    home: Home,
    place: Place,
    into: str | None,
    create: str | None,
    summary: Summary | None = None,
    *,
    is_dry: bool,
) -> Being | None:
    """Return the Being to import into, or None if a dry run would create it."""
    if create is None:
        if into is not None:
            return home.beings.choose(into, owner=place.owner_name)
        return place.choose(home)
    existing = home.beings.named(create, owner=place.owner_name)
    if existing is not None:
        if summary is not None and existing.being_id == summary.being_id:
            return existing  # an import that was interrupted
        raise ConflictError(
            f"{place.owner_name} already has a Being named {existing.name!r}; choose another name,"
            " or give --into to import into that one"
        )
    if is_dry:
        return None
    if summary is None:
        return home.beings.create(create, owner=place.owner_name)
    # Keep the id if it is free, so that everything derived from it stays the same.
    is_free = home.beings.get(summary.being_id) is None
    return home.beings.create(
        create,
        owner=place.owner_name,
        being_id=summary.being_id if is_free else None,
        created=datetime.fromisoformat(summary.created),
    )


def _capture_settings(place: Place) -> CaptureSettings:
    """Return the settings of capturing, which exclude projects and words from imports too."""
    folder = place.folder()
    try:
        return read_settings(folder)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{folder}/capture.json: cannot be read ({error})") from error


def _recognized(file: str) -> str | None:
    """Return the format of conversations in a file, or None for anything else."""
    path = Path(file)
    return recognized_format(path) if file != "-" and path.exists() else None


@contextmanager
def _open_source(file: str, format_: str) -> Iterator[_Source]:
    """Open a file and check it; an export is checked completely before anything is written."""
    if format_ != _NACRE:
        skipped, today = SkippedParts(), system_clock()
        yield _Source(
            lambda: _records(format_, file, skipped),
            skipped=skipped,
            instead=partial(scenes_instead, program=format_, today=today),
        )
        return
    with _opened(file) as content:
        export = ExportFile(content)
        try:
            summary = export.check(progress_lines("records checked"))
        except InvalidInputError as error:
            # A packed export that is damaged says so itself.
            is_unknown = str(error).startswith(NOT_AN_EXPORT) and file != "-"
            reason = reason_unrecognized(Path(file)) if is_unknown else None
            raise InvalidInputError(f"{file}: {reason or error}") from error
        yield _Source(export.records, summary)


def _records(format_: str, file: str, skipped: SkippedParts) -> Iterator[Record]:
    for part in read_foreign(format_, file, today=system_clock()):
        if isinstance(part, SkippedPart):
            skipped.add(part)
        else:
            yield part


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
    outcome: ImportResult,
    source: _Source,
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
        "not_understood": source.skipped.facts(),
    }
    if source.summary is not None:
        facts |= {"from": source.summary.name, "state": source.summary.state, "same_state": is_same}
    return facts


def _show(
    name: str, outcome: ImportResult, source: _Source, is_same: bool | None, *, is_dry: bool
) -> None:
    parts = (outcome.new, outcome.same, outcome.kept, outcome.no_room)
    rows = [
        (kind, *(str(part[kind]) for part in parts))
        for kind in KINDS
        if any(part[kind] for part in parts)
    ]
    show_table(("KIND", "NEW", "ALREADY THERE", "NOT CHANGED", "NO ROOM"), rows)
    for kind, count in outcome.instead.items():
        click.echo(f"no room, so kept as scenes: {count} of kind {kind}")
    for key in outcome.kept_keys:
        click.echo(f"not changed: {key}")
    for line in source.skipped.lines():
        click.echo(line)
    if is_dry:
        click.echo(
            f"Nothing was written. Without --dry-run, this is imported into {name}.", err=True
        )
        return
    click.echo(f"Imported into {name}.", err=True)
    if is_same is True:
        click.echo("Its state now equals that of the export.", err=True)
    elif is_same is False:
        click.echo("error: its state differs from that of the export", err=True)

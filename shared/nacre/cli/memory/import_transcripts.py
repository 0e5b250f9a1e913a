"""Imports the conversations of other programs into the history of a Being."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from nacre.access.beings import Being
from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.being.memory.conversations.captured_store import KeptMessages
from nacre.being.memory.transfer.foreign_records import SkippedPart
from nacre.cli.display import show_json, show_table
from nacre.cli.exit_codes import OK
from nacre.cli.hooks.capture_settings import CaptureSettings
from nacre.cli.memory.skipped_parts import SkippedParts
from nacre.cli.memory.transcript_files import (
    read_transcripts,
    transcript_files,
    unlisted_folders,
)
from nacre.cli.memory.transcript_places import TranscriptPlace, transcript_places
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import IMPORTED_MESSAGES_A_SECOND
from nacre.wiring.compose import Home
from nacre.wiring.features.wrap import machine_of_clients


@dataclass(slots=True)
class TranscriptImport:
    """The outcome for one place: its conversations, and how many messages were new."""

    place: TranscriptPlace
    result: KeptMessages = field(default_factory=KeptMessages)
    sessions: set[str] = field(default_factory=set)
    first: datetime | None = None
    last: datetime | None = None

    def add(self, message: CapturedMessage) -> None:
        """Count a message that was read."""
        self.sessions.add(message.session)
        self.first = message.at if self.first is None else min(self.first, message.at)
        self.last = message.at if self.last is None else max(self.last, message.at)

    def facts(self) -> dict[str, Any]:
        """Return the outcome as JSON."""
        return {
            "format": self.place.format,
            "path": str(self.place.path),
            "files": len(self.place.files),
            "conversations": len(self.sessions),
            "new": self.result.new,
            "repeated": self.result.repeated,
            "left_out": self.result.left_out,
            "first": None if self.first is None else f"{self.first:%Y-%m-%d}",
            "last": None if self.last is None else f"{self.last:%Y-%m-%d}",
        }


def import_conversations(
    home: Home,
    choose: Callable[..., Being | None],
    file: str | None,
    format_: str | None,
    *,
    yes: bool,
    learn: bool,
    is_dry: bool,
    as_json: bool,
    settings: CaptureSettings,
) -> int:
    """Import the conversations of a path, or of this machine if there is none.

    `choose` returns the Being to import into, or None if a dry run would create it. Projects and
    words that `settings` exclude from capture are left out.
    """
    if file is None:
        places = _found(format_, yes=yes or is_dry or as_json)
        is_dry = is_dry or (as_json and not yes)
        if not places:
            return OK
    else:
        assert format_ is not None
        path = Path(file)
        places = [TranscriptPlace(format_, path, tuple(transcript_files(path, format_)))]

    def is_excluded(message: CapturedMessage) -> bool:
        return settings.excludes_project(message.project) or settings.excludes_text(message.text)

    being = choose(is_dry=is_dry)
    skipped = SkippedParts()
    imports = [TranscriptImport(place) for place in places]
    for place in places:
        for part in unlisted_folders(place.path):
            skipped.add(part)
    with _told_if_stopped(is_dry=is_dry), _bar(sum(place.size for place in places)) as progress:
        for one in imports:
            messages = _messages(one, skipped, progress)
            one.result = _kept(
                home, being, messages, is_excluded=is_excluded, learn=learn, is_dry=is_dry
            )
    if as_json:
        facts = {
            "being": being.name if being else None,
            "being_id": being.being_id if being else None,
            "dry_run": is_dry,
            "imports": [one.facts() for one in imports],
            "not_understood": skipped.facts(),
        }
        show_json(facts)
    else:
        _show(imports, skipped, being.name if being else "the new Being", is_dry=is_dry)
    return OK


def _found(format_: str | None, *, yes: bool) -> list[TranscriptPlace]:
    """Return the places on this machine that the caller agrees to import, after listing them."""
    machine = machine_of_clients()
    places = [
        place for place in transcript_places(machine) if format_ is None or place.format == format_
    ]
    if not places:
        click.echo("There are no conversations where other programs store them.", err=True)
        return []
    rows = [
        (place.format, str(len(place.files)), f"{place.size / 1e6:.1f} MB", str(place.path))
        for place in places
    ]
    show_table(("FORMAT", "FILES", "SIZE", "PATH"), rows, err=True)
    if yes:
        return places
    if not sys.stdin.isatty():
        click.echo("Nothing was imported. Add --yes to import all of it.", err=True)
        return []
    return places if click.confirm("Import all of it?", err=True) else []


def _kept(
    home: Home,
    being: Being | None,
    messages: Iterator[CapturedMessage],
    *,
    is_excluded: Callable[[CapturedMessage], bool],
    learn: bool,
    is_dry: bool,
) -> KeptMessages:
    if being is None:
        return KeptMessages(new=sum(1 for _ in messages))
    return home.memory_services.captured.keep(
        being.being_id,
        messages,
        is_excluded=is_excluded,
        for_patrol=learn,
        is_dry=is_dry,
    )


def _show(
    imports: Sequence[TranscriptImport], skipped: SkippedParts, name: str, *, is_dry: bool
) -> None:
    rows = [[str(value) for value in _row(one.facts())] for one in imports]
    show_table(("FORMAT", "FILES", "CONVERSATIONS", "NEW", "ALREADY THERE", "LEFT OUT"), rows)
    for line in skipped.lines():
        click.echo(line)
    times = [time for one in imports for time in (one.first, one.last) if time is not None]
    if times:
        click.echo(f"From {min(times):%Y-%m-%d} to {max(times):%Y-%m-%d}.", err=True)
    new = sum(one.result.new for one in imports)
    if is_dry:
        click.echo(f"Nothing was written. The import into {name} takes {_duration(new)}.", err=True)
    elif new:
        click.echo(f"Imported into {name}.", err=True)
    else:
        click.echo("Nothing was imported: there is no new message.", err=True)


def _row(facts: dict[str, Any]) -> tuple[Any, ...]:
    names = ("format", "files", "conversations", "new", "repeated", "left_out")
    return tuple(facts[name] for name in names)


def _duration(messages: int) -> str:
    minutes = round(messages / IMPORTED_MESSAGES_A_SECOND / 60)
    return f"about {minutes} minutes" if minutes > 1 else "about a minute or less"


def _messages(
    one: TranscriptImport, skipped: SkippedParts, progress: Callable[[int], None]
) -> Iterator[CapturedMessage]:
    for part in read_transcripts(one.place.files, one.place.format, progress):
        if isinstance(part, SkippedPart):
            skipped.add(part)
        else:
            one.add(part)
            yield part


@contextmanager
def _told_if_stopped(*, is_dry: bool) -> Iterator[None]:
    """Tell the user that an import which Ctrl-C has ended can go on."""
    try:
        yield
    except KeyboardInterrupt:
        if not is_dry:
            click.echo(
                "\nStopped. The messages so far are in the history, and the same command goes on"
                " from there.",
                err=True,
            )
        raise


@contextmanager
def _bar(size: int) -> Iterator[Callable[[int], None]]:
    """Show a bar of the bytes that were read; nothing if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with click.progressbar(length=max(1, size), label="Reading", file=sys.stderr) as bar:
        yield bar.update

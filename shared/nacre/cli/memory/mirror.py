"""The command `nacre mirror`: a Being as Markdown files, with edits taken back."""

import sys
import time
from functools import partial
from random import SystemRandom

import click

from nacre.being.memory.mirror.sync import Answer, Mirror, SyncResult, missing
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json, without_controls
from nacre.cli.exit_codes import OK
from nacre.cli.memory.mirror_folder import MirrorFolder, open_mirror_folder
from nacre.core.clock import system_clock
from nacre.core.errors import ConflictError, NacreError
from nacre.core.lazy_dataclasses import asdict
from nacre.wiring.data_folder import file_lock
from nacre.wiring.settings import unknown_settings

_LOCK_SECONDS = 5.0


@click.command("mirror")
@click.argument("folder", metavar="FOLDER")
@click.option("--watch", is_flag=True, help="Go on until you press Ctrl-C.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.2),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="With --watch: the pause between two runs.",
)
@click.option("--yes", is_flag=True, help="Delete everything that is missing from the folder.")
@click.option("--restore", is_flag=True, help="Write what is missing from the folder again.")
@click.option("--restart", is_flag=True, help="Begin a new mirror in an empty folder.")
@click.option("--dry-run", is_flag=True, help="Count the changes of the Being, and make none.")
@json_option
@being_options
def mirror(
    folder: str,
    *,
    watch: bool,
    every: float,
    yes: bool,
    restore: bool,
    restart: bool,
    dry_run: bool,
    as_json: bool,
    place: Place,
) -> int:
    """Keep a Being as Markdown files in FOLDER, and apply your edits to it.

    A new folder gets a page for each subject, with a line for each memory, and a page for each
    entry of knowledge, person, day of the diary and note. Each further run takes the changes of
    both sides: an edited line is a correction, a new one a scene, and a deleted one hides its
    memory. What both sides have changed stays as it is in the Being, with a copy of your text in
    the folder Conflicts.
    """
    if yes and restore:
        raise click.UsageError("--yes and --restore contradict each other; give only one")
    for warning in unknown_settings() if watch else ():
        click.echo(f"warning: {warning}", err=True)
    home, being = place.open_being()
    opened = open_mirror_folder(
        folder, place.folder(), being.being_id, restart=restart, is_dry=dry_run
    )
    memory = home.memory_services.memory
    mirror_ = Mirror(memory, being.being_id, opened, system_clock, SystemRandom())
    ask = partial(_answer, yes=yes, restore=restore, watch=watch)
    with file_lock(opened.state_file.with_suffix(".lock"), seconds=_LOCK_SECONDS) as is_held:
        if not is_held:
            raise ConflictError(f"another command mirrors {opened.root} at the moment")
        while True:
            try:
                result = mirror_.sync(opened.state, ask, is_dry=dry_run)
                if result.added:
                    memory.trigger.after_scenes(being.being_id)
                _show(opened, result, as_json=as_json, is_dry=dry_run, is_quiet=watch)
            except NacreError as error:
                if not watch:
                    raise
                click.echo(f"error: {error}", err=True)
            if not watch:
                return OK
            try:
                time.sleep(every)
            except KeyboardInterrupt:
                return OK


def _answer(count: int, *, yes: bool, restore: bool, watch: bool) -> Answer:
    """Return the decision about units that are missing from their pages."""
    if yes or restore:
        return "delete" if yes else "restore"
    if watch or not sys.stdin.isatty():
        click.echo("--yes deletes them, --restore writes them again", err=True)
        return "stop"
    choice = click.prompt(
        f"{missing(count)}. Delete them, write them again, or stop?",
        type=click.Choice(["delete", "restore", "stop"]),
        default="stop",
        err=True,
    )
    return "delete" if choice == "delete" else "restore" if choice == "restore" else "stop"


def _show(
    folder: MirrorFolder, result: SyncResult, *, as_json: bool, is_dry: bool, is_quiet: bool
) -> None:
    if as_json:
        show_json({"folder": str(folder.root), "dry_run": is_dry, **asdict(result)})
        return
    if is_quiet and result == SyncResult():
        return
    counts = (
        f"{result.corrected} corrected, {result.added} new, {result.deleted} deleted,"
        f" {result.restored} restored"
    )
    if is_dry:
        click.echo(f"Your edits: {counts}. Nothing was written.", err=True)
    else:
        pages = f"{result.written} written, {result.removed} removed"
        click.echo(f"Your edits: {counts}. Pages: {pages}.", err=True)
    for path in result.conflicts:
        click.echo(without_controls(f"conflict: {path}"))
    for reason in result.refused:
        click.echo(without_controls(f"refused: {reason}"))
    for path in result.unreadable:
        click.echo(without_controls(f"cannot be read: {path}"))

"""The command `nacre restore`: a data folder, or a stack's tables, from a backup."""

from dataclasses import asdict
from pathlib import Path

import click

from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, show_json
from nacre.cli.progress import telling
from nacre.core.errors import InvalidInputError
from nacre.wiring.settings import Settings


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--check", is_flag=True, help="Only say whether FILE is whole and what it holds.")
@json_option
@placed
def restore(file: str, *, check: bool, as_json: bool, place: Place) -> None:
    """Make a data folder of FILE, which 'nacre backup' wrote.

    The folder must be empty or not there. FILE is checked whole before anything is written, and
    the folder appears when all of it is on the disk. With --stack the tables of a new stack are
    filled from the backups that FILE names; give the command again if it broke off.
    """
    if place.stack:
        if check:
            raise click.UsageError("DynamoDB checks its own backups; give --check without --stack")
        _into_stack(file, place.stack, as_json=as_json)
        return
    from nacre.wiring.laptop_backups import check_backup, restore

    folder = Path(place.folder()).expanduser()
    try:
        with Path(file).open("rb") as content:
            manifest = check_backup(content) if check else restore(folder, content)
    except OSError as error:
        raise _unreadable(file, error) from error
    if as_json:
        facts = asdict(manifest) | {"parts": len(manifest.parts), "bytes": manifest.size}
        show_json(facts if check else {"folder": str(folder), **facts})
        return
    what = (
        f"{manifest.counts.get('data', 0)} items, {manifest.counts.get('tokens', 0)} of access and"
        f" {len(manifest.parts) - 1} files of {manifest.made}"
    )
    if check:
        click.echo(f"{file} is whole: {what}, by nacre {manifest.nacre}.", err=True)
        return
    click.echo(f"Restored {what} to {folder}.", err=True)
    if not manifest.has_secrets:
        click.echo(
            "Secrets were left out of it; set them again with 'nacre secret set' and"
            " 'nacre llm-key set'.",
            err=True,
        )


def _into_stack(file: str, stack: str, *, as_json: bool) -> None:
    from nacre.wiring.stack_backups import read_record, restore_stack

    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise _unreadable(file, error) from error
    record = read_record(content)
    copied = restore_stack(record, stack, Settings.from_environment(), telling("items"))
    if as_json:
        show_json({"stack": stack, "from": record.stack, "made": record.made, **copied})
        return
    click.echo(
        f"Restored {copied['data']} items and {copied['tokens']} of access to the stack {stack}.",
        err=True,
    )
    if record.secrets:
        click.echo(
            f"Set again with 'nacre secret set --stack {stack}': {', '.join(record.secrets)}.",
            err=True,
        )
    click.echo(
        f"Then run 'nacre reindex --stack {stack}' if Qdrant keeps its index. Keys of Beings that"
        " another stack's KMS key sealed are set again with 'nacre llm-key set'.",
        err=True,
    )


def _unreadable(file: str, error: OSError) -> InvalidInputError:
    return InvalidInputError(f"{file}: cannot be read ({error.strerror})")

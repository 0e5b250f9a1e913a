"""The command `nacre restore`: a data folder, or a stack's tables, from a backup."""

from pathlib import Path

import click

from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json
from nacre.cli.progress import progress_lines
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import asdict
from nacre.wiring.data_folder import CAPTURE
from nacre.wiring.settings import Settings


@click.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--check", is_flag=True, help="Only check whether FILE is complete, and show its contents."
)
@json_option
@being_options
def restore(file: str, *, check: bool, as_json: bool, place: Place) -> None:
    """Create a data folder from FILE, which 'nacre backup' wrote.

    The folder must be empty or must not exist. All of FILE is checked before anything is written,
    and the folder appears when it is complete. With --stack, the tables of a new stack are filled
    from the backups that FILE lists; if the command was interrupted, run it again.
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
    content_line = (
        f"{counted(manifest.counts.get('data', 0), 'item')},"
        f" {counted(manifest.counts.get('tokens', 0), 'access item')} and"
        f" {counted(len(manifest.parts) - 1, 'file')} from {manifest.made}"
    )
    if check:
        click.echo(f"{file} is complete: {content_line}, by nacre {manifest.nacre}.", err=True)
        return
    click.echo(f"Restored {content_line} to {folder}.", err=True)
    if CAPTURE in manifest.parts:
        click.echo("Hooks capture nothing here until you run 'nacre capture allow'.", err=True)
    if not manifest.has_secrets:
        click.echo(
            "The backup has no secrets; set them again with 'nacre secret set' and"
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
    copied = restore_stack(record, stack, Settings.from_environment(), progress_lines("items"))
    if as_json:
        show_json({"stack": stack, "from": record.stack, "made": record.made, **copied})
        return
    click.echo(
        f"Restored {counted(copied['data'], 'item')} and"
        f" {counted(copied['tokens'], 'access item')} to the stack {stack}.",
        err=True,
    )
    if record.secrets:
        click.echo(
            f"Set again with 'nacre secret set --stack {stack}': {', '.join(record.secrets)}.",
            err=True,
        )
    click.echo(
        f"If Qdrant has its index, now run 'nacre reindex --stack {stack}'. If another stack's KMS"
        " key encrypted the API keys of Beings, set them again with 'nacre llm-key set'.",
        err=True,
    )


def _unreadable(file: str, error: OSError) -> InvalidInputError:
    return InvalidInputError(f"{file}: cannot be read ({error.strerror})")

"""The command `nacre backup`: a copy of everything at this moment."""

from pathlib import Path

import click

from nacre.being.memory.text.memory_text import counted
from nacre.cli.atomic_files import atomic_file, check_free
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json
from nacre.core.lazy_dataclasses import asdict
from nacre.wiring.settings import Settings


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--without-secrets", is_flag=True, help="Leave out secrets and their key.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@json_option
@being_options
def backup(file: str, *, without_secrets: bool, force: bool, as_json: bool, place: Place) -> None:
    """Write everything that this machine keeps to FILE, even while a server runs.

    FILE is one tar file that only you can read (0600), with every Being, token and file, the
    audit log, and the secrets unless you leave them out. With --stack, DynamoDB makes backups of
    the tables and FILE lists them; the data does not leave AWS.
    """
    check_free(file, replace=force)
    if place.stack:
        if without_secrets:
            raise click.UsageError("the backup of a stack never has its secrets")
        _of_stack(file, place.stack, force=force, as_json=as_json)
        return
    from nacre.wiring.laptop_backups import back_up

    with atomic_file(file, replace=force) as target:
        beside = Path(file).absolute().parent
        manifest = back_up(
            Path(place.folder()).expanduser(), target, beside, with_secrets=not without_secrets
        )
    if as_json:
        facts = asdict(manifest)
        facts["parts"] = len(manifest.parts)
        show_json({"file": file, **facts, "bytes": manifest.size})
        return
    click.echo(
        f"Backed up {counted(manifest.counts['data'], 'item')},"
        f" {counted(manifest.counts['tokens'], 'access item')} and"
        f" {counted(len(manifest.parts) - 1, 'file')} to {file}"
        f"{' without the secrets' if without_secrets else ''}.",
        err=True,
    )


def _of_stack(file: str, stack: str, *, force: bool, as_json: bool) -> None:
    from nacre.wiring.stack_backups import back_up_stack

    record = back_up_stack(stack, Settings.from_environment())
    with atomic_file(file, replace=force) as target:
        target.write(record.written())
    if as_json:
        show_json({"file": file, **asdict(record)})
        return
    for arn in record.backups.values():
        click.echo(arn)
    click.echo(f"DynamoDB has backups of both tables of {stack}; {file} lists them.", err=True)
    if record.secrets:
        click.echo(
            f"The backup does not include the secrets {', '.join(record.secrets)}.", err=True
        )

"""The command `nacre backup`: everything at this moment, to be restored elsewhere."""

from dataclasses import asdict
from pathlib import Path

import click

from nacre.cli.atomic_files import check_free, whole_file
from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, show_json
from nacre.wiring.settings import Settings


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--without-secrets", is_flag=True, help="Leave out secrets and the key to them.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@json_option
@placed
def backup(file: str, *, without_secrets: bool, force: bool, as_json: bool, place: Place) -> None:
    """Write all that this machine keeps to FILE, while a server goes on.

    It is one tar file, yours alone (0600), with every Being, token and file, the audit, and
    unless you say otherwise the secrets. Of a stack (--stack) DynamoDB itself keeps the tables,
    and FILE says where; the data does not leave AWS.
    """
    check_free(file, replace=force)
    if place.stack:
        if without_secrets:
            raise click.UsageError("the secrets of a stack are never in its backup")
        _of_stack(file, place.stack, force=force, as_json=as_json)
        return
    from nacre.wiring.laptop_backups import back_up

    with whole_file(file, replace=force) as target:
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
        f"Backed up {manifest.counts['data']} items, {manifest.counts['tokens']} of access and"
        f" {len(manifest.parts) - 1} files to {file}"
        f"{' without the secrets' if without_secrets else ''}.",
        err=True,
    )


def _of_stack(file: str, stack: str, *, force: bool, as_json: bool) -> None:
    from nacre.wiring.stack_backups import back_up_stack

    record = back_up_stack(stack, Settings.from_environment())
    with whole_file(file, replace=force) as target:
        target.write(record.written())
    if as_json:
        show_json({"file": file, **asdict(record)})
        return
    for arn in record.backups.values():
        click.echo(arn)
    click.echo(f"DynamoDB keeps both tables of {stack}; {file} says where.", err=True)
    if record.secrets:
        click.echo(f"Not in it are the secrets {', '.join(record.secrets)}.", err=True)

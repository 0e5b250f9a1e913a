"""Owner commands: add and list."""

import click

from nacre.cli.display import json_option, show_json, show_table
from nacre.cli.place import Place, placed


@click.group()
def owner() -> None:
    """Add and list owners."""


@owner.command()
@click.argument("name")
@json_option
@placed
def add(name: str, *, as_json: bool, place: Place) -> None:
    """Add an owner named NAME, who may then have Beings."""
    added = place.open().owners.add(name)
    if as_json:
        show_json({"owner": added.name})
    else:
        click.echo(f"Added the owner {added.name}.", err=True)


@owner.command("list")
@json_option
@placed
def list_owners(*, as_json: bool, place: Place) -> None:
    """List the owners, the default one first."""
    home = place.open()
    owners = [
        {"owner": each.name, "beings": len(home.beings.of_owner(each.name))}
        for each in home.owners.all()
    ]
    if as_json:
        show_json(owners)
    else:
        show_table(("OWNER", "BEINGS"), [(str(o["owner"]), str(o["beings"])) for o in owners])

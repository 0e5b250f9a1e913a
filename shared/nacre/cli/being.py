"""Being commands: create and list."""

import click

from nacre.access.beings import Being
from nacre.cli.display import json_option, moment, show_json, show_table
from nacre.cli.place import Place, placed


@click.group()
def being() -> None:
    """Create and list Beings."""


@being.command()
@click.argument("name")
@json_option
@placed
def create(name: str, *, as_json: bool, place: Place) -> None:
    """Create a Being named NAME."""
    home = place.open()
    created = home.beings.create(name, owner=place.owner_name)
    if as_json:
        show_json({"being_id": created.being_id, "name": created.name})
        return
    click.echo(created.being_id)
    click.echo(f"Created the Being {created.name}.", err=True)


@being.command("list")
@json_option
@placed
def list_beings(*, as_json: bool, place: Place) -> None:
    """List the Beings of an owner, oldest first."""
    found = place.open().beings.of_owner(place.owner_name)
    if as_json:
        show_json([_facts(each) for each in found])
    elif found:
        show_table(("NAME", "ID", "CREATED"), [tuple(_facts(each).values()) for each in found])
    else:
        click.echo("No Being yet; make one with 'nacre being create NAME'.", err=True)


def _facts(each: Being) -> dict[str, str]:
    return {"name": each.name, "being_id": each.being_id, "created": moment(each.created)}

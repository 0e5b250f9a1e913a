"""Being commands: create, rename and list."""

import click

from nacre.access.beings import Being
from nacre.being.tools.order import DEFAULT_ORDER_NAME, order_tool_name
from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, moment, show_json, show_table
from nacre.core.errors import InvalidInputError
from nacre.wiring.settings import Settings


@click.group()
def being() -> None:
    """Create, rename and list Beings."""


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


@being.command()
@click.argument("old", metavar="NAME")
@click.argument("new", metavar="NEW_NAME")
@json_option
@placed
def rename(old: str, new: str, *, as_json: bool, place: Place) -> None:
    """Give the Being NAME another name. Its URL, tokens and memories stay."""
    home = place.open()
    beings = home.beings
    renamed = beings.rename(beings.choose(old, owner=place.owner_name), new)
    if as_json:
        show_json(_facts(renamed))
        return
    click.echo(f"{old} is called {renamed.name} now.", err=True)


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


@being.command("order-name")
@click.argument("name", required=False)
@click.option("--default", "is_default", is_flag=True, help="Take the name that all have.")
@placed
def order_name(name: str | None, *, is_default: bool, place: Place) -> None:
    """Name the tool that takes the Being's orders: order_NAME. Without NAME, show it.

    It is written in small letters there; clients see it when they list the tools again.
    """
    if name is not None and is_default:
        raise InvalidInputError("NAME and --default name two things; give one of them")
    home = place.open()
    chosen = place.choose(home)
    if name is not None or is_default:
        home.beings.name_orders(chosen.being_id, name)
    otherwise = Settings.from_environment().order_name or DEFAULT_ORDER_NAME
    click.echo(order_tool_name(home.beings.order_name(chosen.being_id) or otherwise))


def _facts(each: Being) -> dict[str, str]:
    return {"name": each.name, "being_id": each.being_id, "created": moment(each.created)}

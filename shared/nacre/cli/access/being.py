"""The command `nacre being`: create, rename and list Beings, and name their orders."""

import click

from nacre.access.beings import Being
from nacre.being.tools.order_definition import DEFAULT_ORDER_NAME, order_tool_name
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import iso_time, json_option, show_json, show_list
from nacre.core.errors import InvalidInputError
from nacre.wiring.settings import Settings


@click.group()
def being() -> None:
    """Create, rename and list Beings."""


@being.command()
@click.argument("name")
@json_option
@being_options
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
@being_options
def rename(old: str, new: str, *, as_json: bool, place: Place) -> None:
    """Give the Being NAME another name. Its URL, tokens and memories stay."""
    home = place.open()
    beings = home.beings
    renamed = beings.rename(beings.choose(old, owner=place.owner_name), new)
    if as_json:
        show_json(_facts(renamed))
        return
    click.echo(f"{old} is now called {renamed.name}.", err=True)


@being.command("list")
@json_option
@being_options
def list_beings(*, as_json: bool, place: Place) -> None:
    """List the Beings of an owner, oldest first."""
    facts = [_facts(listed) for listed in place.open().beings.of_owner(place.owner_name)]
    empty = "No Being yet; create one with 'nacre being create NAME'."
    rows = [tuple(fact.values()) for fact in facts]
    show_list(facts, ("NAME", "ID", "CREATED"), rows, as_json=as_json, empty=empty)


@being.command("order-name")
@click.argument("name", required=False)
@click.option("--default", "is_default", is_flag=True, help="Use the default name.")
@being_options
def order_name(name: str | None, *, is_default: bool, place: Place) -> None:
    """Name the Being's order tool: order_NAME. Without NAME, show its name.

    The name becomes lower case. Clients see it when they list the tools again.
    """
    if name is not None and is_default:
        raise InvalidInputError("NAME and --default exclude each other; give only one")
    home = place.open()
    chosen = place.choose(home)
    if name is not None or is_default:
        home.beings.name_orders(chosen.being_id, name)
    default = Settings.from_environment().order_name or DEFAULT_ORDER_NAME
    click.echo(order_tool_name(home.beings.order_name(chosen.being_id) or default))


def _facts(being: Being) -> dict[str, str]:
    return {"name": being.name, "being_id": being.being_id, "created": iso_time(being.created)}

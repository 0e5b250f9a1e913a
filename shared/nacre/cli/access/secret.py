"""Secret commands: set, list and unset."""

import click

from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, show_json
from nacre.cli.secret_input import unseen_value
from nacre.core.errors import NotFoundError
from nacre.core.names import checked_secret_name


@click.group()
def secret() -> None:
    """Set, list and unset secrets."""


@secret.command("set")
@click.argument("name")
@placed
def set_secret(name: str, *, place: Place) -> None:
    """Keep the secret NAME; its value is typed unseen, or read from standard input."""
    checked_secret_name(name)
    value = unseen_value(f"Value of {name}")
    place.open().secrets.set(name, value)
    click.echo(f"Set {name}.", err=True)


@secret.command("list")
@json_option
@placed
def list_secrets(*, as_json: bool, place: Place) -> None:
    """List the names of the secrets that are set; values are never shown."""
    names = place.open().secrets.names()
    if as_json:
        show_json([{"name": name} for name in names])
        return
    for name in names:
        click.echo(name)


@secret.command()
@click.argument("name")
@placed
def unset(name: str, *, place: Place) -> None:
    """Forget the secret NAME."""
    if not place.open().secrets.unset(checked_secret_name(name)):
        raise NotFoundError(f"there is no secret {name}; see 'nacre secret list'")
    click.echo(f"Forgot {name}.", err=True)

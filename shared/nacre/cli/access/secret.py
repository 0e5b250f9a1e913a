"""The command `nacre secret`: set, list and unset secrets."""

import click

from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json
from nacre.cli.secret_input import read_secret
from nacre.core.errors import NotFoundError
from nacre.core.names import checked_secret_name


@click.group()
def secret() -> None:
    """Set, list and unset secrets."""


@secret.command("set")
@click.argument("name")
@being_options
def set_secret(name: str, *, place: Place) -> None:
    """Store the secret NAME; its value is read from a hidden prompt or from standard input."""
    checked_secret_name(name)
    value = read_secret(f"Value of {name}")
    place.open().ports.secrets.set(name, value)
    click.echo(f"Set {name}.", err=True)


@secret.command("list")
@json_option
@being_options
def list_secrets(*, as_json: bool, place: Place) -> None:
    """List the names of the secrets that are set; values are never shown."""
    names = place.open().ports.secrets.names()
    if as_json:
        show_json([{"name": name} for name in names])
        return
    for name in names:
        click.echo(name)


@secret.command()
@click.argument("name")
@being_options
def unset(name: str, *, place: Place) -> None:
    """Delete the secret NAME."""
    if not place.open().ports.secrets.unset(checked_secret_name(name)):
        raise NotFoundError(f"there is no secret {name}; see 'nacre secret list'")
    click.echo(f"Deleted {name}.", err=True)

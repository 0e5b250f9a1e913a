"""Client commands: list and delete what connected by URL."""

import click

from nacre.access.oauth.grant_items import Grant
from nacre.access.scopes import scope_name
from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, moment, show_json, show_table
from nacre.core.errors import InvalidInputError
from nacre.wiring.home import Home


@click.group()
def client() -> None:
    """List and delete connected clients."""


@client.command("list")
@json_option
@placed
def list_clients(*, as_json: bool, place: Place) -> None:
    """List the clients that an owner has let in, oldest first."""
    home = place.open()
    found = [_facts(home, grant) for grant in _grants(home, place)]
    if as_json:
        show_json(found)
    elif found:
        columns = ("grant_id", "client", "verified_by", "being", "scope", "used", "expires")
        rows = [[each[column] or "-" for column in columns] for each in found]
        show_table([_HEADS.get(column, column.upper()) for column in columns], rows)
    else:
        click.echo("No client is connected; give one the server's URL.", err=True)


@client.command()
@click.argument("grant_id", required=False)
@click.option("--all", "every", is_flag=True, help="Delete all of them.")
@json_option
@placed
def delete(grant_id: str | None, *, every: bool, as_json: bool, place: Place) -> None:
    """End the access of the client GRANT_ID now, with all its tokens, or of all of them.

    On AWS it takes as long as the stack's AuthorizerCacheSeconds.
    """
    if (grant_id is None) is not every:
        raise InvalidInputError(
            "delete one client or all; give its id from 'nacre client list', or --all"
        )
    home = place.open()
    wanted = [grant.grant_id for grant in _grants(home, place)] if grant_id is None else [grant_id]
    grants = home.authority().grants
    ended = [grants.revoke(each, owner=place.owner_name) for each in wanted]
    if as_json:
        show_json([_facts(home, grant) for grant in ended])
        return
    for grant in ended:
        click.echo(f"Deleted {grant.grant_id} ({grant.client_name}).", err=True)


_HEADS = {"grant_id": "ID", "verified_by": "VERIFIED BY", "used": "LAST RENEWED"}


def _grants(home: Home, place: Place) -> list[Grant]:
    grants = home.authority().grants.of_owner(place.owner_name)
    if place.being is None:
        return grants
    chosen = place.choose(home).being_id
    return [grant for grant in grants if grant.being_id == chosen]


def _facts(home: Home, grant: Grant) -> dict[str, str]:
    being = home.beings.get(grant.being_id)
    return {
        "grant_id": grant.grant_id,
        "client": grant.client_name,
        "client_id": grant.client_id,
        "verified_by": grant.client_host or "",
        "being_id": grant.being_id,
        "being": being.name if being else "",
        "scope": scope_name(grant.scopes),
        "resource": grant.resource,
        "created": moment(grant.created),
        "used": moment(grant.used),
        "expires": moment(grant.expires),
    }

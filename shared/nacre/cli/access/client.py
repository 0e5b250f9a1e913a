"""The command `nacre client`: list and delete clients that connected by URL."""

import click

from nacre.access.oauth.grant_items import Grant
from nacre.access.scopes import scope_name
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import iso_time, json_option, show_json, show_list
from nacre.core.errors import InvalidInputError
from nacre.wiring.compose import Home


@click.group()
def client() -> None:
    """List and delete connected clients."""


@client.command("list")
@json_option
@being_options
def list_clients(*, as_json: bool, place: Place) -> None:
    """List the clients that an owner has connected, oldest first."""
    home = place.open()
    facts = [_facts(home, grant) for grant in _grants(home, place)]
    bound = ("profile",) if any(fact["profile"] for fact in facts) else ()
    columns = ("grant_id", "client", "verified_by", "being", "scope", *bound, "used", "expires")
    head = [_HEADS.get(column, column.upper()) for column in columns]
    rows = [[fact[column] or "-" for column in columns] for fact in facts]
    empty = "No client is connected; give a client the server's URL."
    show_list(facts, head, rows, as_json=as_json, empty=empty)


@client.command()
@click.argument("grant_id", required=False)
@click.option("--all", "every", is_flag=True, help="Delete all clients.")
@json_option
@being_options
def delete(grant_id: str | None, *, every: bool, as_json: bool, place: Place) -> None:
    """End the access of the client GRANT_ID and all its tokens now, or of all clients.

    On AWS this takes up to the stack's AuthorizerCacheSeconds.
    """
    if (grant_id is None) is not every:
        raise InvalidInputError(
            "delete one client or all; give its id from 'nacre client list', or --all"
        )
    home = place.open()
    ids = [grant.grant_id for grant in _grants(home, place)] if grant_id is None else [grant_id]
    grants = home.authority.grants
    ended = [grants.revoke(selected, owner=place.owner_name) for selected in ids]
    if as_json:
        show_json([_facts(home, grant) for grant in ended])
        return
    for grant in ended:
        click.echo(f"Deleted {grant.grant_id} ({grant.client_name}).", err=True)


_HEADS = {"grant_id": "ID", "verified_by": "VERIFIED BY", "used": "LAST RENEWED"}


def _grants(home: Home, place: Place) -> list[Grant]:
    grants = home.authority.grants.of_owner(place.owner_name)
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
        "profile": grant.profile,
        "created": iso_time(grant.created),
        "used": iso_time(grant.used),
        "expires": iso_time(grant.expires),
    }

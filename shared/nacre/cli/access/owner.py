"""Owner commands: add, list, and sign in."""

from pathlib import Path

import click

from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, moment, show_json, show_table
from nacre.wiring.home import Home
from nacre.wiring.running_servers import running_urls
from nacre.wiring.settings import Settings

_LAPTOP = "http://127.0.0.1:8642"


@click.group()
def owner() -> None:
    """Add and list owners, and let one sign in."""


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


@owner.command()
@click.option(
    "--url",
    metavar="URL",
    help=f"Address of the server. [default: the stack's, NACRE_PUBLIC_URL, or {_LAPTOP}]",
)
@click.option(
    "--revoke-all",
    is_flag=True,
    help="First take everything back: sessions, links, the password, passkeys, connected "
    "clients, tokens.",
)
@json_option
@placed
def bootstrap(url: str | None, *, revoke_all: bool, as_json: bool, place: Place) -> None:
    """Show a link that signs the owner in, once, within the hour.

    It also helps who has forgotten the password, and, with --revoke-all, whose tokens or
    browser somebody else may have.
    """
    home = place.open()
    if revoke_all:
        _take_back(home, place.owner_name)
    link = home.authority().sign_in.links.make(place.owner_name)
    shown = f"{(url or _address(home)).rstrip('/')}{link.path}"
    if as_json:
        show_json({"owner": place.owner_name, "link": shown, "until": moment(link.until)})
        return
    click.echo(shown)
    click.echo(
        f"Signs {place.owner_name} in, once, until {moment(link.until)}. It is not shown again.",
        err=True,
    )


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


def _address(home: Home) -> str:
    if home.mcp_url is not None:
        return home.mcp_url.removesuffix("/mcp")
    running = [url.removesuffix("/mcp") for url in running_urls(Path(home.where))]
    return Settings.from_environment().public_url or next(iter(running), _LAPTOP)


def _take_back(home: Home, owner_name: str) -> None:
    authority = home.authority()
    authority.sign_in.links.drop_all(owner_name)
    authority.sign_in.passwords.remove(owner_name)
    passkeys = authority.sign_in.passkeys.remove_all(owner_name)
    sessions = authority.sessions.close_all(owner_name)
    grants = authority.grants.of_owner(owner_name)
    for grant in grants:
        authority.grants.end(grant.grant_id)
    tokens = 0
    for being in home.beings.of_owner(owner_name):
        for record in home.tokens.of_being(being.being_id):
            if record.revoked is None:
                home.tokens.revoke(record.token_id, being_id=being.being_id)
                tokens += 1
    click.echo(
        f"Took back {counted(sessions, 'session')}, {counted(len(grants), 'client')}, "
        f"{counted(tokens, 'token')}, {counted(passkeys, 'passkey')} and the password.",
        err=True,
    )

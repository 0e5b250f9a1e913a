"""The command `nacre owner`: add and list owners, and create links to sign in."""

import click

from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import iso_time, json_option, show_json, show_list
from nacre.wiring.compose import Home
from nacre.wiring.features.logins import portal_url
from nacre.wiring.settings import Settings

_LAPTOP = "http://127.0.0.1:8642"


@click.group()
def owner() -> None:
    """Add and list owners, and create links to sign in."""


@owner.command()
@click.argument("name")
@json_option
@being_options
def add(name: str, *, as_json: bool, place: Place) -> None:
    """Add an owner named NAME, who can then have Beings."""
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
    help="First revoke everything: sessions, links, the password, passkeys, connected clients "
    "and tokens.",
)
@json_option
@being_options
def bootstrap(url: str | None, *, revoke_all: bool, as_json: bool, place: Place) -> None:
    """Create a sign-in link for the owner. It works once, for one hour.

    Also use it if you have forgotten the password, or, with --revoke-all, if somebody else may have
    your tokens or your browser.
    """
    home = place.open()
    if revoke_all:
        _revoke_all(home, place.owner_name)
    link = home.authority.sign_in.links.make(place.owner_name)
    address = f"{(url or _address(home)).rstrip('/')}{link.path}"
    if as_json:
        show_json({"owner": place.owner_name, "link": address, "until": iso_time(link.until)})
        return
    click.echo(address)
    click.echo(
        f"Signs {place.owner_name} in once, until {iso_time(link.until)}. It is not shown again.",
        err=True,
    )


@owner.command("list")
@json_option
@being_options
def list_owners(*, as_json: bool, place: Place) -> None:
    """List the owners, the default one first."""
    home = place.open()
    owners = [
        {"owner": listed.name, "beings": len(home.beings.of_owner(listed.name))}
        for listed in home.owners.all()
    ]
    rows = [[str(value) for value in fact.values()] for fact in owners]
    show_list(owners, ("OWNER", "BEINGS"), rows, as_json=as_json, empty="")


def _address(home: Home) -> str:
    return portal_url(home.ports, Settings.from_environment())() or _LAPTOP


def _revoke_all(home: Home, owner_name: str) -> None:
    authority = home.authority
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
        f"Revoked {counted(sessions, 'session')}, {counted(len(grants), 'client')}, "
        f"{counted(tokens, 'token')}, {counted(passkeys, 'passkey')} and the password.",
        err=True,
    )

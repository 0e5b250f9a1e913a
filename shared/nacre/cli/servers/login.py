"""The commands `nacre server login` and `logout`: a login in the browser of this machine."""

import sys
import webbrowser
from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

import click

from nacre.cli.being_options import Place
from nacre.cli.servers.login_listener import LoginListener
from nacre.cli.servers.server_lookup import configured
from nacre.core.errors import InvalidInputError, LoginError, NotFoundError
from nacre.core.limits import LOGIN_SECONDS
from nacre.firewall.proxy.server_name import name_of_url
from nacre.gateway.calls.owner_logins import login_server
from nacre.gateway.catalogue.store import StoredCatalogue, ask_again
from nacre.gateway.login.logins import Logins, LoginServer
from nacre.gateway.qualified_names import alias_of
from nacre.http_client.address import parse_address
from nacre.wiring.compose import Home
from nacre.wiring.features.servers import references_of


def log_in(name: str, place: Place, *, opens_browser: bool, pastes: bool) -> None:
    """Log the owner in to a server; raises LoginError if that fails."""
    home = place.open()
    server = selected_server(home, name)
    logins = home.logins
    with LoginListener() as listener:
        begun = logins.begin(place.owner_name, server, listener.redirect_uri)
        click.echo(begun.url)
        click.echo(f"Open this page, and allow Nacre to use {server.name} for you.", err=True)
        if opens_browser and not pastes:
            webbrowser.open(begun.url)
        finish = _finishing(logins, place.owner_name)
        if pastes:
            click.echo("Then paste the address at which your browser has ended:", err=True)
            finish(_answer_in(sys.stdin.readline()))
        else:
            listener.wait(begun.state, finish, seconds=LOGIN_SECONDS)
    _tell(home, place.owner_name, server)


def log_out(name: str, place: Place) -> None:
    """Remove the owner's login to a server, and revoke it there."""
    home = place.open()
    server = selected_server(home, name)
    is_revoked = home.logins.log_out(place.owner_name, server)
    if is_revoked is None:
        raise NotFoundError(f"{place.owner_name} has no login to '{server.name}'")
    ask_again(StoredCatalogue(lambda: home.data), server.name)
    rest = "" if is_revoked else " Its tokens could not be revoked there; they end by themselves."
    click.echo(f"Logged out of {server.name}.{rest}", err=True)


def selected_server(home: Home, name: str) -> LoginServer:
    """Return a configured server, or one behind a proxy by its URL; raises NotFoundError."""
    if name.startswith(("https://", "http://")):
        address = parse_address(name)
        return LoginServer(name_of_url(address.authority, address.path), name)
    configs = {config.name: config for _, config in configured(home)}
    config = configs.get(name) or configs.get(alias_of(name))
    if config is None:
        raise NotFoundError(f"there is no server '{name[:80]}'; see 'nacre server list'")
    if config.kind == "stdio":
        raise InvalidInputError(f"'{config.name}' is a program, which needs no login")
    if not config.takes_login:
        raise InvalidInputError(
            f"'{config.name}' has a token in its header Authorization; to log in, add it again"
            " without that header and with --replace"
        )
    return login_server(config, references_of(home.ports))


def _finishing(logins: Logins, owner: str) -> Callable[[dict[str, str]], None]:
    def finish(query: dict[str, str]) -> None:
        logins.finish(owner, query)

    return finish


def _answer_in(line: str) -> dict[str, str]:
    """Return the fields in the address that the owner has pasted."""
    try:
        fields = dict(parse_qsl(urlsplit(line.strip()).query))
    except ValueError:
        fields = {}
    if "state" not in fields:
        raise LoginError("this is not the address at which the browser has ended")
    return fields


def _tell(home: Home, owner: str, server: LoginServer) -> None:
    status = home.logins.status(owner, server.name)
    ask_again(StoredCatalogue(lambda: home.data), server.name)
    rights = f" with the rights: {' '.join(status.scopes)}" if status and status.scopes else ""
    click.echo(f"Logged in to {server.name}{rights}.", err=True)

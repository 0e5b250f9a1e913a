"""Token commands: create, list and revoke."""

import re
from datetime import datetime, timedelta

import click

from nacre.access.scopes import NAMES, scope_name
from nacre.access.tokens.store import TokenRecord
from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, moment, show_json, show_table
from nacre.core.clock import system_clock
from nacre.core.errors import InvalidInputError
from nacre.core.limits import API_TOKEN_DAYS
from nacre.core.token_prefixes import API

_FORM = re.compile(r"([0-9]{1,9})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Duration(click.ParamType[timedelta]):
    """A whole number and a unit."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Return the time that a text such as 90d stands for."""
        if isinstance(value, timedelta):
            return value
        found = _FORM.fullmatch(str(value))
        if found is None:
            self.fail(f"{value!r} is not a time such as 90d, 12h or 30m", param, ctx)
        try:
            return timedelta(**{_UNITS[found[2]]: int(found[1])})
        except OverflowError:
            self.fail(f"{value!r} is too long", param, ctx)


@click.group()
def token() -> None:
    """Create, list and revoke tokens."""


@token.command()
@click.option(
    "--scope",
    type=click.Choice(sorted(NAMES)),
    required=True,
    help="full: every tool. read-only: tools that change nothing.",
)
@click.option(
    "--ttl",
    type=Duration(),
    default=f"{API_TOKEN_DAYS}d",
    show_default=True,
    help="How long it lives, such as 90d, 12h or 30m.",
)
@click.option("--label", default="", help="What it is for, to know it by in the list.")
@json_option
@placed
def create(scope: str, ttl: timedelta, label: str, *, as_json: bool, place: Place) -> None:
    """Create an API token for a Being and show it, this once."""
    home = place.open()
    being = place.choose(home)
    issued = home.tokens.issue(
        API,
        being_id=being.being_id,
        owner=being.owner,
        scopes=NAMES[scope],
        lifetime=ttl,
        label=label,
    )
    url = {"mcp_url": f"{home.mcp_url}/{being.being_id}"} if home.mcp_url else {}
    if as_json:
        show_json({"token": issued.token, **_facts(issued.record, being.name), **url})
        return
    click.echo(issued.token)
    record = issued.record
    click.echo(
        f"{record.token_id}: {scope} token for {being.name}, until {moment(record.expires)}. "
        "It is not shown again.",
        err=True,
    )
    if url:
        click.echo(f"URL: {url['mcp_url']}", err=True)


@token.command("list")
@json_option
@placed
def list_tokens(*, as_json: bool, place: Place) -> None:
    """List a Being's tokens, oldest first; ended ones stay for a month.

    Those of connected clients are renewed by the hour; see also 'nacre client list'.
    """
    home = place.open()
    being = place.choose(home)
    found = [_facts(record, being.name) for record in home.tokens.of_being(being.being_id)]
    if as_json:
        show_json(found)
    elif found:
        columns = ("token_id", "hint", "scope", "state", "expires", "label", "client")
        rows = [[each[column] or "-" for column in columns] for each in found]
        show_table([column.upper().replace("TOKEN_ID", "ID") for column in columns], rows)
    else:
        click.echo(f"No token for {being.name}; make one with 'nacre token create'.", err=True)


@token.command()
@click.argument("token_id", required=False)
@click.option("--all", "every", is_flag=True, help="Revoke all tokens of the Being.")
@json_option
@placed
def revoke(token_id: str | None, *, every: bool, as_json: bool, place: Place) -> None:
    """End the token TOKEN_ID now, or all of them.

    On this machine the next call is refused. On AWS it takes as long as the stack's
    AuthorizerCacheSeconds.
    """
    if (token_id is None) is not every:
        raise InvalidInputError(
            "revoke one token or all; give its id from 'nacre token list', or --all"
        )
    home = place.open()
    being = place.choose(home)
    active = (r for r in home.tokens.of_being(being.being_id) if r.state(_now()) == "active")
    wanted = [token_id] if token_id is not None else [record.token_id for record in active]
    revoked = [home.tokens.revoke(each, being_id=being.being_id) for each in wanted]
    if as_json:
        show_json([_facts(record, being.name) for record in revoked])
        return
    for record in revoked:
        click.echo(f"Revoked {record.token_id} ({record.label or record.hint}).", err=True)


def _now() -> datetime:
    return system_clock()


def _facts(record: TokenRecord, being: str) -> dict[str, str]:
    return {
        "token_id": record.token_id,
        "hint": record.hint,
        "being_id": record.being_id,
        "being": being,
        "scope": scope_name(record.scopes),
        "state": record.state(_now()),
        "label": record.label,
        "client": record.client or "",
        "created": moment(record.created),
        "expires": moment(record.expires),
    }

"""The command `nacre token`: create, list and revoke tokens."""

import re
from datetime import datetime, timedelta

import click

from nacre.access.scopes import SCOPES_BY_NAME, scope_name
from nacre.access.tokens.store import TokenRecord
from nacre.cli.being_options import Place, being_options, given_profile
from nacre.cli.display import iso_time, json_option, show_json, show_list
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
        """Return the duration of a text such as 90d."""
        if isinstance(value, timedelta):
            return value
        duration = _FORM.fullmatch(str(value))
        if duration is None:
            self.fail(f"{value!r} is not a time such as 90d, 12h or 30m", param, ctx)
        try:
            return timedelta(**{_UNITS[duration[2]]: int(duration[1])})
        except OverflowError:
            self.fail(f"{value!r} is too long", param, ctx)


@click.group()
def token() -> None:
    """Create, list and revoke tokens."""


@token.command()
@click.option(
    "--scope",
    type=click.Choice(sorted(SCOPES_BY_NAME)),
    required=True,
    help="full: every tool. read-only: tools that change nothing.",
)
@click.option(
    "--ttl",
    type=Duration(),
    default=f"{API_TOKEN_DAYS}d",
    show_default=True,
    help="How long it is valid, such as 90d, 12h or 30m.",
)
@click.option("--label", default="", help="A label to recognize it by in the list.")
@click.option(
    "--profile",
    callback=given_profile,
    metavar="NAME",
    help="Bind it to a profile of the policy: it reaches nothing else.",
)
@json_option
@being_options
def create(
    scope: str, ttl: timedelta, label: str, profile: str, *, as_json: bool, place: Place
) -> None:
    """Create an API token for a Being. It is shown only once."""
    home, being = place.open_being()
    if profile:
        from nacre.cli.policy.policy_file import profile_named

        profile_named(home.policies.of(being.being_id).policy, profile)
    issued = home.tokens.issue(
        API,
        being_id=being.being_id,
        owner=being.owner,
        scopes=SCOPES_BY_NAME[scope],
        lifetime=ttl,
        label=label,
        profile=profile,
    )
    part = f"{profile}?being_id={being.being_id}" if profile else being.being_id
    url = {"mcp_url": f"{home.ports.mcp_url}/{part}"} if home.ports.mcp_url else {}
    if as_json:
        show_json({"token": issued.token, **_facts(issued.record, being.name), **url})
        return
    click.echo(issued.token)
    record = issued.record
    click.echo(
        f"{record.token_id}: {scope} token for {being.name}{_in_profile(record)}, until "
        f"{iso_time(record.expires)}. It is not shown again.",
        err=True,
    )
    if url:
        click.echo(f"URL: {url['mcp_url']}", err=True)


@token.command("list")
@json_option
@being_options
def list_tokens(*, as_json: bool, place: Place) -> None:
    """List a Being's tokens, oldest first. Expired and revoked tokens stay listed for a month.

    Tokens of connected clients are renewed every hour; see also 'nacre client list'.
    """
    home, being = place.open_being()
    facts = [_facts(record, being.name) for record in home.tokens.of_being(being.being_id)]
    bound = ("profile",) if any(fact["profile"] for fact in facts) else ()
    columns = ("token_id", "hint", "scope", *bound, "state", "expires", "label", "client")
    head = [column.upper().replace("TOKEN_ID", "ID") for column in columns]
    rows = [[fact[column] or "-" for column in columns] for fact in facts]
    empty = f"{being.name} has no token; create one with 'nacre token create'."
    show_list(facts, head, rows, as_json=as_json, empty=empty)


@token.command()
@click.argument("token_id", required=False)
@click.option("--all", "every", is_flag=True, help="Revoke all tokens of the Being.")
@json_option
@being_options
def revoke(token_id: str | None, *, every: bool, as_json: bool, place: Place) -> None:
    """Revoke the token TOKEN_ID now, or all of them.

    On this machine the next call is refused. On AWS this takes up to the stack's
    AuthorizerCacheSeconds.
    """
    if (token_id is None) is not every:
        raise InvalidInputError(
            "revoke one token or all; give its id from 'nacre token list', or --all"
        )
    home, being = place.open_being()
    records = home.tokens.of_being(being.being_id)
    active = [record.token_id for record in records if record.state(_now()) == "active"]
    ids = [token_id] if token_id is not None else active
    revoked = [home.tokens.revoke(selected, being_id=being.being_id) for selected in ids]
    if as_json:
        show_json([_facts(record, being.name) for record in revoked])
        return
    for record in revoked:
        click.echo(f"Revoked {record.token_id} ({record.label or record.hint}).", err=True)


def _now() -> datetime:
    return system_clock()


def _in_profile(record: TokenRecord) -> str:
    return f" in the profile {record.profile}" if record.profile else ""


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
        "profile": record.profile,
        "created": iso_time(record.created),
        "expires": iso_time(record.expires),
    }

"""The command `nacre status`: the Beings, which credentials are set, and a stack's health."""

import click

from nacre import __version__
from nacre.being.tools.order_definition import DEFAULT_ORDER_NAME, order_tool_name
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json, show_table
from nacre.cli.operate.health_report import health_lines, health_of
from nacre.cli.operate.model_settings import model_line, policy_line
from nacre.core.clock import system_clock
from nacre.wiring.settings import Settings


@click.command()
@json_option
@being_options
def status(*, as_json: bool, place: Place) -> None:
    """Show the Beings, and which credentials are set.

    With --stack, also show active alarms and the counts of the last day.
    """
    home = place.open()
    now = system_clock()
    llm_keys = home.llm_keys
    settings = Settings.from_environment()
    name = settings.order_name or DEFAULT_ORDER_NAME
    beings = []
    for being in home.beings.of_owner(place.owner_name):
        tokens = home.tokens.of_being(being.being_id)
        active = sum(record.state(now) == "active" for record in tokens)
        beings.append(
            {
                "name": being.name,
                "being_id": being.being_id,
                "active_tokens": active,
                "llm_key": llm_keys.status(being.being_id) is not None,
                "order_tool": order_tool_name(home.beings.order_name(being.being_id) or name),
                "policy": policy_line(home, place, being.being_id),
            }
        )
    secrets = home.ports.secrets.names()
    health = None if home.ports.health is None else health_of(home.ports.health)
    # The settings of a stack's functions are not known here.
    model = None if place.stack else model_line(settings)
    if as_json:
        show_json(
            {
                "version": __version__,
                "where": home.ports.where,
                "mcp_url": home.ports.mcp_url,
                "owner": place.owner_name,
                **({"language_model": model} if model else {}),
                "beings": beings,
                "secrets": secrets,
                **({"health": health} if health else {}),
            }
        )
        return
    click.echo(f"Nacre:   {__version__}")
    click.echo(f"Where:   {home.ports.where}")
    if home.ports.mcp_url:
        click.echo(f"URL:     {home.ports.mcp_url}")
    click.echo(f"Owner:   {place.owner_name}")
    click.echo(f"Secrets: {', '.join(secrets) or 'none'}")
    if model:
        click.echo(f"Model:   {model}")
    if health:
        click.echo()
        for line in health_lines(health):
            click.echo(line)
    click.echo()
    rows = [
        (
            str(facts["name"]),
            str(facts["being_id"]),
            str(facts["active_tokens"]),
            "yes" if facts["llm_key"] else "no",
            str(facts["order_tool"]),
            str(facts["policy"]),
        )
        for facts in beings
    ]
    show_table(("BEING", "ID", "ACTIVE TOKENS", "LLM KEY", "ORDERS", "POLICY"), rows)

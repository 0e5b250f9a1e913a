"""The command `nacre status`: what is here, which credentials are set, and how a stack does."""

from random import SystemRandom

import click

from nacre import __version__
from nacre.being.language_model.api_keys import LlmKeys
from nacre.being.tools.order import DEFAULT_ORDER_NAME, order_tool_name
from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, show_json, show_table
from nacre.cli.operate.model_settings import model_line, policy_line
from nacre.cli.operate.stack_health import health_of, health_shown
from nacre.core.clock import system_clock
from nacre.wiring.settings import Settings


@click.command()
@json_option
@placed
def status(*, as_json: bool, place: Place) -> None:
    """Show what is here and which credentials are set.

    With --stack also which alarms are on, and what the stack counted in the last day.
    """
    home = place.open()
    now = system_clock()
    llm_keys = LlmKeys(home.data, home.vault, clock=system_clock, rng=SystemRandom())
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
    secrets = home.secrets.names()
    health = None if home.health is None else health_of(home.health())
    # What a stack's functions were given is not known here.
    model = None if place.stack else model_line(settings)
    if as_json:
        show_json(
            {
                "version": __version__,
                "where": home.where,
                "mcp_url": home.mcp_url,
                "owner": place.owner_name,
                **({"language_model": model} if model else {}),
                "beings": beings,
                "secrets": secrets,
                **({"health": health} if health else {}),
            }
        )
        return
    click.echo(f"Nacre:   {__version__}")
    click.echo(f"Where:   {home.where}")
    if home.mcp_url:
        click.echo(f"URL:     {home.mcp_url}")
    click.echo(f"Owner:   {place.owner_name}")
    click.echo(f"Secrets: {', '.join(secrets) or 'none'}")
    if model:
        click.echo(f"Model:   {model}")
    if health:
        click.echo()
        for line in health_shown(health):
            click.echo(line)
    click.echo()
    rows = [
        (
            str(b["name"]),
            str(b["being_id"]),
            str(b["active_tokens"]),
            "yes" if b["llm_key"] else "no",
            str(b["order_tool"]),
            str(b["policy"]),
        )
        for b in beings
    ]
    show_table(("BEING", "ID", "ACTIVE TOKENS", "LLM KEY", "ORDERS", "POLICY"), rows)

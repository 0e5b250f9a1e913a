"""The command `nacre recall`: what a Being recalls for a message, now or as of a past time."""

import click

from nacre.being.memory.search.queries import MemoryQueries, Reply
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import iso_time, json_option, show_json, without_controls
from nacre.core.clock import system_clock
from nacre.core.time_zones import time_zone
from nacre.wiring.features.memory import calm_numpy


@click.command()
@click.argument("message")
@click.option(
    "--as-of", metavar="TIME", help="Answer as at this time: a date, a time, 'yesterday', …"
)
@click.option(
    "--timezone",
    metavar="ZONE",
    help="Of words such as 'yesterday'. [default: UTC in MESSAGE, this machine's in TIME]",
)
@json_option
@being_options
def recall(
    message: str, *, as_of: str | None, timezone: str | None, as_json: bool, place: Place
) -> None:
    """Show what a Being recalls for MESSAGE, now or as of a past time.

    Its clients get the same. The command does not count as a recall, and writes nothing.

    With --as-of, the answer has the memories, texts, merges, ranks and strengths of the given time.
    A day means its end. Memories that were erased since are missing.
    """
    zone = None if timezone is None else time_zone(timezone)

    def reply(queries: MemoryQueries) -> Reply:
        return queries.recall(being.being_id, message, timezone=timezone or "UTC", counted=False)

    moment = None
    if as_of is not None:
        from nacre.cli.memory.past_time import past_time

        moment = past_time(as_of, "--as-of", now=system_clock(), zone=zone)
    calm_numpy()
    home, being = place.open_being()
    if moment is None:
        answer = reply(home.memory_services.queries)
    else:
        from nacre.wiring.features.past_recall import queries_at

        with queries_at(home, being.being_id, moment) as queries:
            answer = reply(queries)
    if as_json:
        at = None if moment is None else iso_time(moment)
        facts = {"being": being.name, "being_id": being.being_id, "as_of": at}
        show_json({**facts, "text": answer.text, "search": answer.trace})
    elif answer.text:
        click.echo(without_controls(answer.text))
    else:
        click.echo("Nothing is recalled for this message.", err=True)

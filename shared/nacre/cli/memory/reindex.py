"""The command `nacre reindex`: check, repair or change the index that memories are searched in."""

import time
from collections.abc import Callable

import click

from nacre.being.memory.index.jobs import Report, Task
from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, show_json
from nacre.cli.exit_codes import FAILURE

_EVERY_SECONDS = 1.0  # how often a line says how far it is


@click.command()
@click.option("--check", is_flag=True, help="Compare the index with the memories; write nothing.")
@click.option("--repair", is_flag=True, help="Write what is missing or out of date in the index.")
@json_option
@placed
@click.pass_context
def reindex(
    context: click.Context, *, check: bool, repair: bool, as_json: bool, place: Place
) -> None:
    """Check, repair or change the index that memories are searched in.

    Without an option it is made anew with the embedding that the settings ask for, where that
    is another one. Searches go on in the old index meanwhile. A command that is interrupted
    goes on where it was; on a stack the worker goes on by itself.
    """
    if check and repair:
        raise click.UsageError("--check and --repair are two tasks; give one of them")
    task: Task = "check" if check else "repair" if repair else "reindex"
    home = place.open()
    being = place.choose(home)
    report = home.index().run(being.being_id, task, _progress())
    if as_json:
        show_json({"being": being.name, "being_id": being.being_id, **report})
    else:
        click.echo(_sentence(task, report))
    if check and not report["sound"]:
        context.exit(FAILURE)


def _progress(now: Callable[[], float] = time.monotonic) -> Callable[[int, int], None]:
    said = now()

    def say(done: int, total: int) -> None:
        nonlocal said
        if now() - said >= _EVERY_SECONDS:
            said = now()
            click.echo(f"{done} of {total} memories", err=True)

    return say


def _sentence(task: Task, report: Report) -> str:
    if task == "reindex":
        if not report["changed"]:
            return "Nothing to change: the index is the one that the settings ask for."
        made = int(report["points"])
        return (
            f"{counted(made, 'memory is', 'memories are')} now searched with"
            f" {report['embedding']} instead of {report['before']}."
        )
    found = ", ".join(
        f"{report[name]} {name.replace('_', ' ')}"
        for name in ("missing", "stale", "orphaned", "without_vector")
        if report[name]
    )
    points = counted(int(report["points"]), "memory", "memories")
    memories = f"{points}, searched with {report['embedding']}"
    if not found:
        return f"{memories}: the index is sound."
    return f"{memories}: {found}" + ("; repaired." if task == "repair" else ".")

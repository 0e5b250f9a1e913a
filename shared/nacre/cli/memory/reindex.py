"""The command `nacre reindex`: check, repair or rebuild the search index of memories."""

import click

from nacre.being.memory.index.jobs import Report, Task
from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json
from nacre.cli.exit_codes import FAILURE
from nacre.cli.progress import progress_lines


@click.command()
@click.option(
    "--check", is_flag=True, help="Compare the index with the memories, and write nothing."
)
@click.option(
    "--repair", is_flag=True, help="Add missing entries to the index, and update old ones."
)
@json_option
@being_options
@click.pass_context
def reindex(
    context: click.Context, *, check: bool, repair: bool, as_json: bool, place: Place
) -> None:
    """Check, repair or rebuild the search index of memories.

    Without an option, the index is rebuilt if the settings name another embedding than the index
    has. Searches use the old index meanwhile. If the command is interrupted, run it again to
    continue; on a stack the worker continues without it.
    """
    if check and repair:
        raise click.UsageError("--check and --repair are two tasks; give only one")
    task: Task = "check" if check else "repair" if repair else "reindex"
    home, being = place.open_being()
    report = home.index_work.run(being.being_id, task, progress_lines("memories"))
    if as_json:
        show_json({"being": being.name, "being_id": being.being_id, **report})
    else:
        click.echo(_sentence(task, report))
    if check and not report["sound"]:
        context.exit(FAILURE)


def _sentence(task: Task, report: Report) -> str:
    if task == "reindex":
        if not report["changed"]:
            return "Nothing to change: the index has the embedding of the settings."
        count = int(report["points"])
        return (
            f"{counted(count, 'memory is', 'memories are')} now searched with"
            f" {report['embedding']} instead of {report['before']}."
        )
    problems = ", ".join(
        f"{report[name]} {name.replace('_', ' ')}"
        for name in ("missing", "stale", "orphaned", "without_vector")
        if report[name]
    )
    points = counted(int(report["points"]), "memory", "memories")
    memories = f"{points}, searched with {report['embedding']}"
    if not problems:
        return f"{memories}: the index is complete."
    return f"{memories}: {problems}" + ("; repaired." if task == "repair" else ".")

"""The command `nacre patrol`: turn scenes into memories now, and see what patrols did."""

from dataclasses import asdict
from typing import Any

import click

from nacre.being.language_model.spending import Budget, Spending
from nacre.being.memory.text.memory_text import counted
from nacre.being.patrol.run.receipts import receipt_lines
from nacre.being.patrol.run.runs import Run, Runs
from nacre.being.patrol.run.status import Standing, standing_of
from nacre.being.patrol.trigger import step_after
from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, show_json, show_table
from nacre.cli.exit_codes import FAILURE
from nacre.core.clock import system_clock
from nacre.core.errors import NotFoundError
from nacre.ports.items.table import Table

_SHOWN_RUNS = 20
_COUNTS = ("scenes_taken", "nodes_created", "merged", "dead", "revived")


@click.group()
def patrol() -> None:
    """Turn scenes into memories, and see what patrols did."""


@patrol.command()
@json_option
@placed
@click.pass_context
def run(context: click.Context, *, as_json: bool, place: Place) -> None:
    """Do a patrol now, to its end.

    On a stack its worker does it, also when this command is interrupted. A patrol that was
    interrupted on this machine goes on with the next.
    """
    home = place.open()
    being = place.choose(home)
    receipt = home.patrols().run(being.being_id, _telling())
    _show(receipt.to_plain(), as_json=as_json)
    if receipt.state == "blocked":
        context.exit(FAILURE)


@patrol.command()
@json_option
@placed
def status(*, as_json: bool, place: Place) -> None:
    """Show what waits for a patrol, and how the last one ended."""
    home = place.open()
    being = place.choose(home)
    found = standing_of(home.data, being.being_id)
    spent = Spending(home.data, Budget(0), clock=system_clock).of_today(being.being_id)
    if as_json:
        facts = {"being": being.name, "being_id": being.being_id, **found.to_plain()}
        show_json({**facts, "model_today": asdict(spent)})
        return
    click.echo(f"Being:    {being.name}")
    click.echo(f"Waiting:  {_waiting(found)}")
    click.echo(f"Queued:   {found.queued_at or 'no'}")
    click.echo(f"Clock:    {counted(found.clock, 'active day')}")
    click.echo(f"Patrol:   {_state(found.open)}")
    if spent.questions:
        tokens = f"{spent.input_tokens} tokens in, {spent.output_tokens} out"
        click.echo(f"Model:    {counted(spent.questions, 'question')} today, {tokens}")
    if found.last is None:
        click.echo("Last run: none yet")
        return
    click.echo("Last run:")
    for line in receipt_lines(found.last.receipt.to_plain()):
        click.echo(f"  {line}")


@patrol.command()
@click.option("--limit", type=click.IntRange(1, 500), default=_SHOWN_RUNS, show_default=True,
              help="How many runs, the newest first.")  # fmt: skip
@click.option("--run", "run_id", metavar="RUN", help="Show one run: its number or its id.")
@json_option
@placed
def history(*, limit: int, run_id: str | None, as_json: bool, place: Place) -> None:
    """List patrols with what came of them, the newest first."""
    home = place.open()
    being_id = place.choose(home).being_id
    if run_id is not None:
        _show(_run(home.data, being_id, run_id).receipt.to_plain(), as_json=as_json)
        return
    runs = _newest(home.data, being_id, limit)
    if as_json:
        show_json([each.receipt.to_plain() for each in runs])
    elif runs:
        head = ("RUN", "STARTED", "BY", "STATE", "SCENES", "NEW", "MERGED", "FORGOTTEN", "REVIVED")
        show_table(head, [_row(each) for each in runs])
    else:
        click.echo("No patrol yet; do one with 'nacre patrol run'.", err=True)


@patrol.command("dry-run")
@json_option
@placed
def dry_run(*, as_json: bool, place: Place) -> None:
    """Show what a patrol would do now; nothing is written.

    With a language model it is asked, and what it answers costs tokens.
    """
    home = place.open()
    being = place.choose(home)
    _show(home.patrols().dry_run(being.being_id), as_json=as_json)


@patrol.command()
@click.argument("run_id", metavar="RUN")
@json_option
@placed
@click.pass_context
def undo(context: click.Context, run_id: str, *, as_json: bool, place: Place) -> None:
    """Take back what the patrol RUN merged; RUN is its number or its id.

    The memories that were merged come back as they were, and the merged one rests.
    """
    home = place.open()
    being_id = place.choose(home).being_id
    found = _run(home.data, being_id, run_id)
    report = home.patrols().undo(being_id, found.run_id)
    if as_json:
        show_json(report)
    else:
        click.echo(f"Run {found.seq}: {counted(len(report['undone']), 'merge')} taken back.")
        for node_id, reason in report["not_undone"].items():
            click.echo(f"  {node_id}: {reason}")
    if report["not_undone"]:
        context.exit(FAILURE)


def _telling() -> Any:
    """Return what shows the steps of a run, each once, on standard error."""
    said: list[str] = []

    def say(step: int, steps: int, name: str) -> None:
        line = f"step {step} of {steps}: {name}"
        if line not in said:
            said.append(line)
            click.echo(line, err=True)

    return say


def _show(receipt: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        show_json(receipt)
        return
    for line in receipt_lines(receipt):
        click.echo(line)


def _run(table: Table, being_id: str, given: str) -> Run:
    runs = Runs(table)
    is_number = given.isascii() and given.isdecimal() and len(given) < 9
    found = runs.at(being_id, int(given)) if is_number else runs.get(being_id, given)
    if found is None:
        raise NotFoundError(f"there is no run {given[:40]!r}; 'nacre patrol history' lists them")
    return found


def _newest(table: Table, being_id: str, limit: int) -> list[Run]:
    found: list[Run] = []
    start: str | None = None
    while len(found) < limit:
        page = Runs(table).page(being_id, limit=min(100, limit - len(found)), start=start)
        found += page.runs
        if (start := page.next) is None:
            break
    return found


def _row(each: Run) -> tuple[str, ...]:
    counts = (str(each.counts.get(name, 0)) for name in _COUNTS)
    return (str(each.seq), each.now, each.trigger, each.state, *counts)


def _waiting(found: Standing) -> str:
    return f"{counted(found.scenes, 'scene')}, {counted(found.messages, 'message')}"


def _state(run: Run | None) -> str:
    if run is None:
        return "none runs"
    if run.state == "blocked":
        return f"run {run.seq} rests until what blocks it is over"
    return f"run {run.seq} is at: {step_after(run.step)}"

"""The command `nacre patrol`: turn scenes into memories now, and show what patrols did."""

from typing import Any

import click

from nacre.being.language_model.daily_budget import Budget, Spending
from nacre.being.memory.text.memory_text import counted
from nacre.being.patrol.run.runs import Run, Runs
from nacre.being.patrol.run.status import PatrolStatus, patrol_status, receipt_lines
from nacre.being.patrol.trigger import step_after
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json, show_list
from nacre.cli.exit_codes import FAILURE
from nacre.core.clock import system_clock
from nacre.core.errors import NotFoundError
from nacre.core.lazy_dataclasses import asdict
from nacre.ports.items.table import Table

_SHOWN_RUNS = 20
_COUNTS = ("scenes_taken", "nodes_created", "merged", "dead", "revived")


@click.group()
def patrol() -> None:
    """Turn scenes into memories, and show what patrols did."""


@patrol.command()
@json_option
@being_options
@click.pass_context
def run(context: click.Context, *, as_json: bool, place: Place) -> None:
    """Run a patrol now, and wait until it ends.

    On a stack the worker runs it, and continues if this command is interrupted. A patrol that was
    interrupted on this machine is continued by the next one.
    """
    home, being = place.open_being()
    receipt = home.patrol_work.run(being.being_id, _step_lines())
    _show(receipt.to_plain(), as_json=as_json)
    if receipt.state == "blocked":
        context.exit(FAILURE)


@patrol.command()
@json_option
@being_options
def status(*, as_json: bool, place: Place) -> None:
    """Show how much is waiting for a patrol, and how the last one ended."""
    home, being = place.open_being()
    state = patrol_status(home.data, being.being_id)
    spent = Spending(home.data, Budget(0), clock=system_clock).of_today(being.being_id)
    if as_json:
        facts = {"being": being.name, "being_id": being.being_id, **state.to_plain()}
        show_json({**facts, "model_today": asdict(spent)})
        return
    click.echo(f"Being:    {being.name}")
    click.echo(f"Waiting:  {_waiting(state)}")
    click.echo(f"Queued:   {state.queued_at or 'no'}")
    click.echo(f"Clock:    {counted(state.clock, 'active day')}")
    click.echo(f"Patrol:   {_state(state.open)}")
    if spent.questions:
        tokens = f"{spent.input_tokens} tokens in, {spent.output_tokens} out"
        click.echo(f"Model:    {counted(spent.questions, 'question')} today, {tokens}")
    if state.last is None:
        click.echo("Last run: none yet")
        return
    click.echo("Last run:")
    for line in receipt_lines(state.last.receipt.to_plain()):
        click.echo(f"  {line}")


@patrol.command()
@click.option("--limit", type=click.IntRange(1, 500), default=_SHOWN_RUNS, show_default=True,
              help="Number of runs.")  # fmt: skip
@click.option("--run", "run_id", metavar="RUN", help="Show one run: its number or its id.")
@json_option
@being_options
def history(*, limit: int, run_id: str | None, as_json: bool, place: Place) -> None:
    """List patrols with their results, the newest first."""
    home = place.open()
    being_id = place.choose(home).being_id
    if run_id is not None:
        _show(_run(home.data, being_id, run_id).receipt.to_plain(), as_json=as_json)
        return
    runs = _newest(home.data, being_id, limit)
    facts = [listed.receipt.to_plain() for listed in runs]
    head = ("RUN", "STARTED", "BY", "STATE", "SCENES", "NEW", "MERGED", "FORGOTTEN", "REVIVED")
    empty = "No patrol yet; start one with 'nacre patrol run'."
    show_list(facts, head, map(_row, runs), as_json=as_json, empty=empty)


@patrol.command("dry-run")
@json_option
@being_options
def dry_run(*, as_json: bool, place: Place) -> None:
    """Show what a patrol would do now, and write nothing.

    If the Being has a language model, this asks the model, which costs tokens.
    """
    home, being = place.open_being()
    _show(home.patrol_work.dry_run(being.being_id), as_json=as_json)


@patrol.command()
@click.argument("run_id", metavar="RUN")
@json_option
@being_options
@click.pass_context
def undo(context: click.Context, run_id: str, *, as_json: bool, place: Place) -> None:
    """Undo the merges of the patrol RUN; RUN is its number or its id.

    The original memories are restored, and the merged one becomes inactive.
    """
    home = place.open()
    being_id = place.choose(home).being_id
    undone_run = _run(home.data, being_id, run_id)
    report = home.patrol_work.undo(being_id, undone_run.run_id)
    if as_json:
        show_json(report)
    else:
        click.echo(f"Run {undone_run.seq}: {counted(len(report['undone']), 'merge')} undone.")
        for node_id, reason in report["not_undone"].items():
            click.echo(f"  {node_id}: {reason}")
    if report["not_undone"]:
        context.exit(FAILURE)


def _step_lines() -> Any:
    """Return a function that prints each step of a run once, on standard error."""
    printed: list[str] = []

    def show(step: int, steps: int, name: str) -> None:
        line = f"step {step} of {steps}: {name}"
        if line not in printed:
            printed.append(line)
            click.echo(line, err=True)

    return show


def _show(receipt: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        show_json(receipt)
        return
    for line in receipt_lines(receipt):
        click.echo(line)


def _run(table: Table, being_id: str, number_or_id: str) -> Run:
    runs = Runs(table)
    is_number = number_or_id.isascii() and number_or_id.isdecimal() and len(number_or_id) < 9
    run = runs.at(being_id, int(number_or_id)) if is_number else runs.get(being_id, number_or_id)
    if run is None:
        raise NotFoundError(
            f"there is no run {number_or_id[:40]!r}; 'nacre patrol history' lists them"
        )
    return run


def _newest(table: Table, being_id: str, limit: int) -> list[Run]:
    runs: list[Run] = []
    start: str | None = None
    while len(runs) < limit:
        page = Runs(table).page(being_id, limit=min(100, limit - len(runs)), start=start)
        runs += page.runs
        if (start := page.next) is None:
            break
    return runs


def _row(run: Run) -> tuple[str, ...]:
    counts = (str(run.counts.get(name, 0)) for name in _COUNTS)
    return (str(run.seq), run.now, run.trigger, run.state, *counts)


def _waiting(status: PatrolStatus) -> str:
    return f"{counted(status.scenes, 'scene')}, {counted(status.messages, 'message')}"


def _state(run: Run | None) -> str:
    if run is None:
        return "none is running"
    if run.state == "blocked":
        return f"run {run.seq} is blocked, and continues later"
    return f"run {run.seq} is at the step: {step_after(run.step)}"

"""What `nacre wrap` and `nacre unwrap` tell."""

import difflib
from collections.abc import Sequence

import click

from nacre.cli.display import show_json, show_table
from nacre.cli.exit_codes import FAILURE, OK, tell
from nacre.firewall.wrap.client_formats import Client
from nacre.firewall.wrap.client_servers import Found, Problem
from nacre.firewall.wrap.redacted_entry import shown_entry
from nacre.firewall.wrap.wrapper import Done, Outcome

_CHANGES = frozenset({"wrapped", "renewed", "unwrapped"})


def show_done(done: Sequence[Done], *, rehearsed: bool, as_json: bool) -> int:
    """Tell what became of servers, or would become, and return the exit code."""
    outcomes = [outcome for each in done for outcome in each.outcomes]
    refused = [outcome for outcome in outcomes if outcome.result == "refused"]
    if as_json:
        show_json([_facts(outcome) for outcome in outcomes])
    else:
        settled = [outcome for outcome in outcomes if outcome.result != "refused"]
        rows = [
            (outcome.path[-1], outcome.client.title, outcome.result, outcome.file)
            for outcome in settled
        ]
        if rows:
            show_table(("SERVER", "CLIENT", "WOULD BE" if rehearsed else "IS", "FILE"), rows)
        if rehearsed:
            for each in done:
                _show_difference(each)
    for outcome in outcomes:
        if outcome.result != "refused" and outcome.note:
            click.echo(f"{outcome.path[-1]} ({outcome.client.title}): {outcome.note}", err=True)
    for outcome in refused:
        tell(f"{outcome.path[-1]} ({outcome.client.title}, {outcome.file}): {outcome.note}")
    if not rehearsed:
        _show_restarts(outcomes)
    return FAILURE if refused else OK


def show_status(
    found: Sequence[Found], problems: Sequence[Problem], missing: set[str], *, as_json: bool
) -> int:
    """Tell which servers are wrapped; `missing` are the programs that are no longer there."""
    if as_json:
        show_json(
            [
                {
                    "server": each.server.name,
                    "client": each.client.name,
                    "scope": each.scope,
                    "state": state_of(each, missing),
                    "file": each.file,
                    "path": list(each.server.path),
                }
                for each in found
            ]
        )
    elif found:
        rows = [
            (each.server.name, each.client.title, state_of(each, missing), each.file)
            for each in found
        ]
        show_table(("SERVER", "CLIENT", "STATE", "FILE"), rows)
    else:
        click.echo("No client has a server.", err=True)
    show_problems(problems)
    lost = any(state_of(each, missing).endswith("missing") for each in found)
    if lost:
        tell("a wrapped server cannot start: its nacre is gone; run 'nacre wrap --all'")
    return FAILURE if problems or lost else OK


def show_problems(problems: Sequence[Problem]) -> None:
    """Tell which files cannot be read."""
    for each in problems:
        tell(f"{each.client.title}: {each.file}: {each.reason}")


def state_of(found: Found, missing: set[str]) -> str:
    """Return in few words how a server stands."""
    proxy = found.server.proxy
    if proxy is not None:
        is_lost = proxy.program[0] in missing
        return "wrapped, nacre missing" if is_lost else "wrapped"
    if found.server.is_ours:
        return "nacre itself"
    if found.server.is_built_in:
        return "built in"
    return {"managed": "managed, not ours", "project": "not wrapped (project)"}.get(
        found.scope, "not wrapped"
    )


def _facts(outcome: Outcome) -> dict[str, object]:
    return {
        "server": outcome.path[-1],
        "client": outcome.client.name,
        "result": outcome.result,
        "file": outcome.file,
        "path": list(outcome.path),
        "note": outcome.note,
    }


def _show_difference(done: Done) -> None:
    """Print what would change; what could be a key is not shown."""
    for outcome in done.outcomes:
        if outcome.result not in _CHANGES:
            continue
        before = shown_entry(done.before, outcome.client, outcome.path).splitlines()
        after = shown_entry(done.after, outcome.client, outcome.path).splitlines()
        click.echo()
        head = (f"{outcome.path[-1]} (now)", f"{outcome.path[-1]} ({outcome.result})")
        for line in difflib.unified_diff(before, after, *head, lineterm=""):
            # A terminal would act on what else is in a file.
            click.echo(
                "".join(each if each.isprintable() or each == "\t" else "?" for each in line)
            )


def _show_restarts(outcomes: Sequence[Outcome]) -> None:
    """Say what to do so that a client reads its file again."""
    changed: dict[str, Client] = {
        outcome.client.name: outcome.client for outcome in outcomes if outcome.result in _CHANGES
    }
    for client in changed.values():
        click.echo(f"For {client.title} to notice: {client.restart}.", err=True)

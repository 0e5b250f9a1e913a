"""The output of `nacre wrap` and `nacre unwrap`."""

import difflib
from collections.abc import Sequence

import click

from nacre.cli.display import show_json, show_table
from nacre.cli.exit_codes import FAILURE, OK, tell
from nacre.firewall.wrap.client_formats import Client
from nacre.firewall.wrap.client_servers import ClientServer, UnreadableFile
from nacre.firewall.wrap.redacted_entry import shown_entry
from nacre.firewall.wrap.wrapper import FileOutcome, Outcome

_CHANGES = frozenset({"wrapped", "renewed", "unwrapped"})


def show_outcomes(files: Sequence[FileOutcome], *, rehearsed: bool, as_json: bool) -> int:
    """Show the outcome for each server, and return the exit code."""
    outcomes = [outcome for file in files for outcome in file.outcomes]
    refused = [outcome for outcome in outcomes if outcome.result == "refused"]
    if as_json:
        show_json([_facts(outcome) for outcome in outcomes])
    else:
        rows = [
            (outcome.path[-1], outcome.client.title, outcome.result, outcome.file)
            for outcome in outcomes
            if outcome.result != "refused"
        ]
        if rows:
            show_table(("SERVER", "CLIENT", "WOULD BE" if rehearsed else "IS", "FILE"), rows)
        if rehearsed:
            for file in files:
                _show_difference(file)
    for outcome in outcomes:
        if outcome.result != "refused" and outcome.note:
            click.echo(f"{outcome.path[-1]} ({outcome.client.title}): {outcome.note}", err=True)
    for outcome in refused:
        tell(f"{outcome.path[-1]} ({outcome.client.title}, {outcome.file}): {outcome.note}")
    if not rehearsed:
        _show_restarts(outcomes)
    return FAILURE if refused else OK


def show_status(
    servers: Sequence[ClientServer],
    problems: Sequence[UnreadableFile],
    missing: set[str],
    *,
    as_json: bool,
) -> int:
    """Show which servers are wrapped; `missing` are programs that no longer exist."""
    if as_json:
        show_json(
            [
                {
                    "server": entry.server.name,
                    "client": entry.client.name,
                    "scope": entry.scope,
                    "state": state_of(entry, missing),
                    "file": entry.file,
                    "path": list(entry.server.path),
                }
                for entry in servers
            ]
        )
    elif servers:
        rows = [
            (entry.server.name, entry.client.title, state_of(entry, missing), entry.file)
            for entry in servers
        ]
        show_table(("SERVER", "CLIENT", "STATE", "FILE"), rows)
    else:
        click.echo("No client has a server.", err=True)
    show_problems(problems)
    lost = any(state_of(entry, missing).endswith("missing") for entry in servers)
    if lost:
        tell("a wrapped server cannot start because its nacre is missing; run 'nacre wrap --all'")
    return FAILURE if problems or lost else OK


def show_problems(problems: Sequence[UnreadableFile]) -> None:
    """Show which files cannot be read."""
    for problem in problems:
        tell(f"{problem.client.title}: {problem.file}: {problem.reason}")


def state_of(entry: ClientServer, missing: set[str]) -> str:
    """Return the state of a server in a few words."""
    proxy = entry.server.proxy
    if proxy is not None:
        return "wrapped, nacre missing" if proxy.program[0] in missing else "wrapped"
    if entry.server.is_ours:
        return "nacre itself"
    if entry.server.is_built_in:
        return "built in"
    states = {"managed": "managed, not ours", "project": "not wrapped (project)"}
    return states.get(entry.scope, "not wrapped")


def _facts(outcome: Outcome) -> dict[str, object]:
    return {
        "server": outcome.path[-1],
        "client": outcome.client.name,
        "result": outcome.result,
        "file": outcome.file,
        "path": list(outcome.path),
        "note": outcome.note,
    }


def _show_difference(file: FileOutcome) -> None:
    """Print the changes of a file, with possible keys hidden."""
    for outcome in file.outcomes:
        if outcome.result not in _CHANGES:
            continue
        before = shown_entry(file.before, outcome.client, outcome.path).splitlines()
        after = shown_entry(file.after, outcome.client, outcome.path).splitlines()
        click.echo()
        head = (f"{outcome.path[-1]} (now)", f"{outcome.path[-1]} ({outcome.result})")
        for line in difflib.unified_diff(before, after, *head, lineterm=""):
            # Control characters of a file must not reach the terminal.
            click.echo("".join(c if c.isprintable() or c == "\t" else "?" for c in line))


def _show_restarts(outcomes: Sequence[Outcome]) -> None:
    """Tell the user how to make each client read its file again."""
    changed: dict[str, Client] = {
        outcome.client.name: outcome.client for outcome in outcomes if outcome.result in _CHANGES
    }
    for client in changed.values():
        click.echo(f"To apply this in {client.title}: {client.restart}.", err=True)

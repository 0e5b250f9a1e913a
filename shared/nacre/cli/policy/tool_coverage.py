"""The commands `nacre policy coverage` and `replay`: a policy, and the known tools or calls."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from nacre.being.application import being_server
from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json, show_table
from nacre.cli.exit_codes import FAILURE, OK
from nacre.cli.policy.audit import audit_records, lines_of
from nacre.cli.policy.call_arguments import place_options
from nacre.cli.policy.known_tools import Definitions, definitions_in, pinned_definitions
from nacre.cli.policy.policy_file import policy_in_force, policy_option
from nacre.cli.policy.server_facts import ServerFacts
from nacre.firewall.analysis.coverage import Coverage, coverage
from nacre.firewall.analysis.replay import ReplayedCalls, read_records, replay
from nacre.firewall.approvals.form import printable
from nacre.firewall.rules.globs.matching import matches

OWN = "nacre"


@click.command("coverage")
@policy_option
@click.option(
    "--tools",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help='JSON with the tools of each server, such as {"files": ["read"]}, instead of the pins.',
)
@json_option
@being_options
def coverage_command(chosen: Path | None, file: Path | None, *, as_json: bool, place: Place) -> int:
    """Show how the rules decide about each known tool: Nacre's own tools and pinned ones.

    allowed, asked and denied do not depend on the arguments. depends: they do. unmentioned: denied
    because no rule matches. "tainted" is the fate of calls after results of external servers, where
    it differs. Exit code 1: a tool is unmentioned, or a rule matches no tool.
    """
    policy = policy_in_force(chosen, place)
    tools = pinned_tools(place) if file is None else _names(definitions_in(file))
    report = coverage(policy, tools)
    origins = {rule.number: rule.origin for rule in policy.rules}
    unknown_servers = {
        rule.number: f": its server '{rule.server}' is not known here"
        if rule.server is not None and not any(matches(rule.server, server) for server in tools)
        else ""
        for rule in policy.rules
    }
    if as_json:
        show_json(_coverage_facts(report))
    else:
        rows = [
            [
                printable(tool.server),
                printable(tool.tool),
                tool.fate if tool.tainted is None else f"{tool.fate}; tainted: {tool.tainted}",
                ", ".join(origins[number] for number in tool.rules) or "-",
            ]
            for tool in report.tools
        ]
        show_table(["SERVER", "TOOL", "CALLS ARE", "RULES"], rows)
        for number in report.idle_rules:
            click.echo(
                f"{origins[number]} matches no known tool{unknown_servers[number]}", err=True
            )
    unmentioned = sum(tool.fate == "unmentioned" for tool in report.tools)
    if unmentioned:
        verb = "is" if unmentioned == 1 else "are"
        tools_text = counted(len(report.tools), "tool")
        click.echo(f"{unmentioned} of {tools_text} {verb} unmentioned", err=True)
    return FAILURE if unmentioned or report.idle_rules else OK


@click.command("replay")
@policy_option
@click.argument("file", required=False)
@place_options
@json_option
@being_options
def replay_command(
    chosen: Path | None,
    file: str | None,
    home: str | None,
    bases: tuple[str, ...],
    *,
    as_json: bool,
    place: Place,
) -> int:
    """Decide the calls of an audit log again, and show the differences.

    FILE is a copy from 'nacre audit export'; '-' is standard input. Without FILE, the log of this
    machine or of --stack is used. Exit code 1: a call is decided differently. An audit log has no
    values of arguments, so if a rule tests one, all possible decisions are shown.
    """
    policy = policy_in_force(chosen, place)
    lines = _own_records(place) if file is None else lines_of(file)
    records = read_records(lines, source=file or "the audit")
    replayed = replay(policy, records, ServerFacts(place, home, bases).of)
    changed = [calls for calls in replayed if calls.is_changed]
    unsure = [calls for calls in replayed if calls.is_open and not calls.is_changed]
    if as_json:
        show_json([_replay_facts(calls) for calls in (*changed, *unsure)])
    else:
        for calls in (*changed, *unsure):
            click.echo(_line(calls))
    counts = [sum(calls.count for calls in group) for group in (replayed, changed, unsure)]
    click.echo(
        f"{counted(counts[0], 'call')}: {counts[1]} decided differently, "
        f"{counted(counts[2], 'depends', 'depend')} on values",
        err=True,
    )
    return FAILURE if changed else OK


def pinned_tools(place: Place) -> dict[str, list[str]]:
    """Return the tools of every server that has listed them, and Nacre's own."""
    own_names = [str(tool["name"]) for tool in being_server(_nothing, patrols=_nothing).tools()]
    return {OWN: own_names, **_names(pinned_definitions(place))}


def _names(servers: Definitions) -> dict[str, list[str]]:
    return {server: [tool["name"] for tool in tools] for server, tools in servers.items()}


def _nothing() -> Any:
    raise AssertionError("no tool is called")


def _own_records(place: Place) -> Iterator[bytes]:
    for chain in audit_records(place).chains():
        yield from chain.lines


def _line(calls: ReplayedCalls) -> str:
    after = " or ".join(calls.after)
    count = counted(calls.count, "call")
    name = f"{printable(calls.server)}/{printable(calls.name)}"
    return f"{calls.before} -> {after}  {name}, {count} ({', '.join(calls.rules)})"


def _replay_facts(calls: ReplayedCalls) -> dict[str, Any]:
    return {
        "server": calls.server,
        "name": calls.name,
        "before": calls.before,
        "after": list(calls.after),
        "rules": list(calls.rules),
        "calls": calls.count,
    }


def _coverage_facts(report: Coverage) -> dict[str, Any]:
    return {
        "tools": [
            {
                "server": tool.server,
                "tool": tool.tool,
                "fate": tool.fate,
                "rules": list(tool.rules),
            }
            for tool in report.tools
        ],
        "idle_rules": list(report.idle_rules),
    }

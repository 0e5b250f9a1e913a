"""Policy commands that hold a policy against what there is: coverage and replay."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from nacre.being.application import being_server
from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, show_json, show_table
from nacre.cli.exit_codes import FAILURE, OK
from nacre.cli.policy.call_arguments import place_options
from nacre.cli.policy.known_tools import Definitions, definitions_in, pinned_definitions
from nacre.cli.policy.policy_file import policy_in_force, policy_option
from nacre.cli.policy.server_facts import ServerFacts
from nacre.core.clock import system_clock
from nacre.core.errors import NotFoundError
from nacre.firewall.analysis.coverage import Coverage, coverage
from nacre.firewall.analysis.replay import Replayed, read_records, replayed
from nacre.firewall.approvals.form import printable
from nacre.firewall.rules.globs.matching import matches
from nacre.wiring.features.firewall import laptop_records, stack_records

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
@placed
def coverage_command(given: Path | None, file: Path | None, *, as_json: bool, place: Place) -> int:
    """Show what the rules make of each tool: Nacre's own and those that were pinned.

    allowed, asked or denied: whatever the arguments. depends: on them. unmentioned: denied,
    because no rule is about it. Exit code 1: a tool is unmentioned, or a rule is about none.
    """
    policy = policy_in_force(given, place)
    tools = pinned_tools(place) if file is None else _names(definitions_in(file))
    found = coverage(policy, tools)
    origins = {rule.number: rule.origin for rule in policy.rules}
    strangers = {
        rule.number: f": its server '{rule.server}' is not known here"
        if rule.server is not None and not any(matches(rule.server, each) for each in tools)
        else ""
        for rule in policy.rules
    }
    if as_json:
        show_json(_facts(found))
    else:
        rows = [
            [
                printable(each.server),
                printable(each.tool),
                each.fate,
                ", ".join(origins[number] for number in each.rules) or "-",
            ]
            for each in found.tools
        ]
        show_table(["SERVER", "TOOL", "CALLS ARE", "RULES"], rows)
        for number in found.idle_rules:
            click.echo(f"{origins[number]} is about no tool there is{strangers[number]}", err=True)
    unmentioned = sum(each.fate == "unmentioned" for each in found.tools)
    if unmentioned:
        verb = "is" if unmentioned == 1 else "are"
        click.echo(f"{unmentioned} of {len(found.tools)} tools {verb} unmentioned", err=True)
    return FAILURE if unmentioned or found.idle_rules else OK


@click.command("replay")
@policy_option
@click.argument("file", required=False)
@place_options
@json_option
@placed
def replay_command(
    given: Path | None,
    file: str | None,
    home: str | None,
    bases: tuple[str, ...],
    *,
    as_json: bool,
    place: Place,
) -> int:
    """Decide anew what an audit holds, and show what would come out otherwise.

    FILE is a copy that 'nacre audit export' made; '-' is standard input, without FILE it is
    the audit of this machine or of --stack. Exit code 1: something would. An audit holds no
    values of arguments, so where a rule looks at one, it says what may come out.
    """
    policy = policy_in_force(given, place)
    lines = _recorded(place) if file is None else _lines_of(file)
    records = read_records(lines, source=file or "the audit")
    found = replayed(policy, records, ServerFacts(place, home, bases).of)
    changed = [each for each in found if each.is_changed]
    unsure = [each for each in found if each.is_open and not each.is_changed]
    if as_json:
        show_json([_replayed(each) for each in (*changed, *unsure)])
    else:
        for each in (*changed, *unsure):
            click.echo(_line(each))
    counts = [sum(each.count for each in group) for group in (found, changed, unsure)]
    click.echo(
        f"{counted(counts[0], 'call')}: {counts[1]} decided otherwise, "
        f"{counts[2]} depend on values",
        err=True,
    )
    return FAILURE if changed else OK


def pinned_tools(place: Place) -> dict[str, list[str]]:
    """Return the tools of every server that has listed them, and our own."""
    own = [str(tool["name"]) for tool in being_server(_nothing, patrols=_nothing).tools()]
    return {OWN: own, **_names(pinned_definitions(place))}


def _names(servers: Definitions) -> dict[str, list[str]]:
    return {server: [tool["name"] for tool in tools] for server, tools in servers.items()}


def _nothing() -> Any:
    raise AssertionError("no tool is called")


def _recorded(place: Place) -> Iterator[bytes]:
    home = place.open()
    if place.stack:
        records = stack_records(home.data, place.choose(home).being_id, system_clock)
    else:
        records = laptop_records(Path(place.folder()), home.data)
    for chain in records.chains():
        yield from chain.lines


def _lines_of(file: str) -> Iterator[bytes]:
    if file == "-":
        yield from sys.stdin.buffer
        return
    try:
        with Path(file).open("rb") as lines:
            yield from lines
    except OSError as error:
        raise NotFoundError(f"{file}: cannot be read ({error.strerror})") from error


def _line(each: Replayed) -> str:
    after = " or ".join(each.after)
    calls = counted(each.count, "call")
    name = f"{printable(each.server)}/{printable(each.name)}"
    return f"{each.before} -> {after}  {name}, {calls} ({', '.join(each.rules)})"


def _replayed(each: Replayed) -> dict[str, Any]:
    return {
        "server": each.server,
        "name": each.name,
        "before": each.before,
        "after": list(each.after),
        "rules": list(each.rules),
        "calls": each.count,
    }


def _facts(found: Coverage) -> dict[str, Any]:
    return {
        "tools": [
            {
                "server": each.server,
                "tool": each.tool,
                "fate": each.fate,
                "rules": list(each.rules),
            }
            for each in found.tools
        ],
        "idle_rules": list(found.idle_rules),
    }

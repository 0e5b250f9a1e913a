"""Policy commands that look at rules: lint, explain and prove."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, show_json
from nacre.cli.exit_codes import FAILURE, OK
from nacre.cli.policy.call_arguments import (
    ARGUMENTS,
    arguments_of,
    place_options,
    tests_of,
)
from nacre.cli.policy.known_tools import definitions_in, pinned_definitions
from nacre.cli.policy.policy_file import file_option, policy_file, policy_in_force, policy_option
from nacre.cli.policy.server_facts import ServerFacts
from nacre.core.errors import InvalidInputError
from nacre.firewall.analysis.explain import Skipped, explain, skipped_rules
from nacre.firewall.analysis.fixtures import read_fixture
from nacre.firewall.analysis.lint import lint
from nacre.firewall.analysis.prove import Proof, Shape, prove
from nacre.firewall.analysis.rule_scope import globs_of
from nacre.firewall.analysis.sample_call import DescribedCall, decide, subject_of
from nacre.firewall.enforce.message import DECIDED_METHODS
from nacre.firewall.rules.globs.glob import is_literal
from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.globs.pattern_forms import is_about_paths
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import Rule, Subject
from nacre.firewall.rules.subjects import kind_of

_NO_BASE = "Assumed: no server has a declared base, so relative paths are asked about."
_OTHERS = "those of servers without a declared base are asked about"


@click.command("lint")
@file_option
@click.option(
    "--tools",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help='JSON with what each server answers to tools/list, such as {"files": [{"name": "read", '
    '"inputSchema": {…}}]}, instead of the pins.',
)
@json_option
@placed
def lint_command(given: Path | None, file: Path | None, *, as_json: bool, place: Place) -> int:
    """Find rules that never match, that others hide, or that say more or less than they seem to.

    Where the tools of your servers are known, their arguments are compared with the rules. No
    advice lets a call through that the policy does not allow. Exit code 1: something was found.
    """
    policy = policy_file(given)
    found = lint(policy, pinned_definitions(place) if file is None else definitions_in(file))
    if as_json:
        show_json(
            [
                {"rule": each.rule, "kind": each.kind, "text": each.text, "hint": each.hint}
                for each in found
            ]
        )
    for each in found if not as_json else ():
        click.echo(str(each))
    if not found:
        click.echo("Nothing looks wrong.", err=True)
    if any(is_about_paths(glob) for rule in policy.rules for glob in _globs(rule)):
        click.echo(_assumed(ServerFacts(place, None, ())), err=True)
    return FAILURE if found else OK


def _assumed(servers: ServerFacts) -> str:
    """Say where the relative paths of the configured servers were taken to begin."""
    bases = [
        f"relative paths of {name} begin at {', '.join(facts.bases)}"
        for name, facts in sorted(servers.configured.items())
        if facts.bases
    ]
    return f"Assumed: {'; '.join([*bases, _OTHERS])}." if bases else _NO_BASE


def _globs(rule: Rule) -> Iterator[str]:
    for test in rule.tests:
        yield from globs_of(test)


@click.command("explain")
@policy_option
@click.option(
    "--fixture",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The call in this file, instead of TOOL.",
)
@click.option("--server", default="", help="The server of the tool.")
@place_options
@click.argument("tool", required=False)
@ARGUMENTS
@json_option
@placed
def explain_command(
    given: Path | None,
    fixture: Path | None,
    server: str,
    home: str | None,
    bases: tuple[str, ...],
    tool: str | None,
    arguments: tuple[str, ...],
    *,
    as_json: bool,
    place: Place,
) -> None:
    """Show which rule decides a call of TOOL, which reading of an argument it saw, and why.

    Write NAME=TEXT, or NAME:=JSON for a number, a list or an object.
    """
    if (tool is None) is (fixture is None):
        raise InvalidInputError("give TOOL with its arguments, or --fixture with a file")
    policy = policy_in_force(given, place)
    servers = ServerFacts(place, home, bases)
    if fixture is not None:
        call = read_fixture(fixture, servers.of(read_fixture(fixture).server))
    else:
        params = {"name": tool, "arguments": arguments_of(arguments)}
        call = DescribedCall("tools/call", params, server, servers.of(server))
    decision = decide(call, policy)
    subject = subject_of(call)
    found = None if subject is None else explain(policy, subject, call.where)
    if found is None or found.decision != decision:  # refused before a rule was asked, or passed
        found = None
    lines = [f"{decision.action}: {decision.text}"] if found is None else found.lines()
    if as_json:
        facts = {"decision": decision.action, "rule": decision.rule, "text": decision.text}
        steps = [_step(each) for each in found.steps] if found else []
        assumed = found.assumed if found else None
        skipped = [_skipped(each) for each in found.skipped] if found else []
        show_json({**facts, "assumed": assumed, "steps": steps, "skipped": skipped})
        return
    for line in lines:
        click.echo(line)


@click.command("prove")
@policy_option
@click.option(
    "--never",
    "name",
    required=True,
    metavar="TOOL",
    help="The tool, or method, of the calls that must never be allowed; globs as in rules.",
)
@click.option("--server", default="**", show_default=True, help="Their server, globs too.")
@place_options
@ARGUMENTS
@json_option
@placed
def prove_command(
    given: Path | None,
    name: str,
    server: str,
    home: str | None,
    bases: tuple[str, ...],
    arguments: tuple[str, ...],
    *,
    as_json: bool,
    place: Place,
) -> int:
    """Show that no call of a shape can be allowed, whatever its arguments, or one that can.

    The shape is all that a rule would catch that denies TOOL with these arguments. NAME=GLOB is
    one argument, such as 'path=/etc/**', and '*=GLOB' is any of them. A name such as '**' stands
    for tools and for resources, prompts and other methods. A call that is allowed is shown as a
    fixture. Exit code 0: none can be allowed. 1: one can, or the command cannot tell.
    """
    policy = policy_in_force(given, place)
    kind = kind_of(name)
    if not (name and server):
        raise InvalidInputError("an empty name is no tool's; '**' is any tool")
    if kind == "method" and not any(matches(name, each) for each in DECIDED_METHODS):
        raise InvalidInputError(
            f"no rule decides about '{name[:80]}', so nothing can be proved; "
            f"rules decide about {', '.join(sorted(DECIDED_METHODS))} and tools"
        )
    shape = Shape(name, server=server, tests=tests_of(arguments), kind=kind)
    proof = _proved(policy, shape, ServerFacts(place, home, bases))
    example = None if proof.counterexample is None else _fixture(proof.counterexample)
    if as_json:
        facts = {"holds": proof.holds, "reason": proof.reason, "rule": proof.rule}
        show_json({**facts, "counterexample": example})
    else:
        said = {True: "proved", False: "not so", None: "cannot tell"}[proof.holds]
        click.echo(f"{said}: {proof.reason}")
        if is_literal(name) and is_literal(server):
            for each in skipped_rules(policy, kind or "tool", name, server):
                click.echo(each.line(), err=True)
        if example is not None:
            click.echo(json.dumps(example, indent=2))
    return OK if proof.holds else FAILURE


def _proved(policy: Policy, shape: Shape, servers: ServerFacts) -> Proof:
    """Prove it for the servers of the shape that are known here, and for any other.

    Links are left out: a proof is about all files that there may be.
    """
    names = [name for name in sorted(servers.configured) if matches(shape.server, name)]
    if is_literal(shape.server):
        places = [servers.of(shape.server)]
    else:
        places = [servers.of(""), *(servers.of(name) for name in names)]
    places = [each._replace(is_local=False, follow=None) for each in places]
    proofs = [prove(policy, shape, each) for each in dict.fromkeys(places)]
    return min(proofs, key=lambda proof: (False, None, True).index(proof.holds))


def _fixture(subject: Subject) -> dict[str, Any]:
    call = {"name": subject.name, "arguments": dict(subject.arguments)}
    is_tool = subject.kind == "tool"
    return {
        "method": "tools/call" if is_tool else subject.name,
        "params": call if is_tool else dict(subject.arguments),
        "server": subject.server,
        "expected": "deny",
    }


def _skipped(each: Skipped) -> dict[str, Any]:
    return {"rule": each.rule, "origin": each.origin, "action": each.action, "server": each.server}


def _step(step: Any) -> dict[str, Any]:
    return {
        "rule": step.rule,
        "origin": step.origin,
        "action": step.action,
        "matched": step.matched,
        "depends_on_base": step.depends,
        "reasons": list(step.reasons),
    }

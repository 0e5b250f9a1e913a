"""The commands `nacre policy lint`, `explain` and `prove`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from nacre.cli.being_options import Place, being_options, given_profile
from nacre.cli.display import json_option, show_json
from nacre.cli.exit_codes import FAILURE, OK
from nacre.cli.policy.call_arguments import (
    ARGUMENTS,
    arguments_of,
    place_options,
    received_option,
    tests_of,
)
from nacre.cli.policy.known_tools import definitions_in, pinned_definitions
from nacre.cli.policy.policy_file import (
    file_option,
    policy_file,
    policy_in_force,
    policy_option,
    profile_named,
)
from nacre.cli.policy.server_facts import ServerFacts
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import asdict, replace
from nacre.firewall.analysis.explain import explain, skipped_rules
from nacre.firewall.analysis.fixtures import read_fixture
from nacre.firewall.analysis.lint import lint
from nacre.firewall.analysis.prove import Proof, Shape, prove
from nacre.firewall.analysis.sample_call import (
    DescribedCall,
    decide,
    read_received,
    subject_of,
)
from nacre.firewall.enforce.message import DECIDED_METHODS
from nacre.firewall.rules.globs.glob import is_literal
from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.globs.pattern_forms import is_about_paths
from nacre.firewall.rules.policy import Policy, kind_of
from nacre.firewall.rules.rule import Subject, Surroundings
from nacre.wiring.settings import Settings

_NO_BASE = "Assumed: no server has a declared base, so relative paths are asked about."
_OTHERS = "those of servers without a declared base are asked about"


@click.command("lint")
@file_option
@click.option(
    "--tools",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help='JSON with the tools/list of each server, such as {"files": [{"name": "read", '
    '"inputSchema": {…}}]}, instead of the pins.',
)
@json_option
@being_options
def lint_command(chosen: Path | None, file: Path | None, *, as_json: bool, place: Place) -> int:
    """Find rules that never match, or match more or less than they seem to.

    If the tools of your servers are known, their arguments are compared with the rules. No advice
    allows a call that the policy does not allow. Exit code 1: something was found.
    """
    policy = policy_file(chosen)
    tools = pinned_definitions(place) if file is None else definitions_in(file)
    findings = lint(policy, tools)
    if as_json:
        keys = ("rule", "origin", "kind", "text", "hint")
        show_json([{key: getattr(finding, key) for key in keys} for finding in findings])
    else:
        for finding in findings:
            click.echo(str(finding))
    if not findings:
        click.echo("Nothing looks wrong.", err=True)
    if any(map(is_about_paths, _globs(policy))):
        click.echo(_assumed(ServerFacts(place, None, ())), err=True)
    return FAILURE if findings else OK


def _assumed(servers: ServerFacts) -> str:
    """Return the assumption about the base folders of the configured servers."""
    bases = [
        f"relative paths of {name} begin at {', '.join(facts.bases)}"
        for name, facts in sorted(servers.configured.items())
        if facts.bases
    ]
    return f"Assumed: {'; '.join([*bases, _OTHERS])}." if bases else _NO_BASE


def _globs(policy: Policy) -> Iterator[str]:
    for rule in policy.rules:
        for test in rule.tests:
            yield from test.globs


@click.command("explain")
@policy_option
@click.option(
    "--fixture",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Explain the call in this file, instead of TOOL.",
)
@click.option("--server", default="", help="The server of the tool.")
@received_option
@click.option(
    "--profile",
    "profile_name",
    callback=given_profile,
    metavar="NAME",
    help="As for a caller in this profile.",
)
@click.option(
    "--kernel",
    is_flag=True,
    help="Print the rights that --confine gives the process of --server; its command, after two "
    "dashes, adds the needs of its runtime.",
)
@place_options
@click.argument("tool", required=False)
@ARGUMENTS
@json_option
@being_options
def explain_command(
    chosen: Path | None,
    fixture: Path | None,
    server: str,
    received: tuple[str, ...],
    profile_name: str,
    home: str | None,
    bases: tuple[str, ...],
    tool: str | None,
    arguments: tuple[str, ...],
    *,
    kernel: bool,
    as_json: bool,
    place: Place,
) -> None:
    """Show which rule decides a call of TOOL, which reading of an argument matched, and why.

    Write NAME=TEXT, or NAME:=JSON for a number, a list or an object.
    """
    if kernel:
        command = (tool, *arguments) if tool is not None else ()
        where = ServerFacts(place, home, bases).of(server)
        settings = Settings.from_environment()._replace(data_folder=place.folder())
        _explain_kernel(
            policy_in_force(chosen, place), server, command, where, settings, as_json=as_json
        )
        return
    if (tool is None) is (fixture is None):
        raise InvalidInputError("give TOOL with its arguments, or --fixture with a file")
    policy = policy_in_force(chosen, place)
    profile = profile_named(policy, profile_name) if profile_name else None
    policy = policy if profile is None else profile.policy
    servers = ServerFacts(place, home, bases)
    if fixture is not None:
        call = read_fixture(fixture, servers.of(read_fixture(fixture).server))
    else:
        params = {"name": tool, "arguments": arguments_of(arguments)}
        call = DescribedCall(
            "tools/call", params, server, servers.of(server), received=read_received(received)
        )
    decision = decide(call, policy, profile)
    subject = subject_of(call)
    explanation = None if subject is None else explain(policy, subject, call.where)
    if explanation is not None and explanation.decision != decision:
        explanation = None  # the call was decided before any rule
    if as_json:
        facts = {"decision": decision.action, "rule": decision.rule, "text": decision.text}
        steps = [_step(step) for step in explanation.steps] if explanation else []
        assumed = explanation.assumed if explanation else None
        skipped = [asdict(rule) for rule in explanation.skipped] if explanation else []
        limits = list(explanation.limits) if explanation else []
        show_json(
            {
                **facts,
                "assumed": assumed,
                "steps": steps,
                "skipped": skipped,
                "limits": limits,
                "otherwise": list(explanation.otherwise) if explanation else [],
            }
        )
        return
    lines = [f"{decision.action}: {decision.text}"] if explanation is None else explanation.lines()
    for line in lines:
        click.echo(line)


def _explain_kernel(
    policy: Policy,
    server: str,
    command: tuple[str, ...],
    where: Surroundings,
    settings: Settings,
    *,
    as_json: bool,
) -> None:
    from nacre.wiring.features.confine import explained_rights

    if not server:
        raise InvalidInputError("--kernel is about the process of one server; name it by --server")
    rights = explained_rights(settings, policy, server, command, where)
    if as_json:
        show_json(asdict(rights))
        return
    for root in rights.roots:
        click.echo(f"{root.access:8}{root.path}  ({root.reason})")
    for port in rights.ports:
        click.echo(f"connect TCP {port.number}  ({port.reason})")
    if not rights.roots and not rights.ports:
        click.echo("no folder and no port")
    for text in rights.unsaid:
        click.echo(f"not enforced by the kernel: {text}")


@click.command("prove")
@policy_option
@click.option(
    "--never",
    "name",
    required=True,
    metavar="TOOL",
    help="The tool or method that must never be allowed; globs as in rules.",
)
@click.option("--server", default="**", show_default=True, help="Its server; globs as in rules.")
@click.option(
    "--tainted/--untainted",
    default=None,
    help="Only calls after results of external servers, or only those before any.",
)
@place_options
@ARGUMENTS
@json_option
@being_options
def prove_command(
    chosen: Path | None,
    name: str,
    server: str,
    home: str | None,
    bases: tuple[str, ...],
    arguments: tuple[str, ...],
    *,
    tainted: bool | None,
    as_json: bool,
    place: Place,
) -> int:
    """Prove that no call of a shape can be allowed, or show one that can.

    The shape matches the same calls as a rule that denies TOOL with these arguments. NAME=GLOB is
    one argument, such as 'path=/etc/**', and '*=GLOB' is any argument. A name such as '**' matches
    tools, resources, prompts and other methods. An allowed call is shown as a fixture. Exit code
    0: none can be allowed. 1: one can, or the command cannot tell.
    """
    policy = policy_in_force(chosen, place)
    kind = kind_of(name)
    if not (name and server):
        raise InvalidInputError("an empty name matches no tool; '**' matches any")
    if kind == "method" and not any(matches(name, method) for method in DECIDED_METHODS):
        raise InvalidInputError(
            f"no rule decides about '{name[:80]}', so nothing can be proved; "
            f"rules decide about {', '.join(sorted(DECIDED_METHODS))} and tools"
        )
    shape = Shape(name, server=server, tests=tests_of(arguments), kind=kind, tainted=tainted)
    proof = _proved(policy, shape, ServerFacts(place, home, bases))
    example = None if proof.counterexample is None else _fixture(proof.counterexample)
    if as_json:
        facts = {"holds": proof.holds, "reason": proof.reason, "rule": proof.rule}
        show_json({**facts, "counterexample": example})
    else:
        result = {True: "proved", False: "not so", None: "cannot tell"}[proof.holds]
        click.echo(f"{result}: {proof.reason}")
        if is_literal(name) and is_literal(server):
            for skipped in skipped_rules(policy, kind or "tool", name, server):
                click.echo(skipped.line(), err=True)
        if example is not None:
            click.echo(json.dumps(example, indent=2))
    return OK if proof.holds else FAILURE


def _proved(policy: Policy, shape: Shape, servers: ServerFacts) -> Proof:
    """Prove a shape for the known servers that it matches, and for any other.

    Links are not followed, because a proof is about all possible files.
    """
    names = [name for name in sorted(servers.configured) if matches(shape.server, name)]
    if is_literal(shape.server):
        places = [servers.of(shape.server)]
    else:
        places = [servers.of(""), *(servers.of(name) for name in names)]
    places = [facts._replace(is_local=False, follow=None) for facts in places]
    proofs = [prove(policy, shape, facts) for facts in dict.fromkeys(places)]
    proofs += _proved_in_profiles(policy, shape, servers)
    return min(proofs, key=lambda proof: (False, None, True).index(proof.holds))


def _proved_in_profiles(policy: Policy, shape: Shape, servers: ServerFacts) -> Iterator[Proof]:
    """Prove a shape for callers in each profile, on each of its servers."""
    for profile in policy.profiles:
        for server in profile.servers:
            if not matches(shape.server, server):
                continue
            where = servers.of(server)._replace(is_local=False, follow=None)
            proof = prove(profile.policy, replace(shape, server=server), where)
            call = proof.counterexample
            if call and call.kind == "tool" and not profile.has_tool(server, call.name):
                reason = f"{proof.reason}, and whether the profile has such a tool is not known"
                proof = Proof(None, f"in the profile {profile.name}: {reason}", proof.rule)
            yield proof


def _fixture(subject: Subject) -> dict[str, Any]:
    call = {"name": subject.name, "arguments": dict(subject.arguments)}
    is_tool = subject.kind == "tool"
    return {
        "method": "tools/call" if is_tool else subject.name,
        "params": call if is_tool else dict(subject.arguments),
        "server": subject.server,
        **({"received": sorted(subject.received)} if subject.received else {}),
        "expected": "deny",
    }


def _step(step: Any) -> dict[str, Any]:
    return {
        "rule": step.rule,
        "origin": step.origin,
        "action": step.action,
        "matched": step.matched,
        "depends_on_base": step.depends,
        "reasons": list(step.reasons),
    }

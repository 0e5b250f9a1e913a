"""The command `nacre policy test`: decides the calls in files, and compares the decisions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import click

from nacre.cli.display import json_option, show_json
from nacre.cli.exit_codes import FAILURE, OK
from nacre.cli.policy.call_arguments import facts_of, place_options
from nacre.cli.policy.policy_file import file_option, policy_file, why
from nacre.core.errors import InvalidInputError
from nacre.firewall.analysis.fixtures import FixtureResult, fixtures_in, run_fixtures
from nacre.firewall.approvals.form import printable
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import ACTIONS, Action


def junit(policy: Policy, results: Sequence[FixtureResult], reasons: Sequence[str]) -> bytes:
    """Return a report with one test case per fixture; one without an expectation passes."""
    suite = Xml.Element(
        "testsuite",
        name=f"nacre policy {printable(policy.source)}",
        tests=str(len(results)),
        failures=str(sum(result.is_wrong for result in results)),
        errors="0",
        skipped="0",
    )
    for result, reason in zip(results, reasons, strict=True):
        case = Xml.SubElement(
            suite,
            "testcase",
            classname=printable(result.fixture.parent.as_posix()),
            name=printable(result.fixture.stem),
        )
        outcome = f"{result.decision.action} ({printable(reason)})"
        if result.is_wrong:
            message = f"expected {result.expected}, got {outcome}"
            Xml.SubElement(case, "failure", message=message, type="decision")
        else:
            Xml.SubElement(case, "system-out").text = outcome
    document = Xml.Element("testsuites")
    document.append(suite)
    Xml.indent(document)
    return bytes(Xml.tostring(document, encoding="utf-8", xml_declaration=True)) + b"\n"


_PATH = click.Path(path_type=Path)


@click.command("test")
@file_option
@click.option(
    "--fixture", "files", metavar="FILE", type=_PATH, multiple=True, help="A fixture file."
)
@click.option(
    "--fixture-dir", "folder", metavar="DIR", type=_PATH, help="All *.json files in and below DIR."
)
@click.option(
    "--expect",
    type=click.Choice(ACTIONS),
    help="The expected decision for every call; overrides the files.",
)
@click.option("--junit", "report", metavar="FILE", type=_PATH, help="Also write JUnit XML.")
@place_options
@json_option
def test_command(
    chosen: Path | None,
    files: tuple[Path, ...],
    folder: Path | None,
    expect: Action | None,
    report: Path | None,
    home: str | None,
    bases: tuple[str, ...],
    *,
    as_json: bool,
) -> int:
    """Decide the calls in fixture files, and compare with the expected decisions.

    A fixture is a JSON file with the method and params of a 'tools/call' request. It may also have
    'server', 'expected' (allow, deny or prompt), 'received' (a list of origins, such as
    "external:web"), and 'where' (home, base, folds_case, is_local), which overrides --home and
    --base. Exit code 0: every decision is as expected. 1: at least one
    is not. 2 or 3: the policy or a fixture is wrong or missing, and nothing was decided.
    """
    if not files and folder is None:
        raise InvalidInputError("there is nothing to test; give --fixture or --fixture-dir")
    policy = policy_file(chosen)
    fixtures = [*files, *(fixtures_in(folder) if folder else ())]
    results = run_fixtures(policy, fixtures, expect, facts_of(home, bases))
    reasons = [why(policy, result.decision) for result in results]
    if report is not None:
        _write(report, junit(policy, results, reasons))
    if as_json:
        facts = zip(results, reasons, strict=True)
        show_json([_facts(policy, result, reason) for result, reason in facts])
    else:
        for result, reason in zip(results, reasons, strict=True):
            click.echo(_line(result, reason))
    failed = sum(result.is_wrong for result in results)
    unchecked = sum(result.expected is None for result in results)
    passed = len(results) - failed - unchecked
    click.echo(f"{passed} as expected, {failed} not, {unchecked} without expectation", err=True)
    return FAILURE if failed else OK


def _line(result: FixtureResult, reason: str) -> str:
    action = result.decision.action
    mark = "FAIL" if result.is_wrong else "ok" if result.expected else "-"
    outcome = f"{action}, expected {result.expected}" if result.is_wrong else action
    return f"{mark:<4}  {printable(str(result.fixture))}: {outcome} ({printable(reason)})"


def _facts(policy: Policy, result: FixtureResult, reason: str) -> dict[str, Any]:
    return {
        "fixture": str(result.fixture),
        "decision": result.decision.action,
        "expected": result.expected,
        "as_expected": None if result.expected is None else not result.is_wrong,
        "rule": result.decision.rule,
        "description": result.decision.description,
        "reason": reason,
        "policy": policy.digest,
    }


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InvalidInputError(
            f"{path}: cannot be written ({error.strerror}); choose another place for --junit"
        ) from error

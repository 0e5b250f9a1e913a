"""The command `nacre policy test`: calls in files, decided and compared."""

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
from nacre.firewall.analysis.fixtures import Tried, fixtures_in, tried
from nacre.firewall.approvals.form import printable
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import ACTIONS, Action


def junit(policy: Policy, results: Sequence[Tried], reasons: Sequence[str]) -> bytes:
    """Return one test case for each fixture; one without an expectation counts as passed."""
    suite = Xml.Element(
        "testsuite",
        name=f"nacre policy {printable(policy.source)}",
        tests=str(len(results)),
        failures=str(sum(each.is_wrong for each in results)),
        errors="0",
        skipped="0",
    )
    for each, reason in zip(results, reasons, strict=True):
        case = Xml.SubElement(
            suite,
            "testcase",
            classname=printable(each.fixture.parent.as_posix()),
            name=printable(each.fixture.stem),
        )
        said = f"{each.decision.action} ({printable(reason)})"
        if each.is_wrong:
            message = f"expected {each.expected}, got {said}"
            Xml.SubElement(case, "failure", message=message, type="decision")
        else:
            Xml.SubElement(case, "system-out").text = said
    document = Xml.Element("testsuites")
    document.append(suite)
    Xml.indent(document)
    return bytes(Xml.tostring(document, encoding="utf-8", xml_declaration=True)) + b"\n"


_PATH = click.Path(path_type=Path)


@click.command("test")
@file_option
@click.option("--fixture", "files", metavar="FILE", type=_PATH, multiple=True, help="One call.")
@click.option(
    "--fixture-dir", "folder", metavar="DIR", type=_PATH, help="All *.json files in and below DIR."
)
@click.option(
    "--expect",
    type=click.Choice(ACTIONS),
    help="What should happen to every call, whatever the files say.",
)
@click.option("--junit", "report", metavar="FILE", type=_PATH, help="Write JUnit XML too.")
@place_options
@json_option
def test_command(
    given: Path | None,
    files: tuple[Path, ...],
    folder: Path | None,
    expect: Action | None,
    report: Path | None,
    home: str | None,
    bases: tuple[str, ...],
    *,
    as_json: bool,
) -> int:
    """Decide the calls in fixture files, and compare with what they expect.

    A fixture is a JSON file: a 'tools/call' request with its method and params, if wanted with
    'server', with 'expected' (allow, deny or prompt), and with 'where' (home, base, folds_case,
    is_local), which comes before --home and --base. Exit code 0: every decision is as
    expected, or nothing was. 1: at least one is not. 2 or 3: the policy or a fixture is wrong
    or missing, and nothing was decided.
    """
    if not files and folder is None:
        raise InvalidInputError("there is nothing to test; give --fixture or --fixture-dir")
    policy = policy_file(given)
    fixtures = [*files, *(fixtures_in(folder) if folder else ())]
    results = tried(policy, fixtures, expect, facts_of(home, bases))
    reasons = [why(policy, each.decision) for each in results]
    if report is not None:
        _write(report, junit(policy, results, reasons))
    if as_json:
        facts = zip(results, reasons, strict=True)
        show_json([_facts(policy, each, reason) for each, reason in facts])
    else:
        for each, reason in zip(results, reasons, strict=True):
            click.echo(_line(each, reason))
    wrong = sum(each.is_wrong for each in results)
    silent = sum(each.expected is None for each in results)
    right = len(results) - wrong - silent
    click.echo(f"{right} as expected, {wrong} not, {silent} without expectation", err=True)
    return FAILURE if wrong else OK


def _line(each: Tried, reason: str) -> str:
    action = each.decision.action
    mark = "FAIL" if each.is_wrong else "ok" if each.expected else "-"
    said = f"{action}, expected {each.expected}" if each.is_wrong else action
    return f"{mark:<4}  {printable(str(each.fixture))}: {said} ({printable(reason)})"


def _facts(policy: Policy, each: Tried, reason: str) -> dict[str, Any]:
    return {
        "fixture": str(each.fixture),
        "decision": each.decision.action,
        "expected": each.expected,
        "as_expected": None if each.expected is None else not each.is_wrong,
        "rule": each.decision.rule,
        "description": each.decision.description,
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

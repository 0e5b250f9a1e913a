"""The command `nacre doctor`: checks, each with what to do where something is wrong."""

import platform
from dataclasses import asdict
from pathlib import Path

import click

from nacre import __version__
from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, show_json
from nacre.cli.exit_codes import FAILURE, OK
from nacre.cli.finding import Finding, attempt
from nacre.cli.operate.doctor_checks import check_laptop, check_stack
from nacre.cli.serve.serve import PORT
from nacre.cli.wrap.client_files import check_clients
from nacre.cli.wrap.wrap_checks import check_wrapped
from nacre.wiring.settings import Settings, unknown_variables


@click.command()
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help=f"Port that the server is to listen on. [default: of the server that runs, else {PORT}]",
)
@json_option
@placed
def doctor(port: int | None, *, as_json: bool, place: Place) -> int:
    """Check that everything works, and say what to do where it does not.

    Ends with exit code 1 when something is broken.
    """
    findings = _findings(place, port)
    if as_json:
        show_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            click.echo(f"{finding.state:<4}  {finding.check}: {finding.found}")
            if finding.advice:
                click.echo(f"      hint: {finding.advice}")
    return FAILURE if any(finding.state == "fail" for finding in findings) else OK


def _findings(place: Place, port: int | None) -> list[Finding]:
    python = f"Nacre {__version__} on Python {platform.python_version()}"
    findings = [Finding("version", "ok", python)]
    settings = attempt("settings", _check_settings)
    findings += settings
    if settings[0].state == "fail":
        return findings
    findings += check_stack(place) if place.stack else check_laptop(place, port)
    findings += attempt("clients", lambda: check_clients(Path.home()))
    if place.stack:
        return findings
    return findings + attempt("wrapped servers", lambda: check_wrapped(place))


def _check_settings() -> list[Finding]:
    Settings.from_environment()
    unknown = unknown_variables()
    if not unknown:
        return [Finding("settings", "ok", "the environment holds no wrong value")]
    return [
        Finding(
            "settings",
            "warn",
            f"{name} is no setting, so it has no effect",
            f"did you mean {meant}?" if meant else "see docs/reference/settings.md",
        )
        for name, meant in unknown
    ]

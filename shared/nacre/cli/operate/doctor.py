"""The command `nacre doctor`: checks, with advice for each problem."""

import platform

import click

from nacre import __version__
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json
from nacre.cli.exit_codes import FAILURE, OK
from nacre.cli.operate.client_checks import check_clients, check_wrapped
from nacre.cli.operate.doctor_checks import check_laptop, check_stack
from nacre.cli.operate.finding import Finding, attempt
from nacre.cli.operate.network_check import check_network
from nacre.cli.operate.service_check import check_service
from nacre.cli.operate.version_check import check_running_versions
from nacre.cli.serve.serve import PORT
from nacre.core.lazy_dataclasses import asdict
from nacre.wiring.settings import Settings, unknown_variables


@click.command()
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help=f"Port of the server. [default: that of the running server, else {PORT}]",
)
@click.option(
    "--live",
    "is_live",
    is_flag=True,
    help="With --stack: check its resources in AWS and what it answers, after a deployment.",
)
@json_option
@being_options
def doctor(port: int | None, *, is_live: bool, as_json: bool, place: Place) -> int:
    """Find problems, and show how to fix them.

    The exit code is 1 if there is a problem.
    """
    if is_live and not place.stack:
        raise click.UsageError("--live needs --stack")
    findings = _findings(place, port, is_live=is_live)
    if as_json:
        show_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            click.echo(f"{finding.state:<4}  {finding.check}: {finding.found}")
            if finding.advice:
                click.echo(f"      hint: {finding.advice}")
    return FAILURE if any(finding.state == "fail" for finding in findings) else OK


def _findings(place: Place, port: int | None, *, is_live: bool) -> list[Finding]:
    python = f"Nacre {__version__} on Python {platform.python_version()}"
    findings = [Finding("version", "ok", python)]
    settings = attempt("settings", _check_settings)
    findings += settings
    if settings[0].state == "fail":
        return findings
    findings += attempt("network", check_network)
    if place.stack:
        findings += check_stack(place, is_live=is_live)
    else:
        findings += check_laptop(place, port)
    findings += attempt("clients", lambda: check_clients(place))
    if place.stack:
        return findings
    findings += attempt("running version", lambda: check_running_versions(place))
    findings += attempt("service", lambda: check_service(place))
    return findings + attempt("wrapped servers", lambda: check_wrapped(place))


def _check_settings() -> list[Finding]:
    Settings.from_environment()
    unknown = unknown_variables()
    if not unknown:
        return [Finding("settings", "ok", "every setting has a valid value")]
    return [
        Finding(
            "settings",
            "warn",
            f"{name} is not a setting, so it has no effect",
            advice,
        )
        for name, advice in unknown
    ]

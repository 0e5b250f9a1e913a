"""The commands `nacre policy push`, `pull` and `history`: versions in the item store."""

import getpass
from pathlib import Path

import click

from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import iso_time, json_option, show_json, show_list
from nacre.core.clock import system_clock
from nacre.core.errors import ConfigurationError, NotFoundError
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.stored_policy import GLOBAL
from nacre.firewall.policies.version_store import PolicyVersions, Version
from nacre.wiring.compose import Home
from nacre.wiring.features.policies import policy_path
from nacre.wiring.settings import Settings

_SHORT = 12


@click.command("push")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--based-on",
    type=click.IntRange(0),
    help="The version that FILE is based on. Needed if a version is in force.",
)
@click.option("--note", default="", help="A note about the change, for the history.")
@json_option
@being_options
def push_command(
    file: Path, based_on: int | None, note: str, *, as_json: bool, place: Place
) -> None:
    """Put FILE in force, as a new version.

    With --being, it is that Being's own policy, else the policy of all Beings without their own.
    A policy that does not load is refused, and so is one that is not based on the version in
    force.
    """
    text = _text(file)
    loaded = load_policy(text, source=str(file))
    home = place.open()
    versions, scope = _versions(home), _scope(home, place)
    before = versions.current(scope)
    if before is not None and before.text == text:
        _show(before, as_json=as_json)
        click.echo(f"Version {before.number} of {scope} is the same; nothing was pushed.", err=True)
        return
    pushed = versions.push(
        scope,
        text,
        source=str(file),
        based_on=based_on or 0,
        by=getpass.getuser(),
        note=note,
    )
    _show(pushed, as_json=as_json)
    parts = counted(len(loaded.rules), "rule")
    if loaded.limits:
        parts += f" and {counted(len(loaded.limits), 'limit')}"
    click.echo(f"Version {pushed.number} of {scope}, {parts}, is in force.", err=True)
    path, is_named = policy_path(Settings.from_environment())
    if not place.stack and (is_named or path.exists()):
        click.echo(f"On this machine the file {path} takes precedence.", err=True)


@click.command("pull")
@click.option("--version", "number", type=click.IntRange(1), help="An earlier version.")
@click.option(
    "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write it to FILE instead."
)
@being_options
def pull_command(number: int | None, output: Path | None, *, place: Place) -> None:
    """Show the policy in force as its owner wrote it, or an earlier version."""
    home = place.open()
    versions, scope = _versions(home), _scope(home, place)
    version = versions.version(scope, number) if number else versions.current(scope)
    if version is None:
        raise NotFoundError(f"no policy was pushed for {scope}; push one with 'nacre policy push'")
    if output is None:
        click.echo(version.text, nl=False)
    else:
        try:
            output.write_text(version.text, encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(f"{output}: cannot be written ({error.strerror})") from error
    click.echo(f"Version {version.number} of {scope}, {version.digest[:_SHORT]}.", err=True)


@click.command("history")
@json_option
@being_options
def history_command(*, as_json: bool, place: Place) -> None:
    """List the versions, the newest first. The newest is in force."""
    home = place.open()
    scope = _scope(home, place)
    versions = list(_versions(home).history(scope))
    head = ("VERSION", "PUSHED", "BY", "DIGEST", "NOTE")
    empty = f"No policy was pushed for {scope}."
    show_list(
        [_facts(version) for version in versions],
        head,
        map(_row, versions),
        as_json=as_json,
        empty=empty,
    )


def _versions(home: Home) -> PolicyVersions:
    return PolicyVersions(home.data, clock=system_clock)


def _scope(home: Home, place: Place) -> str:
    return place.choose(home).being_id if place.being else GLOBAL


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFoundError(f"{file}: there is no such file") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{file}: is not text in UTF-8") from None
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read ({error.strerror})") from error


def _show(version: Version, *, as_json: bool) -> None:
    if as_json:
        show_json(_facts(version))
    else:
        click.echo(version.number)


def _facts(version: Version) -> dict[str, str | int]:
    return {
        "scope": version.scope,
        "version": version.number,
        "digest": version.digest,
        "pushed": iso_time(version.pushed),
        "by": version.by,
        "note": version.note,
    }


def _row(version: Version) -> tuple[str, ...]:
    fields = (str(version.number), iso_time(version.pushed), version.by)
    return (*fields, version.digest[:_SHORT], version.note or "-")

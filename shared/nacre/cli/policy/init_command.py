"""The command `nacre policy init`: a first policy, with comments."""

import json
import sys
from pathlib import Path

import click

from nacre.cli.being_options import Place, placed
from nacre.cli.display import show_table
from nacre.cli.exit_codes import OK, REFUSED
from nacre.cli.policy.policy_file import policy_in_force
from nacre.cli.policy.tool_coverage import pinned_tools
from nacre.core.errors import ConfigurationError, ConflictError, InvalidInputError
from nacre.core.own_server_name import OWN
from nacre.firewall.analysis.first_policy import KnownTool, changes, denied_arguments, policy_for
from nacre.firewall.approvals.form import printable
from nacre.firewall.pins import GLOBAL, Pin, Pins
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.packs import PACKS, Pack, text_of
from nacre.firewall.rules.policy import Policy
from nacre.wiring.data_folder import DATABASE
from nacre.wiring.features.policies import policy_path
from nacre.wiring.settings import Settings


@click.command("init")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--pack",
    type=click.Choice(PACKS),
    help="Write a policy that Nacre ships: what holds where nobody wrote one, or the same with "
    "questions before a Being changes who it is and what rules it follows, or deletes.",
)
@click.option(
    "--from-servers",
    is_flag=True,
    help="Write one rule for each tool that your servers have listed, which asks about it.",
)
@click.option(
    "--allow-reading",
    is_flag=True,
    help="With --from-servers: allow tools that say that they only read. A server says this "
    "about itself.",
)
@click.option("--yes", is_flag=True, help="Put it in force without being asked.")
@placed
def init_command(
    file: Path | None,
    pack: Pack | None,
    *,
    from_servers: bool,
    allow_reading: bool,
    yes: bool,
    place: Place,
) -> int:
    """Write a first policy with comments to FILE.

    Without FILE it goes where it counts on this machine: NACRE_POLICY, or
    ~/.config/nacre/policy.toml. Then you see first which of your tools' calls it treats otherwise
    than the policy in force, and are asked. A file that is there is never overwritten.
    """
    if place.stack:
        raise InvalidInputError("init writes a file on this machine; leave --stack out")
    if from_servers and pack:
        raise InvalidInputError("--pack and --from-servers are two policies; give one of them")
    if allow_reading and not from_servers:
        raise InvalidInputError("--allow-reading goes with --from-servers; give both")
    counting = policy_path(Settings.from_environment())[0]
    path = file or counting
    if path.exists():
        raise ConflictError(f"{path} is there already, and stays as it is; name another file")
    if from_servers:
        tools = _listed(place)
        if not tools:
            click.echo("No server has listed its tools yet; start your client first.", err=True)
        text = policy_for(tools, allow_reading=allow_reading)
    else:
        text = text_of(pack or "starter")
    policy = load_policy(text, source=str(path))
    if path.absolute() == counting.absolute() and not _agreed(policy, place, yes=yes):
        click.echo("Nothing was written.", err=True)
        return REFUSED
    _write(path, text)
    click.echo(path)
    click.echo("Change its rules, then try them with 'nacre policy test'.", err=True)
    return OK


def _agreed(policy: Policy, place: Place, *, yes: bool) -> bool:
    """Show what the policy changes, and ask where it changes something."""
    changed = changes(pinned_tools(place), policy_in_force(None, place), policy)
    denied = denied_arguments(policy)
    for text in denied:
        click.echo(f"Denied in every call: {printable(text)}", err=True)
    if not changed:
        other = "all other calls" if denied else "the calls"
        click.echo(f"It treats {other} of your tools as the policy in force does.", err=True)
        return yes or _confirmed()
    rows = [
        (printable(each.server), printable(each.tool), each.before, each.after) for each in changed
    ]
    show_table(("SERVER", "TOOL", "CALLS ARE", "WILL BE"), rows, err=True)
    if yes:
        return True
    if not sys.stdin.isatty():
        raise InvalidInputError(
            "this policy would count within a second and change the calls above; give --yes, or "
            "write it to another FILE first"
        )
    return click.confirm("Put this policy in force?", err=True)


def _confirmed() -> bool:
    """Ask; where nobody can answer, what changes no known call is in force."""
    try:
        return click.confirm("Put this policy in force?", default=True, err=True)
    except (click.Abort, OSError):  # at its end, or closed
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        return True


def _listed(place: Place) -> dict[str, list[KnownTool]]:
    """Return the tools that servers other than our own have listed."""
    if not (Path(place.folder()) / DATABASE).exists():
        return {}
    pins = Pins(place.open().data, GLOBAL)
    return {
        server: [_known(pin) for pin in pins.of(server).values()]
        for server in pins.servers()
        if server != OWN
    }


def _known(pin: Pin) -> KnownTool:
    try:
        definition = json.loads(pin.before() or pin.after() or "{}")
    except ValueError:
        definition = {}
    hints = definition.get("annotations") if isinstance(definition, dict) else None
    reads = isinstance(hints, dict) and hints.get("readOnlyHint") is True
    return KnownTool(pin.name, says_it_reads=reads)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise ConflictError(
            f"{path} is there already, and stays as it is; name another file"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be written ({error.strerror})") from error

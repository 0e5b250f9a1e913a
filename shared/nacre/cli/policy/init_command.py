"""The command `nacre policy init`: a first policy, with comments."""

import json
import sys
from pathlib import Path

import click

from nacre.cli.being_options import Place, being_options
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
    help="Write a policy that Nacre ships: the built-in one; 'careful', which also asks before a "
    "Being changes its soul or its rules, or deletes something; or 'guarded', which asks after "
    "content of other servers or an imported memory has come in.",
)
@click.option(
    "--from-servers",
    is_flag=True,
    help="Write one rule for each tool that your servers have listed; it asks about each call.",
)
@click.option(
    "--allow-reading",
    is_flag=True,
    help="With --from-servers: allow tools that claim to only read. The claim comes from the "
    "server.",
)
@click.option("--yes", is_flag=True, help="Put it in force without asking.")
@being_options
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

    Without FILE, it is written to the policy file of this machine: NACRE_POLICY, or
    ~/.config/nacre/policy.toml. Then the command first shows the calls of your tools that it
    decides differently from the policy in force, and asks. An existing file is never overwritten.
    """
    if place.stack:
        raise InvalidInputError("init writes a file on this machine; leave out --stack")
    if from_servers and pack:
        raise InvalidInputError("--pack and --from-servers are two policies; give only one")
    if allow_reading and not from_servers:
        raise InvalidInputError("--allow-reading goes with --from-servers; give both")
    default = policy_path(Settings.from_environment())[0]
    path = file or default
    if path.exists():
        raise _already_exists(path)
    if from_servers:
        tools = _listed_tools(place)
        if not tools:
            text = (
                "No server has listed its tools yet; start your client, or run"
                " 'nacre server check NAME', first."
            )
            click.echo(text, err=True)
        text = policy_for(tools, allow_reading=allow_reading)
    else:
        text = text_of(pack or "starter")
    policy = load_policy(text, source=str(path))
    if path.absolute() == default.absolute() and not _is_confirmed(policy, place, yes=yes):
        click.echo("Nothing was written.", err=True)
        return REFUSED
    _write(path, text)
    click.echo(path)
    click.echo("Change its rules, then try them with 'nacre policy test'.", err=True)
    return OK


def _is_confirmed(policy: Policy, place: Place, *, yes: bool) -> bool:
    """Show the changes that the policy makes, and ask for confirmation."""
    changed = changes(pinned_tools(place), policy_in_force(None, place), policy)
    denied = denied_arguments(policy)
    for text in denied:
        click.echo(f"Denied in every call: {printable(text)}", err=True)
    if not changed:
        calls = "all other calls" if denied else "all calls"
        click.echo(f"It decides {calls} of your tools as the policy in force does.", err=True)
        return yes or _ask_without_changes()
    rows = [
        (printable(change.server), printable(change.tool), change.before, change.after)
        for change in changed
    ]
    show_table(("SERVER", "TOOL", "CALLS ARE", "WILL BE"), rows, err=True)
    if yes:
        return True
    if not sys.stdin.isatty():
        raise InvalidInputError(
            "this policy would be in force within a second and change the calls above; give --yes,"
            " or write it to another FILE first"
        )
    return click.confirm("Put this policy in force?", err=True)


def _ask_without_changes() -> bool:
    """Ask; without a terminal the answer is yes, because no known call changes."""
    try:
        return click.confirm("Put this policy in force?", default=True, err=True)
    except (click.Abort, OSError):  # standard input has ended or is closed
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        return True


def _listed_tools(place: Place) -> dict[str, list[KnownTool]]:
    """Return the tools that servers other than Nacre have listed."""
    if not (Path(place.folder()) / DATABASE).exists():
        return {}
    pins = Pins(place.open().data, GLOBAL)
    return {
        server: [_tool(pin) for pin in pins.of(server).values()]
        for server in pins.servers()
        if server != OWN
    }


def _tool(pin: Pin) -> KnownTool:
    try:
        definition = json.loads(pin.before() or pin.after() or "{}")
    except ValueError:
        definition = {}
    hints = definition.get("annotations") if isinstance(definition, dict) else None
    reads = isinstance(hints, dict) and hints.get("readOnlyHint") is True
    return KnownTool(pin.name, says_it_reads=reads)


def _already_exists(path: Path) -> ConflictError:
    return ConflictError(f"{path} already exists, and is not overwritten; name another file")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _already_exists(path) from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be written ({error.strerror})") from error

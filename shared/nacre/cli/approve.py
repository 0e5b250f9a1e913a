"""The command `nacre approve`: what a server's tools were, what they are now, and a yes."""

import difflib
import json

import click

from nacre.cli.display import json_option, show_json
from nacre.cli.outcome import OK, REFUSED
from nacre.cli.place import Place, placed
from nacre.errors import NotFoundError
from nacre.gateway.catalogue import StoredCatalogue, release
from nacre.policy.pins import GLOBAL, Pin, Pins


@click.command()
@click.argument("server", required=False)
@click.argument("tools", nargs=-1)
@click.option("--yes", is_flag=True, help="Trust them without being asked.")
@json_option
@placed
def approve(
    server: str | None, tools: tuple[str, ...], *, yes: bool, as_json: bool, place: Place
) -> int:
    """Look at the tools of SERVER that are new or have changed, and trust them.

    Until then they are not listed and cannot be called. TOOLS narrows it down. Without
    SERVER, list the servers whose tools wait. With --json nothing is asked and, unless
    --yes is there, nothing is trusted.
    """
    table = place.open().data
    pins = Pins(table, GLOBAL)
    if server is None:
        return _list(pins, as_json=as_json)
    waiting = _waiting(pins, server, tools)
    if as_json:
        show_json([_facts(pin) for pin in waiting])
    elif not waiting:
        click.echo(f"No tool of {server} waits.", err=True)
    else:
        for pin in waiting:
            _show(pin)
    if not waiting or (as_json and not yes):
        return OK
    if not yes and not click.confirm(f"Trust these {len(waiting)} tools?", err=True):
        click.echo("Nothing was changed.", err=True)
        return REFUSED
    pins.approve(server, waiting)
    release(StoredCatalogue(lambda: table), server, [pin.name for pin in waiting])
    click.echo(f"Trusted {len(waiting)} tools of {server}.", err=True)
    return OK


def _list(pins: Pins, *, as_json: bool) -> int:
    found = {
        server: sorted(pin.name for pin in pins.of(server).values() if pin.state != "trusted")
        for server in pins.servers()
    }
    if as_json:
        show_json(found)
        return OK
    for server, names in found.items():
        shown = ", ".join(json.dumps(name)[1:-1] for name in names)
        click.echo(f"{server}  {shown or 'nothing waits'}")
    if not found:
        click.echo("No server has listed its tools yet.", err=True)
    return OK


def _waiting(pins: Pins, server: str, tools: tuple[str, ...]) -> list[Pin]:
    known = pins.of(server)
    if not known and server not in pins.servers():
        raise NotFoundError(f"no server '{server}' has listed its tools; see 'nacre approve'")
    for name in tools:
        if name not in known:
            raise NotFoundError(f"{server} has no tool '{name}'; see 'nacre approve {server}'")
    return [
        pin
        for name, pin in sorted(known.items())
        if pin.state != "trusted" and (not tools or name in tools)
    ]


def _show(pin: Pin) -> None:
    """Print the difference; JSON escapes what a terminal would act on."""
    click.echo(f"{json.dumps(pin.name)[1:-1]}: {pin.state}")
    if not pin.waiting_definition:
        click.echo("  (its definition is too long to be shown)")
        return
    before, after = pin.before().splitlines(), pin.after().splitlines()
    for line in difflib.unified_diff(before, after, "trusted", "now", lineterm=""):
        click.echo(f"  {line}")


def _facts(pin: Pin) -> dict[str, object]:
    return {
        "tool": pin.name,
        "state": pin.state,
        "trusted": json.loads(pin.before() or "null"),
        "now": json.loads(pin.after() or "null"),
    }

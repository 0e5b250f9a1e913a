"""The command `nacre approve`: review the new and changed tools of a server, and trust them."""

import difflib
import json
from shlex import quote

import click

from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json
from nacre.cli.exit_codes import OK, REFUSED
from nacre.core.errors import NotFoundError
from nacre.firewall.pins import GLOBAL, Pin, Pins
from nacre.gateway.catalogue.store import StoredCatalogue, release
from nacre.gateway.qualified_names import alias_of


@click.command()
@click.argument("server", required=False)
@click.argument("names", nargs=-1)
@click.option("--yes", is_flag=True, help="Trust them without asking.")
@json_option
@being_options
def approve(
    server: str | None, names: tuple[str, ...], *, yes: bool, as_json: bool, place: Place
) -> int:
    """Review new and changed tools of SERVER, and trust them.

    Until then, clients neither see nor use them. The same holds for prompts (`prompt:NAME`),
    resources (`resource:URI`), resource templates (`template:URI`) and the server's
    `instructions`. NAMES limits the review to these. Without SERVER, list the servers and what
    waits. With --json, the command does not ask, and trusts nothing unless you give --yes.
    """
    table = place.open().data
    pins = Pins(table, GLOBAL)
    if server is None:
        return _list(pins, as_json=as_json)
    if server not in pins.servers() and alias_of(server) in pins.servers():
        server = alias_of(server)  # the name that was given to 'nacre server add'
    waiting = _waiting(pins, server, names)
    if as_json:
        show_json([_facts(pin) for pin in waiting])
    elif not waiting:
        click.echo(f"Nothing of {server} waits for approval.", err=True)
    else:
        for pin in waiting:
            _show(pin)
    if not waiting or (as_json and not yes):
        return OK
    if not yes and not click.confirm(f"Trust {_counted(waiting)}?", err=True):
        click.echo("Nothing was changed.", err=True)
        return REFUSED
    pins.approve(server, waiting)
    release(StoredCatalogue(lambda: table), server, [pin.label for pin in waiting])
    click.echo(f"Trusted {_counted(waiting)} of {server}.", err=True)
    return OK


def _list(pins: Pins, *, as_json: bool) -> int:
    waiting = {
        server: sorted(pin.label for pin in pins.every(server).values() if pin.state != "trusted")
        for server in pins.servers()
    }
    if as_json:
        show_json(waiting)
        return OK
    for server, names in waiting.items():
        labels = ", ".join(json.dumps(name)[1:-1] for name in names)
        click.echo(f"{server}  {labels or 'nothing waits'}")
    if not waiting:
        click.echo("No server has listed anything yet.", err=True)
    return OK


def _counted(pins: list[Pin]) -> str:
    """Return the number of pins: "2 tools", or "3 definitions" of several kinds."""
    kinds = {pin.kind for pin in pins}
    kind = kinds.pop() if len(kinds) == 1 else "definition"
    return kind if kind == "instructions" else counted(len(pins), kind)


def _waiting(pins: Pins, server: str, names: tuple[str, ...]) -> list[Pin]:
    all_pins = pins.every(server)
    if not all_pins and server not in pins.servers():
        raise NotFoundError(f"no server '{server}' has listed its tools; see 'nacre approve'")
    for name in names:
        if name not in all_pins:
            raise NotFoundError(f"{server} has no '{name}'; see: nacre approve {quote(server)}")
    return [
        pin
        for name, pin in sorted(all_pins.items())
        if pin.state != "trusted" and (not names or name in names)
    ]


def _show(pin: Pin) -> None:
    """Print the difference; JSON escapes control characters."""
    click.echo(f"{json.dumps(pin.label)[1:-1]}: {pin.state}")
    if not pin.waiting_definition:
        click.echo("  (its definition is too long to show)")
        return
    before, after = pin.before().splitlines(), pin.after().splitlines()
    for line in difflib.unified_diff(before, after, "trusted", "now", lineterm=""):
        click.echo(f"  {line}")


def _facts(pin: Pin) -> dict[str, object]:
    return {
        "kind": pin.kind,
        "tool": pin.name,
        "state": pin.state,
        "trusted": json.loads(pin.before() or "null"),
        "now": json.loads(pin.after() or "null"),
    }

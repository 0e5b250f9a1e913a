"""The command `nacre proxy` after options of `nacre`, which the fast path does not take."""

import click

from nacre.cli.being_options import Place
from nacre.cli.command_kinds import RawCommand
from nacre.cli.proxy.proxy_command import HELP, run
from nacre.core.errors import InvalidInputError


@click.command(cls=RawCommand, help_text=HELP)
@click.pass_context
def proxy(context: click.Context) -> int:
    """Stand between a client and an MCP server, and decide every call."""
    place = context.find_root().obj
    assert isinstance(place, Place)
    if place.stack:
        raise InvalidInputError("proxy runs on this machine; a stack decides about its own calls")
    if place.being or place.owner:
        raise InvalidInputError("proxy works for any server; leave out --being and --owner")
    outer = ["--data-dir", place.data_dir] if place.data_dir else []
    return run([*outer, *context.args])

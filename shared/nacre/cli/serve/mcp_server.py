"""The command `nacre mcp-server` after options of `nacre`, which the fast path does not take."""

import click

from nacre.cli.being_options import Place
from nacre.cli.command_kinds import RawCommand
from nacre.cli.serve.stdio_command import HELP, run
from nacre.core.errors import InvalidInputError


@click.command("mcp-server", cls=RawCommand, help_text=HELP)
@click.pass_context
def mcp_server(context: click.Context) -> int:
    """Run an MCP server over standard input and output."""
    place = context.find_root().obj
    assert isinstance(place, Place)
    if place.stack:
        raise InvalidInputError("mcp-server serves this machine; a stack has its own URL")
    outer = {"--being": place.being, "--data-dir": place.data_dir, "--owner": place.owner}
    options = [part for name, value in outer.items() if value for part in (name, value)]
    return run([*options, *context.args])

"""The command `nacre proxy` where it is reached through the other commands."""

import click

from nacre.cli.being_options import Place
from nacre.cli.proxy.proxy_command import HELP, run
from nacre.core.errors import InvalidInputError


class _ProxyCommand(click.Command):
    """A command whose help and options are those of the fast path."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the same text as the fast path."""
        formatter.write(HELP)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Leave every argument as it is; what stands behind two dashes is a command."""
        ctx.args = args
        return args


@click.command(cls=_ProxyCommand, add_help_option=False)
@click.pass_context
def proxy(context: click.Context) -> int:
    """Stand between a client and an MCP server, and decide every call."""
    place = context.find_root().obj
    assert isinstance(place, Place)
    if place.stack:
        raise InvalidInputError("proxy runs on this machine; a stack decides about its own calls")
    if place.being or place.owner:
        raise InvalidInputError("proxy stands before any server; it takes no --being or --owner")
    outer = ["--data-dir", place.data_dir] if place.data_dir else []
    return run([*outer, *context.args])

"""The command `nacre mcp-server` where it is reached through the other commands."""

import click

from nacre.cli.being_options import Place
from nacre.cli.serve.stdio_command import HELP, run
from nacre.core.errors import InvalidInputError


class _StdioCommand(click.Command):
    """A command whose help is that of the fast path."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the same text as the fast path."""
        formatter.write(HELP)


@click.command(
    cls=_StdioCommand,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    add_help_option=False,
)
@click.pass_context
def mcp_server(context: click.Context) -> int:
    """Run an MCP server over standard input and output."""
    place = context.find_root().obj
    assert isinstance(place, Place)
    if place.stack:
        raise InvalidInputError("mcp-server serves this machine; a stack has a URL of its own")
    outer = {"--being": place.being, "--data-dir": place.data_dir, "--owner": place.owner}
    given = [part for name, value in outer.items() if value for part in (name, value)]
    return run([*given, *context.args])

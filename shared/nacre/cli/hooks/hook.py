"""The command `nacre hook`, for the help; `main` runs the command itself without click."""

import click

from nacre.cli.hooks.hook_input import CLIENTS, EVENTS


@click.command()
@click.argument("event", type=click.Choice(EVENTS))
@click.option("--client", type=click.Choice(CLIENTS), default="claude-code", show_default=True)
def hook(event: str, client: str) -> int:
    """Answer EVENT of a client, whose JSON is on standard input.

    'nacre connect --hooks' and the plugins write this command into the configuration of clients.
    It always ends with exit code 0; problems are in the file hooks.log in the data folder.
    """
    from nacre.cli.hooks.hook_command import run

    return run([event, "--client", client])

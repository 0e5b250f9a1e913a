"""A group of commands, each imported when it is called."""

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that knows its commands by name, module and one line of help."""

    def __init__(self, *args: Any, members: Mapping[str, tuple[str, str]], **others: Any) -> None:
        super().__init__(*args, **others)
        self._members = members

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in their order."""
        return list(self._members)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; it has its name's function, with `_command` behind."""
        if cmd_name not in self._members:
            return None
        module = importlib.import_module(self._members[cmd_name][0])
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, said) for name, (_, said) in self._members.items()])

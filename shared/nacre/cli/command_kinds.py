"""Kinds of commands: groups that import lazily, and commands that parse their own arguments."""

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """A group whose members are a name, a place `module:function` and one line of help."""

    def __init__(self, *args: Any, members: Mapping[str, tuple[str, str]], **others: Any) -> None:
        super().__init__(*args, **others)
        self._members = members

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in order."""
        return list(self._members)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in self._members:
            return None
        module, _, function = self._members[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(f"nacre.cli.{module}"), function)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._members.items()])


class RawCommand(click.Command):
    """A command that gets its arguments unchanged, and has its own help text."""

    def __init__(self, *args: Any, help_text: str, **others: Any) -> None:
        super().__init__(*args, **others)
        self.add_help_option = False
        self._help_text = help_text

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help text."""
        formatter.write(self._help_text)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep every argument as it is."""
        ctx.args = args
        return args

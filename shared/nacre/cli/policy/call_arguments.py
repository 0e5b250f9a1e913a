"""Calls on a command line: arguments as NAME=VALUE, and facts about the server."""

import sys
from pathlib import Path
from typing import Any

import click

from nacre.cli.being_options import combined
from nacre.core.errors import InvalidInputError, NacreError
from nacre.firewall.enforce.message import parse
from nacre.firewall.rules.arguments.base_folders import declared
from nacre.firewall.rules.rule import ArgumentTest, Surroundings

ARGUMENTS = click.argument("arguments", nargs=-1, metavar="[NAME=VALUE]...")


place_options = combined(
    click.option(
        "--home",
        metavar="DIR",
        help="The folder that '~' stands for on the server. [default: your home folder]",
    ),
    click.option(
        "--base",
        "bases",
        metavar="DIR",
        multiple=True,
        help="A folder from which the server resolves relative paths. May be repeated.",
    ),
)
"""The options for the facts about the server of a call."""

received_option = click.option(
    "--received",
    metavar="ORIGIN",
    multiple=True,
    help="What its caller has received before, such as external:web. May be repeated.",
)


def facts_of(home: str | None, bases: tuple[str, ...]) -> Surroundings:
    """Return the facts about a server on this machine, changed by the options."""
    where = Surroundings(
        home=home or str(Path.home()), folds_case=sys.platform in ("darwin", "win32")
    )
    return declared(where, bases, "--base")


def arguments_of(words: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments of a call: NAME=TEXT, or NAME:=JSON for anything else."""
    arguments: dict[str, Any] = {}
    for text in words:
        name, value = _split(text)
        if name in arguments:
            raise InvalidInputError(f"the argument '{name}' is given twice; give it once")
        if not name.endswith(":"):
            arguments[name] = value
            continue
        try:
            arguments[name.removesuffix(":")] = parse(value.encode())
        except NacreError as error:
            reason = str(error).replace("the message", "the value")
            raise InvalidInputError(f"{text[:80]}: {reason}") from error
    return arguments


def tests_of(words: tuple[str, ...]) -> tuple[ArgumentTest, ...]:
    """Return the argument tests of a shape: NAME=GLOB, with dots between nested names."""
    pairs = [_split(text) for text in words]
    for name, glob in pairs:
        if not glob:
            raise InvalidInputError(f"'{name[:80]}=' matches no text; '**' matches any")
    return tuple(ArgumentTest(tuple(name.split(".")), (glob,)) for name, glob in pairs)


def _split(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name.strip(":."):
        raise InvalidInputError(f"'{text[:80]}' is not an argument; write NAME=VALUE")
    return name, value

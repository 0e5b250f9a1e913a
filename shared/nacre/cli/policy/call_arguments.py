"""Calls on a command line: a tool, and its arguments as NAME=VALUE."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from nacre.core.errors import InvalidInputError, NacreError
from nacre.firewall.enforce.message import parse
from nacre.firewall.rules.arguments.base_folders import declared
from nacre.firewall.rules.rule import ArgumentTest, Surroundings

Function = TypeVar("Function", bound=Callable[..., Any])

ARGUMENTS = click.argument("arguments", nargs=-1, metavar="[NAME=VALUE]...")


def place_options(command: Function) -> Function:
    """Give a command the options that say where the server of a call runs."""
    home = click.option(
        "--home", metavar="DIR", help="What '~' means to the server. [default: your home folder]"
    )
    base = click.option(
        "--base",
        "bases",
        metavar="DIR",
        multiple=True,
        help="A folder from which the server resolves relative paths. May be repeated.",
    )
    return home(base(command))


def facts_of(home: str | None, bases: tuple[str, ...]) -> Surroundings:
    """Return the facts that a proxy on this machine knows, with what the options say instead."""
    where = Surroundings(
        home=home or str(Path.home()), folds_case=sys.platform in ("darwin", "win32")
    )
    return declared(where, bases, "--base")


def arguments_of(words: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments of a call: NAME=TEXT, or NAME:=JSON for anything else."""
    found: dict[str, Any] = {}
    for word in words:
        name, value = _parted(word)
        if name in found:
            raise InvalidInputError(f"the argument '{name}' stands twice; give it once")
        if not name.endswith(":"):
            found[name] = value
            continue
        try:
            found[name.removesuffix(":")] = parse(value.encode())
        except NacreError as error:
            said = str(error).replace("the message", "the value")
            raise InvalidInputError(f"{word[:80]}: {said}") from error
    return found


def tests_of(words: tuple[str, ...]) -> tuple[ArgumentTest, ...]:
    """Return what a shape says of arguments: NAME=GLOB, with dots between nested names."""
    parted = [_parted(word) for word in words]
    for name, glob in parted:
        if not glob:
            raise InvalidInputError(f"'{name[:80]}=' is about no text; '**' is any")
    return tuple(ArgumentTest(tuple(name.split(".")), (glob,)) for name, glob in parted)


def _parted(word: str) -> tuple[str, str]:
    name, separator, value = word.partition("=")
    if not separator or not name.strip(":."):
        raise InvalidInputError(f"'{word[:80]}' is no argument; write NAME=VALUE")
    return name, value

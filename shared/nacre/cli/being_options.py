"""The options of every command that reads data: the Being, and where its data is stored."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from nacre.access.beings import Being
from nacre.access.owners import DEFAULT_OWNER
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass
from nacre.wiring.compose import Home
from nacre.wiring.settings import Settings

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--being", metavar="NAME", help="The Being, by name or id. [default: the only one]"
    ),
    click.option("--stack", metavar="NAME", help="Use this stack on AWS instead of this machine."),
    click.option(
        "--data-dir", metavar="PATH", help="Data folder. [default: NACRE_HOME or the user's]"
    ),
    click.option(
        "--owner", metavar="NAME", help=f"Owner of the Beings. [default: {DEFAULT_OWNER}]"
    ),
)


def combined(*options: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Return one decorator that adds several options to a command, in order."""

    def add(command: Function) -> Function:
        for option in reversed(options):
            command = option(command)
        return command

    return add


@dataclass(frozen=True, slots=True)
class Place:
    """The values of the four options."""

    being: str | None = None
    stack: str | None = None
    data_dir: str | None = None
    owner: str | None = None

    def within(self, outer: "Place") -> "Place":
        """Return this place, with missing values taken from an outer one."""
        place = Place(
            self.being or outer.being,
            self.stack or outer.stack,
            self.data_dir or outer.data_dir,
            self.owner or outer.owner,
        )
        if place.stack and place.data_dir:
            raise InvalidInputError("--stack and --data-dir name two places; give only one")
        return place

    @property
    def owner_name(self) -> str:
        """The owner of the Beings that the command uses."""
        return self.owner or DEFAULT_OWNER

    def options(self) -> list[str]:
        """Return the options for this place on another command line, without the Being."""
        values = {"--stack": self.stack, "--data-dir": self.data_dir, "--owner": self.owner}
        return [part for option, value in values.items() if value for part in (option, value)]

    def folder(self) -> str:
        """Return the data folder on this machine, whether or not it exists."""
        return self.data_dir or Settings.from_environment().data_folder

    def open(self) -> Home:
        """Open the data of this place, and close it when the command ends.

        Raise NotFoundError if the owner does not exist.
        """
        home = self._open()
        click.get_current_context().call_on_close(home.close)
        home.owners.get(self.owner_name)
        return home

    def open_being(self) -> tuple[Home, Being]:
        """Open the data of this place, and return it with the selected Being."""
        home = self.open()
        return home, self.choose(home)

    def choose(self, home: Home) -> Being:
        """Return the Being that the options select."""
        return home.beings.choose(self.being, owner=self.owner_name)

    def _open(self) -> Home:
        if self.stack:
            from nacre.wiring import aws

            return aws.open_stack(self.stack, Settings.from_environment())
        from nacre.wiring import laptop

        return laptop.open_home(self.folder())


def being_options(command: Function) -> Function:
    """Add the four options to a command, which receives them as `place`."""

    @functools.wraps(command)
    def run(
        *args: Any,
        being: str | None,
        stack: str | None,
        data_dir: str | None,
        owner: str | None,
        **others: Any,
    ) -> Any:
        outer = click.get_current_context().find_root().obj
        place = Place(being, stack, data_dir, owner)
        place = place.within(outer if isinstance(outer, Place) else Place())
        return command(*args, place=place, **others)

    return combined(*_OPTIONS)(run)  # type: ignore[return-value]  # the options become `place`


def given_profile(_context: click.Context, _parameter: click.Parameter, name: str | None) -> str:
    """Return the profile that an option names, "" without the option; raises InvalidInputError.

    An empty name, such as that of a variable that is not set, must not mean everything.
    """
    if name == "":
        raise InvalidInputError("--profile names no profile; leave it out for everything")
    return name or ""

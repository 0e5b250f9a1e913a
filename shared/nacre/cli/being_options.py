"""Which Being, where: the options that every data command has, on both wirings."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from nacre.access.beings import Being
from nacre.access.owners import DEFAULT_OWNER
from nacre.core.errors import InvalidInputError
from nacre.wiring.home import Home
from nacre.wiring.settings import Settings

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--being", metavar="NAME", help="The Being, by name or id. [default: the only one]"
    ),
    click.option(
        "--stack", metavar="NAME", help="Work on this stack on AWS instead of this machine."
    ),
    click.option(
        "--data-dir", metavar="PATH", help="Data folder. [default: NACRE_HOME or the user's]"
    ),
    click.option("--owner", metavar="NAME", help=f"Whose Beings. [default: {DEFAULT_OWNER}]"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """What the four options say."""

    being: str | None = None
    stack: str | None = None
    data_dir: str | None = None
    owner: str | None = None

    def within(self, outer: "Place") -> "Place":
        """Return this place, with what it leaves open taken from an outer one."""
        place = Place(
            self.being or outer.being,
            self.stack or outer.stack,
            self.data_dir or outer.data_dir,
            self.owner or outer.owner,
        )
        if place.stack and place.data_dir:
            raise InvalidInputError("--stack and --data-dir name two places; give one of them")
        return place

    @property
    def owner_name(self) -> str:
        """Return whose Beings are meant."""
        return self.owner or DEFAULT_OWNER

    def options(self) -> list[str]:
        """Return how to name this place, without the Being, on another command line."""
        named = {"--stack": self.stack, "--data-dir": self.data_dir, "--owner": self.owner}
        return [part for option, value in named.items() if value for part in (option, value)]

    def folder(self) -> str:
        """Return the data folder on this machine, whether or not it exists."""
        return self.data_dir or Settings.from_environment().data_folder

    def open(self) -> Home:
        """Return the place itself until the command ends, if the owner exists."""
        home = self._open()
        click.get_current_context().call_on_close(home.close)
        home.owners.get(self.owner_name)
        return home

    def choose(self, home: Home) -> Being:
        """Return the Being that is meant."""
        return home.beings.choose(self.being, owner=self.owner_name)

    def _open(self) -> Home:
        if self.stack:
            from nacre.wiring import aws

            return aws.open_stack(self.stack, Settings.from_environment())
        from nacre.wiring import laptop

        return laptop.open_home(self.folder())


def placed(command: Function) -> Function:
    """Give a command the four options; it receives them as `place`."""

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

    for option in reversed(_OPTIONS):
        run = option(run)
    return run  # type: ignore[return-value]  # the options turn into `place`

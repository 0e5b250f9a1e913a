"""The definition of a service, and the port to the part of the system that runs it."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from shlex import join
from typing import Literal, Protocol

from nacre.cli.atomic_files import atomic_file
from nacre.core.errors import UnavailableError
from nacre.core.lazy_dataclasses import dataclass

MARK = "Written by 'nacre service install'"
_PATIENCE_SECONDS = 60

State = Literal["running", "starting", "stopped", "unknown"]


@dataclass(frozen=True, slots=True)
class Definition:
    """A command line and the environment variables it gets; neither has a secret."""

    command: tuple[str, ...]
    environment: Mapping[str, str]

    def value_of(self, option: str) -> str:
        """Return the value of an option of the command line, or an empty text."""
        words = self.command
        return next((words[at + 1] for at in range(len(words) - 1) if words[at] == option), "")


class Manager(Protocol):
    """The part of the system that starts services of a user."""

    @property
    def file(self) -> str:
        """The path of the service's file."""

    @property
    def log_command(self) -> str:
        """The command that shows the log of the service."""

    @property
    def restart_command(self) -> str:
        """The command that starts the service again."""

    def text(self, definition: Definition) -> str:
        """Return the service's file."""

    def installed(self) -> Definition | None:
        """Return the definition in the file, None without one; raise ConflictError if not ours."""

    def install(self, definition: Definition) -> str:
        """Write the file and start the service; return a warning, or an empty text.

        Raise UnavailableError if the system does not start it.
        """

    def state(self) -> State:
        """Return whether the system runs the service."""

    def process(self) -> int | None:
        """Return the id of the server's process, None if none runs or the system does not say."""

    def uninstall(self) -> None:
        """Stop the service and remove its file."""


def run_program(
    *command: str, environment: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a program of the system; raise UnavailableError if it is missing or does not end."""
    try:
        return subprocess.run(  # noqa: S603  the programs are those of the two managers
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(
            f"'{join(command)}' did not end within {_PATIENCE_SECONDS} seconds"
        ) from error
    except OSError as error:
        raise UnavailableError(
            f"{command[0]} cannot be run ({type(error).__name__}); is it installed?"
        ) from error


def demand(*command: str, environment: Mapping[str, str] | None = None) -> None:
    """Run a program of the system; raise UnavailableError with its words if it fails."""
    done = run_program(*command, environment=environment)
    if done.returncode != 0:
        raise UnavailableError(f"'{join(command)}' failed: {_first_line(done.stderr)}")


def write(file: Path, text: str) -> None:
    """Write the file of a service completely or not at all, readable by its owner only."""
    make_folder(file.parent)
    with atomic_file(str(file), replace=True) as content:
        content.write(text.encode())


def make_folder(folder: Path) -> None:
    """Create a folder; raise UnavailableError if that is impossible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnavailableError(f"{folder}: cannot be created ({error.strerror})") from error


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "it gave no reason")[:200]

"""The commands and lines that a start shows, so that clients reach their Being."""

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

_CACHE_FOLDERS = ("archive-v0", "environments-v2", "pipx/.cache")


def stdio_command(*, being: str, owner: str, folder: Path) -> list[str]:
    """Return the command line that serves a Being over stdio, independent of a client's PATH."""
    place = ["--data-dir", str(folder), "--owner", owner, "--being", being]
    return [*program(), "mcp-server", *place]


def token_command(being: str, options: Sequence[str] = ()) -> str:
    """Return the command that creates a token."""
    return command_to_type("token", "create", "--being", being, *options, "--scope", "full")


def welcome(*, being: str, url: str, token: str, link: str, options: Sequence[str] = ()) -> str:
    """Return the text of the first start, which is shown only once."""
    return (
        f"Your Being '{being}' is ready.\n\nURL:   {url}\nToken: {token}\n\n"
        f"Sign in once: {link}\n\n"
        f"Next, connect your clients: {command_to_type('connect', *options, '--all')}\n"
        "A client that it does not know takes the URL and the token, which is shown only once.\n"
        f"For another one, run: {token_command(being, options)}"
    )


def link_command(options: Sequence[str]) -> str:
    """Return the command that creates a sign-in link."""
    return command_to_type("owner", "bootstrap", *options)


def command_to_type(*arguments: str) -> str:
    """Return a command of Nacre to type, which works without `nacre` on the PATH too."""
    # `uvx` puts its cache on the PATH of what it runs, but not on that of the terminal.
    on_path = shutil.which("nacre")
    is_for_terminals = on_path is not None and not is_in_cache([on_path])
    return shlex.join([*(["nacre"] if is_for_terminals else program()), *arguments])


def program() -> list[str]:
    """Return the command line that starts this program from any folder."""
    script = Path(sys.argv[0]).absolute()
    if script.name == "nacre" and script.is_file():
        return [str(script)]
    # Without -P, Python would import from the client's folder, which servers may change.
    return [sys.executable, "-P", "-m", "nacre.cli"]


def is_in_cache(command: Sequence[str]) -> bool:
    """Tell whether a command is in a cache, as with `uvx`, which may be emptied at any time."""
    start = command[0].replace("\\", "/")
    return any(f"/{part}/" in start for part in _CACHE_FOLDERS)


def warn_of_cache(then: str) -> None:
    """Tell that this program is in a cache, if it is, and what to do `then`."""
    command = program()
    if is_in_cache(command):
        click.echo(
            f"{command[0]} is in a cache that may be emptied; install Nacre with 'uv tool install'"
            f" or pipx, then {then} again",
            err=True,
        )

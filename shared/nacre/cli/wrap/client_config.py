"""The commands and lines that a start shows, so that clients reach their Being."""

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

SERVER_NAME = "nacre"


def stdio_command(*, being: str, owner: str, folder: Path) -> list[str]:
    """Return the command line that serves a Being over stdio, independent of a client's PATH."""
    place = ["--data-dir", str(folder), "--owner", owner, "--being", being]
    return [*program(), "mcp-server", *place]


def token_command(being: str, options: Sequence[str] = ()) -> str:
    """Return the command that creates a token."""
    return _command("token", "create", "--being", being, *options, "--scope", "full")


def welcome(*, being: str, url: str, token: str, options: Sequence[str] = ()) -> str:
    """Return the text of the first start, which is shown only once."""
    claude_code = shlex.join(
        [
            *("claude", "mcp", "add", "--transport", "http", SERVER_NAME, url),
            *("--header", f"Authorization: Bearer {token}"),
        ]
    )
    return (
        f"Your Being '{being}' is ready.\n\nURL:   {url}\nToken: {token}\n\n"
        f"The token is shown only once. For another one, run: {token_command(being, options)}\n\n"
        f"To connect Claude Code, run:\n\n  {claude_code}\n\n"
        f"To connect other clients, run: {_command('connect')}"
    )


def link_command(options: Sequence[str]) -> str:
    """Return the command that creates a sign-in link."""
    return _command("owner", "bootstrap", *options)


def _command(*arguments: str) -> str:
    """Return a command to type, which works without `nacre` on the PATH too."""
    return shlex.join([*(["nacre"] if shutil.which("nacre") else program()), *arguments])


def program() -> list[str]:
    """Return the command line that starts this program from any folder."""
    script = Path(sys.argv[0]).absolute()
    if script.name == "nacre" and script.is_file():
        return [str(script)]
    return [sys.executable, "-m", "nacre.cli"]

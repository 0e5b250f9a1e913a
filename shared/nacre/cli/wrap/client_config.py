"""What to paste into an agent's configuration so that it finds its Being."""

import json
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SERVER_NAME = "nacre"


def recipes(*, url: str, token: str, stdio: Sequence[str]) -> Mapping[str, str]:
    """Return, for each client, where its configuration goes and what it says.

    `stdio` is the command line of the stdio server, for clients that do not take a URL
    with a token.
    """
    bearer = f"Bearer {token}"
    remote = {"url": url, "headers": {"Authorization": bearer}}
    return {
        "Claude Code (run this)": shlex.join(
            [
                *("claude", "mcp", "add", "--transport", "http", SERVER_NAME, url),
                *("--header", f"Authorization: {bearer}"),
            ]
        ),
        "Claude Desktop (claude_desktop_config.json)": _json(
            {"mcpServers": {SERVER_NAME: {"command": stdio[0], "args": list(stdio[1:])}}}
        ),
        "Cursor (~/.cursor/mcp.json)": _json({"mcpServers": {SERVER_NAME: remote}}),
        "VS Code (.vscode/mcp.json)": _json({"servers": {SERVER_NAME: {"type": "http", **remote}}}),
    }


def stdio_command(*, being: str, owner: str, folder: Path) -> list[str]:
    """Return the command line that serves a Being over stdio, whatever PATH a client has."""
    place = ["--data-dir", str(folder), "--owner", owner, "--being", being]
    return [*program(), "mcp-server", *place]


def token_command(being: str, options: Sequence[str] = ()) -> str:
    """Return what to type for a token, also where `nacre` is not on the PATH."""
    typed = ["nacre"] if shutil.which("nacre") else program()
    return shlex.join([*typed, "token", "create", "--being", being, *options, "--scope", "full"])


def welcome(
    *, being: str, url: str, token: str, stdio: Sequence[str], options: Sequence[str] = ()
) -> str:
    """Return what the first start shows, this once."""
    parts = [
        f"Your Being '{being}' is ready.\n\nURL:   {url}\nToken: {token}\n\n"
        f"The token is shown this once. Another one: {token_command(being, options)}"
    ]
    texts = recipes(url=url, token=token, stdio=stdio)
    parts += [f"{client}:\n\n{_indented(text)}" for client, text in texts.items()]
    return "\n\n".join(parts)


def link_command(options: Sequence[str]) -> str:
    """Return what to type for a new sign-in link."""
    typed = ["nacre"] if shutil.which("nacre") else program()
    return shlex.join([*typed, "owner", "bootstrap", *options])


def program() -> list[str]:
    """Return how to start this program from anywhere."""
    script = Path(sys.argv[0]).absolute()
    if script.name == "nacre" and script.is_file():
        return [str(script)]
    return [sys.executable, "-m", "nacre.cli"]


def _json(value: object) -> str:
    return json.dumps(value, indent=2)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())

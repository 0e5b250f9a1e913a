"""Configuration lines for clients, so that they reach their Being."""

import json
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SERVER_NAME = "nacre"


def recipes(*, url: str, token: str, stdio: Sequence[str]) -> Mapping[str, str]:
    """Return the configuration for each client, under the name of its file.

    `stdio` is the command line of the stdio server, for clients that do not accept a URL
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
    """Return the command line that serves a Being over stdio, independent of a client's PATH."""
    place = ["--data-dir", str(folder), "--owner", owner, "--being", being]
    return [*program(), "mcp-server", *place]


def token_command(being: str, options: Sequence[str] = ()) -> str:
    """Return the command that creates a token."""
    return _command("token", "create", "--being", being, *options, "--scope", "full")


def welcome(
    *, being: str, url: str, token: str, stdio: Sequence[str], options: Sequence[str] = ()
) -> str:
    """Return the text of the first start, which is shown only once."""
    parts = [
        f"Your Being '{being}' is ready.\n\nURL:   {url}\nToken: {token}\n\n"
        f"The token is shown only once. For another one, run: {token_command(being, options)}"
    ]
    texts = recipes(url=url, token=token, stdio=stdio)
    parts += [f"{client}:\n\n{_indented(text)}" for client, text in texts.items()]
    return "\n\n".join(parts)


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


def _json(value: object) -> str:
    return json.dumps(value, indent=2)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())

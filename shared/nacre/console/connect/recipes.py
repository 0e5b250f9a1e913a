"""How each client is given a Being's URL: what to type, to paste or to click."""

import json
import shlex
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

NAME = "nacre"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: words, and what goes with them, to be copied or opened."""

    text: str
    copied: str = ""
    opened: str = ""  # an address that starts the client


@dataclass(frozen=True, slots=True)
class Recipe:
    """One client, and what to do there in order."""

    key: str
    client: str
    steps: tuple[Step, ...]
    needs_internet: bool = False  # the client's maker calls the server, not this machine


def recipes(url: str, stdio: Sequence[str] = ()) -> tuple[Recipe, ...]:
    """Return what each client does with a URL; all of them then ask the owner in a browser.

    `stdio` is the command line that a client on the same machine can start instead; Claude
    Desktop, which calls URLs from the internet only, then gets that one.
    """
    cursor = b64encode(json.dumps({"url": url}).encode()).decode()
    code = json.dumps({"name": NAME, "type": "http", "url": url}, separators=(",", ":"))
    return (
        Recipe(
            "claude-code",
            "Claude Code",
            (
                Step("In a terminal:", _typed("claude mcp add --transport http", NAME, url)),
                Step("Log in; the browser opens:", "claude mcp login nacre"),
            ),
        ),
        Recipe(
            "claude-desktop",
            "Claude Desktop",
            _started(stdio) if stdio else _CONNECTOR + _pasted(url),
            needs_internet=not stdio,
        ),
        Recipe(
            "claude-ai",
            "claude.ai",
            (
                Step(
                    "Open Settings, then Connectors, and choose “Add custom connector”.",
                    opened="https://claude.ai/settings/connectors",
                ),
                Step("As the name, write Nacre. As the URL, paste:", url),
                Step("Choose “Connect” and allow it on the page that opens."),
            ),
            needs_internet=True,
        ),
        Recipe(
            "chatgpt",
            "ChatGPT",
            (
                Step("Open Settings, then Connectors, then Advanced, and turn on Developer mode."),
                Step(
                    "Back in Connectors choose “Create”. As the name, write Nacre. As the URL, "
                    "paste:",
                    url,
                ),
                Step("Leave OAuth as the authentication, choose “Create”, and allow it."),
            ),
            needs_internet=True,
        ),
        Recipe(
            "cursor",
            "Cursor",
            (
                Step(
                    "Open this link, and confirm in Cursor.",
                    opened="cursor://anysphere.cursor-deeplink/mcp/install?"
                    + urlencode({"name": NAME, "config": cursor}),
                ),
                Step(
                    "Or write this into ~/.cursor/mcp.json:",
                    _shown({"mcpServers": {NAME: {"url": url}}}),
                ),
                Step("In Settings, under MCP, choose “Connect” beside nacre, and allow it."),
            ),
        ),
        Recipe(
            "vs-code",
            "VS Code",
            (
                Step(
                    "Open this link, and confirm in VS Code.",
                    opened=f"vscode:mcp/install?{quote(code, safe='')}",
                ),
                Step(
                    "Or write this into .vscode/mcp.json:",
                    _shown({"servers": {NAME: {"type": "http", "url": url}}}),
                ),
                Step("Start the server there, and allow it on the page that opens."),
            ),
        ),
        Recipe(
            "codex",
            "Codex",
            (
                Step("In a terminal:", _typed("codex mcp add", NAME, "--url", url)),
                Step("Log in; the browser opens:", "codex mcp login nacre"),
            ),
        ),
        Recipe(
            "gemini-cli",
            "Gemini CLI",
            (
                Step("In a terminal:", _typed("gemini mcp add -t http", NAME, url)),
                Step("In a session, log in; the browser opens:", "/mcp auth nacre"),
            ),
        ),
        Recipe(
            "programs",
            "Clients that only start programs",
            (
                Step(
                    "In the client's configuration; it needs Node:",
                    _shown({"mcpServers": {NAME: {"command": "npx", "args": ["mcp-remote", url]}}}),
                ),
            ),
        ),
    )


_CONNECTOR = (Step("Open Settings, then Connectors, and choose “Add custom connector”."),)


def _pasted(url: str) -> tuple[Step, ...]:
    return (
        Step("As the name, write Nacre. As the URL, paste:", url),
        Step("Choose “Connect” and allow it on the page that opens."),
    )


def _started(stdio: Sequence[str]) -> tuple[Step, ...]:
    entry = {"command": stdio[0], "args": list(stdio[1:])}
    return (
        Step("Open Settings, then Developer, and choose “Edit Config”."),
        Step("Write this into claude_desktop_config.json:", _shown({"mcpServers": {NAME: entry}})),
        Step("Quit Claude Desktop, then start it again."),
    )


def _typed(command: str, *words: str) -> str:
    return f"{command} {shlex.join(words)}"


def _shown(value: object) -> str:
    return json.dumps(value, indent=2)

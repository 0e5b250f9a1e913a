"""The steps that connect each client: text to type or paste, and links to open."""

import json
import shlex
from base64 import b64encode
from collections.abc import Sequence
from urllib.parse import quote, urlencode

from nacre.core.lazy_dataclasses import dataclass

NAME = "nacre"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its text, and text to copy or an address to open."""

    text: str
    copied: str = ""
    opened: str = ""  # an address that starts the client


@dataclass(frozen=True, slots=True)
class Recipe:
    """The steps for one client, in order."""

    key: str
    client: str
    steps: tuple[Step, ...]
    needs_internet: bool = False  # the client connects from its maker's servers


def recipes(url: str, stdio: Sequence[str] = ()) -> tuple[Recipe, ...]:
    """Return the recipe of each client; every client then asks the owner in a browser.

    `stdio` is the command line that a client on this machine can start instead. Claude Desktop
    gets that one, because it only connects to URLs from the internet.
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
            _started(stdio) if stdio else (Step(_ADD_CONNECTOR), *_pasted(url)),
            needs_internet=not stdio,
        ),
        Recipe(
            "claude-ai",
            "claude.ai",
            (
                Step(_ADD_CONNECTOR, opened="https://claude.ai/settings/connectors"),
                *_pasted(url),
            ),
            needs_internet=True,
        ),
        Recipe(
            "chatgpt",
            "ChatGPT",
            (
                Step("Open Settings, then Connectors, then Advanced, and turn on Developer mode."),
                Step(
                    "Back in Connectors choose “Create”. Enter Nacre as the name. Paste as "
                    "the URL:",
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
                    "Or add this to ~/.cursor/mcp.json:",
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
                    "Or add this to .vscode/mcp.json:",
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


_ADD_CONNECTOR = "Open Settings, then Connectors, and choose “Add custom connector”."


def _pasted(url: str) -> tuple[Step, ...]:
    return (
        Step("Enter Nacre as the name. Paste as the URL:", url),
        Step("Choose “Connect” and allow it on the page that opens."),
    )


def _started(stdio: Sequence[str]) -> tuple[Step, ...]:
    entry = {"command": stdio[0], "args": list(stdio[1:])}
    return (
        Step("Open Settings, then Developer, and choose “Edit Config”."),
        Step("Add this to claude_desktop_config.json:", _shown({"mcpServers": {NAME: entry}})),
        Step("Quit Claude Desktop, then start it again."),
    )


def _typed(command: str, *words: str) -> str:
    return f"{command} {shlex.join(words)}"


def _shown(value: object) -> str:
    return json.dumps(value, indent=2)

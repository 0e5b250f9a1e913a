"""The clients that start MCP servers: the paths of their files, and the keys of an entry.

The paths depend only on the platform and the environment, so every platform can be tested on
any other.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Literal

from nacre.core.lazy_dataclasses import dataclass

Format = Literal["json", "yaml", "toml"]


@dataclass(frozen=True, slots=True)
class Shape:
    """The keys of an entry.

    If `args` is empty, the command is a list. `sse` and `http` are keys of a URL that imply
    its transport; `local` and `remote` are the values of `type` for a command and for a URL.
    With `fills_headers`, the client puts variables into headers that the proxy does not have.
    `passed` lists the variables that the client passes on to a command; if it is empty, the
    client passes all.
    """

    command: str = "command"
    args: str = "args"
    env: str = "env"
    urls: tuple[str, ...] = ("url",)
    sse: str = ""
    http: str = ""
    headers: tuple[str, ...] = ("headers",)
    local: str = "stdio"
    remote: str = ""
    fills_headers: bool = False
    passed: str = ""

    def urls_in(self, entry: Mapping[str, object]) -> list[str]:
        """Return the keys of an entry that hold its URL."""
        return [key for key in self.urls if isinstance(entry.get(key), str)]


@dataclass(frozen=True, slots=True)
class Client:
    """A program that starts MCP servers.

    In paths `~` is the home folder, `{config}` the platform's folder for configuration and
    `{xdg}` that of Unix tools. `$NAME…|…` is the first path if the variable is set, else the
    second. A prefix such as `linux:` limits a path to a platform. A `*` in a container matches
    every key. `managed` files belong to an administrator. A client with an `own_file` keeps each
    server in a file, and that one is for Nacre. It no longer reads its `former` files, which may
    have servers to wrap. `folders` show that it is installed, besides those of its files.
    """

    name: str
    title: str
    files: tuple[str, ...]
    project: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    managed: tuple[str, ...] = ()
    own_file: str = ""
    containers: tuple[tuple[str, ...], ...] = (("mcpServers",),)
    format: Format = "json"
    shape: Shape = Shape()
    restart: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """The facts that paths depend on; `project` is the folder with project files."""

    platform: str
    home: str
    environment: Mapping[str, str]
    project: str


_VS_CODE = ("Code", "Code - Insiders", "VSCodium")
_EDITORS = (*_VS_CODE, "Cursor", "Windsurf")
_REMOTE_EDITORS = ("~/.vscode-server/data/User", "~/.vscode-server-insiders/data/User")
_CLINE = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"

CLIENTS: tuple[Client, ...] = (
    Client(
        "claude-desktop",
        "Claude Desktop",
        (
            "{config}/Claude/claude_desktop_config.json",
            # The {config} of the application from the Microsoft Store.
            "win32:~/AppData/Local/Packages/Claude_*/LocalCache/Roaming/Claude/"
            "claude_desktop_config.json",
        ),
        # Many instructions name them. Their folder is that of Claude Code.
        former=(
            "linux:~/.claude/claude_desktop_config.json",
            "darwin:~/.claude/claude_desktop_config.json",
        ),
        restart="quit it, then start it again",
    ),
    Client(
        "claude-code",
        "Claude Code",
        ("$CLAUDE_CONFIG_DIR/.claude.json|~/.claude.json",),
        project=(".mcp.json",),
        folders=("~/.claude",),
        managed=(
            "linux:/etc/claude-code/managed-mcp.json",
            "darwin:/Library/Application Support/ClaudeCode/managed-mcp.json",
            "win32:{programs}/ClaudeCode/managed-mcp.json",
            "win32:{shared}/ClaudeCode/managed-mcp.json",
        ),
        containers=(("mcpServers",), ("projects", "*", "mcpServers")),
        restart="end its sessions, then start new ones",
    ),
    Client(
        "cursor",
        "Cursor",
        ("~/.cursor/mcp.json",),
        project=(".cursor/mcp.json",),
        restart="switch the server off and on in its settings, or restart it",
    ),
    Client(
        "vscode",
        "VS Code",
        (
            *(f"{{config}}/{name}/User/mcp.json" for name in _VS_CODE),
            *(f"{{config}}/{name}/User/profiles/*/mcp.json" for name in _VS_CODE),
            *(f"{folder}/mcp.json" for folder in _REMOTE_EDITORS),
        ),
        project=(".vscode/mcp.json",),
        containers=(("servers",),),
        restart="run 'MCP: List Servers' and restart the server",
    ),
    Client(
        "copilot-cli",
        "Copilot CLI",
        ("$COPILOT_HOME/mcp-config.json|~/.copilot/mcp-config.json",),
        shape=Shape(local="local"),
        restart="end its sessions, then start new ones",
    ),
    Client(
        "windsurf",
        "Windsurf",
        ("~/.codeium/windsurf/mcp_config.json",),
        shape=Shape(urls=("serverUrl", "url")),
        restart="refresh the servers in its settings, or restart it",
    ),
    Client(
        "cline",
        "Cline",
        (
            *(f"{{config}}/{name}/User/{_CLINE}" for name in _EDITORS),
            *(f"{folder}/{_CLINE}" for folder in _REMOTE_EDITORS),
            "~/.cline/data/settings/cline_mcp_settings.json",
            "$CLINE_MCP_SETTINGS_PATH|",
        ),
        restart="restart the server in its list of MCP servers",
    ),
    Client(
        "zed",
        "Zed",
        (
            "linux:{xdg}/zed/settings.json",
            "~/.config/zed/settings.json",
            "win32:{config}/Zed/settings.json",
        ),
        project=(".zed/settings.json",),
        containers=(("context_servers",),),
        restart="switch the server off and on in the agent's settings",
    ),
    Client(
        "continue",
        "Continue",
        (
            "$CONTINUE_GLOBAL_DIR/config.yaml|~/.continue/config.yaml",
            "$CONTINUE_GLOBAL_DIR/mcpServers/*.yaml|~/.continue/mcpServers/*.yaml",
        ),
        project=(".continue/mcpServers/*.yaml",),
        own_file="$CONTINUE_GLOBAL_DIR/mcpServers/nacre.yaml|~/.continue/mcpServers/nacre.yaml",
        format="yaml",
        shape=Shape(headers=("requestOptions", "headers")),
        restart="reload its configuration",
    ),
    Client(
        "codex",
        "Codex",
        (
            "$CODEX_HOME/config.toml|~/.codex/config.toml",
            "$CODEX_HOME/*.config.toml|~/.codex/*.config.toml",
        ),
        project=(".codex/config.toml",),
        managed=(
            "linux:/etc/codex/*.toml",
            "darwin:/etc/codex/*.toml",
            "win32:{shared}/OpenAI/Codex/*.toml",
        ),
        containers=(("mcp_servers",),),
        format="toml",
        shape=Shape(headers=("http_headers",), passed="env_vars"),
        restart="end its sessions, then start new ones",
    ),
    Client(
        "gemini-cli",
        "Gemini CLI",
        ("~/.gemini/settings.json",),
        project=(".gemini/settings.json",),
        managed=(
            "linux:/etc/gemini-cli/settings.json",
            "darwin:/Library/Application Support/GeminiCli/settings.json",
            "win32:{shared}/gemini-cli/settings.json",
        ),
        shape=Shape(urls=("httpUrl", "url"), http="httpUrl", sse="url"),
        restart="end its sessions, then start new ones",
    ),
    Client(
        "goose",
        "Goose",
        (
            "linux:{xdg}/goose/config.yaml",
            "darwin:~/.config/goose/config.yaml",
            "win32:{config}/Block/goose/config/config.yaml",
        ),
        containers=(("extensions",),),
        format="yaml",
        shape=Shape(command="cmd", env="envs", urls=("uri",), fills_headers=True),
        restart="end its sessions, then start new ones",
    ),
    Client(
        "openclaw",
        "OpenClaw",
        (
            "$OPENCLAW_STATE_DIR/openclaw.json|~/.openclaw/openclaw.json",
            "$OPENCLAW_CONFIG_PATH|",
        ),
        containers=(("mcp", "servers"),),
        restart="restart its gateway",
    ),
    Client(
        "opencode",
        "opencode",
        (
            "{xdg}/opencode/opencode.jsonc",
            "{xdg}/opencode/opencode.json",
            "$OPENCODE_CONFIG|",
        ),
        project=("opencode.jsonc", "opencode.json"),
        containers=(("mcp",),),
        shape=Shape(args="", env="environment", local="local", remote="remote"),
        restart="end its sessions, then start new ones",
    ),
    Client(
        "kiro",
        "Kiro",
        ("~/.kiro/settings/mcp.json",),
        project=(".kiro/settings/mcp.json",),
        restart="reconnect the server in its list of MCP servers",
    ),
    Client(
        "lm-studio",
        "LM Studio",
        ("~/.lmstudio/mcp.json",),
        restart="switch the server off and on",
    ),
    Client(
        "amp",
        "Amp",
        ("{xdg}/amp/settings.json", "{xdg}/amp/settings.jsonc"),
        project=(".amp/settings.json",),
        managed=(
            "linux:/etc/ampcode/managed-settings.json",
            "darwin:/Library/Application Support/ampcode/managed-settings.json",
            "win32:{shared}/ampcode/managed-settings.json",
        ),
        containers=(("amp.mcpServers",),),
        restart="end its sessions, then start new ones",
    ),
)
"""By the name that `--client` takes."""


def user_files(client: Client, machine: Machine) -> list[str]:
    """Return the patterns of a client's own files, with those that it no longer reads."""
    return list(dict.fromkeys(expanded((*client.files, *client.former), machine)))


def files_in_use(client: Client, machine: Machine) -> list[str]:
    """Return the patterns of a client's own files that it reads."""
    return list(dict.fromkeys(expanded(client.files, machine)))


def own_file_of(client: Client, machine: Machine) -> str:
    """Return the file that Nacre's entry goes to if no file of the client exists."""
    patterns = (client.own_file,) if client.own_file else client.files
    return next(file for file in expanded(patterns, machine) if "*" not in file)


def project_files(client: Client, machine: Machine) -> list[str]:
    """Return the patterns of a client's files in the project's folder."""
    return [_joined(machine, machine.project, file) for file in client.project]


def managed_files(client: Client, machine: Machine) -> list[str]:
    """Return the patterns of files that an administrator manages; they are never changed."""
    return list(expanded(client.managed, machine))


def expanded(patterns: tuple[str, ...], machine: Machine) -> Iterator[str]:
    """Yield the patterns of this machine's platform, with folders and variables filled in."""
    for pattern in patterns:
        platform, colon, path = pattern.partition(":")
        if not colon:
            path = pattern
        elif platform != machine.platform:
            continue
        if path.startswith("$"):
            named, _, default = path[1:].partition("|")
            variable, _, below = named.partition("/")
            folder = machine.environment.get(variable, "")
            if folder:
                yield _joined(machine, folder, below)
                continue
            path = default
        if path:
            yield _joined(machine, _based(path, machine))


def _based(path: str, machine: Machine) -> str:
    """Replace the name of a platform's folder at the start of a path."""
    home, environment = machine.home, machine.environment
    xdg = environment.get("XDG_CONFIG_HOME", "")
    # The specification: a relative path there is invalid and ignored.
    xdg = xdg if xdg.startswith("/") else f"{home}/.config"
    config = {
        "darwin": f"{home}/Library/Application Support",
        "win32": environment.get("APPDATA") or f"{home}/AppData/Roaming",
    }.get(machine.platform, xdg)
    programs = environment.get("ProgramFiles") or "C:/Program Files"
    shared = environment.get("ProgramData") or "C:/ProgramData"
    if path.startswith("~/"):
        return home + path[1:]
    for name, folder in (
        ("{config}", config),
        ("{xdg}", xdg),
        ("{programs}", programs),
        ("{shared}", shared),
    ):
        if path.startswith(name):
            return folder + path[len(name) :]
    return path


def _joined(machine: Machine, *parts: str) -> str:
    pure = PureWindowsPath if machine.platform == "win32" else PurePosixPath
    return str(pure(*parts))

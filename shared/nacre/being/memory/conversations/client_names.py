"""The names of clients for people: of those with hooks, and of those whose files are imported."""

CLIENT_NAMES = {
    "chatgpt": "ChatGPT",
    "claude": "Claude",
    "claude-code": "Claude Code",
    "codex": "Codex",
    "cursor": "Cursor",
    "gemini": "Gemini",
    "gemini-cli": "Gemini CLI",
    "openclaw": "OpenClaw",
    "opencode": "opencode",
}

HOOKS_LABEL = "capture"
"""The label of the token that the hooks of all clients on a machine share."""

_HOOK_REQUEST = "hook:"  # then the client; `cli.hooks.server_call` writes it


def client_name(client: str) -> str:
    """Return the name that people know; that of a client that is not listed stays as it is."""
    return CLIENT_NAMES.get(client, client)


def hook_client(request_id: str) -> str | None:
    """Return the name of the client whose hook made a request, or None if no hook did."""
    client = request_id.removeprefix(_HOOK_REQUEST)
    return CLIENT_NAMES.get(client) if client != request_id else None

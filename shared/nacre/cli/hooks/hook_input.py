"""The input of hooks from each client, and their output for it.

The names are those of Claude Code's hooks. Codex and Gemini CLI use the same ones where it
matters. Cursor has its own. A plugin of opencode or OpenClaw passes the messages themselves.
"""

import json
from collections.abc import Mapping

from nacre.cli.hooks.transcripts import TranscriptMessage
from nacre.core.lazy_dataclasses import dataclass

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

EVENTS = ("session-start", "user-prompt", "stop", "pre-compact", "session-end")
CLIENTS = ("claude-code", "codex", "gemini-cli", "cursor", "opencode", "openclaw")

_EVENT_NAMES = {
    "gemini-cli": {"session-start": "SessionStart", "user-prompt": "BeforeAgent"},
    "": {"session-start": "SessionStart", "user-prompt": "UserPromptSubmit"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HookInput:
    """The parts of a client's JSON that hooks use."""

    session: str
    projects: tuple[str, ...]  # the folders that the client has open, the first one counts
    transcript: str | None
    prompt: str
    messages: list[TranscriptMessage]  # of clients that pass them

    @property
    def project(self) -> str | None:
        """Return the folder that the session works in."""
        return self.projects[0] if self.projects else None


def input_of(client: str, event: str, payload: "Mapping[str, Any]", now: str) -> HookInput:
    """Return the input in a client's JSON; raises ValueError if it names no session."""
    session = _text(payload, "session_id") or _text(payload, "conversation_id")
    if not session:
        raise ValueError("the client's JSON names no session")
    folders = [_text(payload, "cwd"), *_list(payload.get("workspace_roots"))]
    projects = tuple(folder for folder in folders if isinstance(folder, str) and folder)
    messages = [
        message
        for entry in _list(payload.get("messages"))
        if (message := _message(entry)) is not None
    ]
    if client == "cursor":
        messages += _cursor_messages(event, payload, now)
    return HookInput(
        session=session,
        projects=projects,
        transcript=_text(payload, "transcript_path") or None,
        prompt=_text(payload, "prompt"),
        messages=messages,
    )


def output_of(client: str, event: str, *, context: str = "", notice: str = "") -> str:
    """Return the JSON that a client takes from a hook; "" if there is nothing to say."""
    if not context and not notice:
        return ""
    if client == "cursor":
        value: dict[str, Any] = {"additional_context": context} if context else {}
        if notice:
            value["user_message"] = notice
        return json.dumps(value)
    value = {"systemMessage": notice} if notice else {}
    if context:
        names = _EVENT_NAMES.get(client, _EVENT_NAMES[""])
        value["hookSpecificOutput"] = {
            "hookEventName": names[event],
            "additionalContext": context,
        }
    return json.dumps(value, ensure_ascii=False)


def _cursor_messages(event: str, payload: "Mapping[str, Any]", now: str) -> list[TranscriptMessage]:
    """Return the message that a hook of Cursor is about; its transcript has no times.

    It has no id: one generation may have several answers, and Cursor's files do not name it.
    """
    role, text = (
        ("user", _text(payload, "prompt"))
        if event == "user-prompt"
        else ("assistant", _text(payload, "text"))
    )
    return [TranscriptMessage(role, text, now, None)] if text else []


def _message(entry: object) -> TranscriptMessage | None:
    if not isinstance(entry, dict):
        return None
    role, text, at = (_text(entry, name) for name in ("role", "text", "at"))
    if role not in ("user", "assistant") or not text or not at:
        return None
    return TranscriptMessage(role, text, at, _text(entry, "id") or None)


def _text(value: "Mapping[str, Any]", name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""


def _list(value: object) -> "list[Any]":
    return value if isinstance(value, list) else []
